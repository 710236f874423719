#!/usr/bin/env python3
"""The script ./run as a newcomer calls it: help, wrong words, the sample daemon and its page.

  run_test.py ROTA

The script works in a scratch tree, with this program where it would be built and with nothing to install or to build.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.error
import urllib.request

ROTA = ""
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ADDRESS = re.compile(r"^  (http://127\.0\.0\.1:\d+)(/\S*)$", re.M)  # alone in its line, to be opened


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name)
        shutil.copy(ROOT / "run", self.tree / "run")
        (self.tree / "examples").mkdir()
        shutil.copytree(ROOT / "examples/first_jobs", self.tree / "examples/first_jobs")
        (self.tree / "build/release/bin").mkdir(parents=True)
        (self.tree / "build/release/bin/rota").symlink_to(ROTA)
        self.calls = self.tree / "calls"
        self.calls.touch()
        self.stand_in("tools/setup")
        self.stand_in("stand_ins/cmake")
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("ROTA_")}
        self.environment["ROTA_CONFIG"] = "none"
        self.environment["PATH"] = f"{self.tree}/stand_ins:{self.environment['PATH']}"

    def stand_in(self, name):
        """A program that only writes down how it was called."""
        file = self.tree / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f'#!/bin/sh\necho "{file.name} $*" >>"{self.calls}"\n')
        file.chmod(0o755)

    def run_it(self, *words):
        return subprocess.run([self.tree / "run", *words], env=self.environment, capture_output=True, text=True, timeout=60)

    def test_help_says_what_there_is_and_builds_nothing(self):
        for word in ("--help", "-h"):
            done = self.run_it(word)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for what in ("./run serve", "./run docs", "./run package", "./run job"):
                self.assertIn(what, done.stdout)
        self.assertEqual(self.calls.read_text(), "")

    def test_other_words_go_to_the_program_once_it_is_built(self):
        done = self.run_it("--version")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^rota \d")
        calls = self.calls.read_text().splitlines()
        self.assertEqual(calls[0], "setup build")
        self.assertEqual(calls[1], "cmake --preset release")
        self.assertIn("--target apps", calls[2])
        self.assertEqual(self.run_it("toor").returncode, 2)

    def test_arguments_that_are_too_many_are_named(self):
        for word in ("build", "docs", "package"):
            done = self.run_it(word, "everything")
            self.assertEqual(done.returncode, 2)
            self.assertIn("'everything'", done.stderr)
        self.assertEqual(self.calls.read_text(), "")

    def test_a_build_that_fails_says_why_and_where(self):
        (self.tree / "stand_ins/cmake").write_text("#!/bin/sh\necho no such compiler\nexit 1\n")
        done = self.run_it("build")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no such compiler", done.stderr)
        self.assertIn("build/logs/", done.stderr)

    def test_serve_prints_a_page_that_opens_and_job_asks_the_daemon(self):
        daemon = subprocess.Popen([self.tree / "run", "serve"], env=self.environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, start_new_session=True)
        # If it hangs, its end is the end of its output.
        too_late = threading.Timer(60, daemon.kill)
        too_late.start()
        try:
            said = ""
            while not (address := ADDRESS.search(said)):
                line = daemon.stdout.readline()
                self.assertTrue(line, f"no address: {said}")
                said += line
            self.assertIn("token", address[2])
            with urllib.request.urlopen(address[1] + address[2], timeout=20) as page:
                self.assertEqual(page.status, 200)
                self.assertIn("<html", page.read().decode().lower())
            with self.assertRaises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(address[1] + "/api/v1/jobs", timeout=20)
            self.assertEqual(refused.exception.code, 401)
            jobs = self.run_it("job", "list")
            self.assertEqual(jobs.returncode, 0, jobs.stderr)
            for name in ("clock", "flaky", "nightly", "slow", "summary"):
                self.assertIn(name, jobs.stdout)
            daemon.send_signal(signal.SIGINT)
            self.assertEqual(daemon.wait(30), 0)
        finally:
            too_late.cancel()
            daemon.kill()
            daemon.wait()
            daemon.stdout.close()


if __name__ == "__main__":
    ROTA = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
