#!/usr/bin/env python3
"""`rota serve`: its end, and what it finds afterwards (rules K1 to K4).

  serve_restart_test.py ROTA [RUNNER] [CLASS[.TEST]...]     the programs to test, and which tests

A broken promise shows as a condition that does not come, and each wait has its limit.
"""

import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import serve_daemon
from serve_daemon import PATIENCE, Daemon, alive, wait_for


class Restart(unittest.TestCase):
    """Rules K1 to K4: what the daemon does at its end, and after it."""

    def setUp(self):
        folder = tempfile.mkdtemp(prefix="rota_serve_")
        self.fifo = pathlib.Path(folder) / "go"
        os.mkfifo(self.fifo)
        self.daemon = Daemon(folder=folder, files={"jobs/a.toml": f"""
[job.long]
shell = "echo start; read x < {self.fifo}; echo end"
[job.often]
schedule = "@every 1s"
shell = "true"
"""})
        self.addCleanup(self.daemon.clean)

    def check_adopted(self, how, status):
        run = self.daemon.run("long")
        pid = wait_for(lambda: self.daemon.get(f"/api/v1/runs/{run}")["pid"], "it runs")
        log = self.daemon.folder / "state" / "logs"
        wait_for(lambda: any("start" in p.read_text() for p in log.iterdir()), "it spoke")
        began = time.monotonic()
        self.assertEqual(self.daemon.end(how), status)
        if how == signal.SIGTERM:
            self.assertLess(time.monotonic() - began, 20)
            self.assertFalse(os.path.exists(self.daemon.socket))
        self.assertTrue(alive(pid), "K4: the program goes on")
        self.daemon.start()
        adopted = self.daemon.get(f"/api/v1/runs/{run}")
        self.assertEqual((adopted["phase"], adopted["pid"]), ("launched", pid))
        self.assertEqual(self.daemon.get("/api/v1/jobs/long")["running"], 1)
        self.fifo.write_text("go\n")
        done = self.daemon.wait_run(run)
        self.assertEqual((done["outcome"], done["exit_code"]), ("success", 0))
        self.assertEqual(self.daemon.ask("GET", f"/api/v1/runs/{run}/log").body, b"start\nend\n")
        keys = [(r["scheduled"], r["attempt"]) for r in self.daemon.runs("often", limit=1000)]
        self.assertEqual(len(keys), len(set(keys)), "T1: a key is there once")

    def test_a_drain_leaves_programs_alone(self):
        self.check_adopted(signal.SIGTERM, 0)

    def test_kill_9_leaves_programs_alone(self):
        self.check_adopted(signal.SIGKILL, -signal.SIGKILL)

    def test_a_run_that_ends_while_nobody_looks(self):
        run = self.daemon.run("long")
        pid = wait_for(lambda: self.daemon.get(f"/api/v1/runs/{run}")["pid"], "it runs")
        self.daemon.end(signal.SIGKILL)
        self.fifo.write_text("go\n")
        wait_for(lambda: not alive(pid), "the program ends")
        self.daemon.start()
        self.assertEqual(self.daemon.wait_run(run)["outcome"], "success")

    def test_passes_bound_how_often_a_held_run_is_passed(self):
        self.daemon.end()
        self.daemon.write("jobs/a.toml", """
[job.slow]
shell = "exec sleep 1000"
overlap = "queue"
[job.quick]
shell = "true"
""")
        self.daemon.words = ["--max-active", "2", "--passes", "1"]
        self.daemon.start()
        first = self.daemon.run("slow")
        held = self.daemon.run("slow")
        passing, waits = self.daemon.run("quick"), self.daemon.run("quick")
        self.assertEqual(self.daemon.wait_run(passing)["outcome"], "success")
        self.assertEqual(self.daemon.get(f"/api/v1/runs/{waits}")["phase"], "due")
        for run in (first, held):
            self.daemon.post(f"/api/v1/runs/{run}/cancel")
        self.assertEqual(self.daemon.wait_run(waits)["outcome"], "success")

    def test_one_daemon_per_state(self):
        second = subprocess.run([serve_daemon.ROTA, "serve", "--state", str(self.daemon.folder / "state"),
                                 "--listen", "none"], capture_output=True, text=True,
                                timeout=PATIENCE, check=False)
        self.assertEqual(second.returncode, 2, second.stderr)
        self.assertIn("another daemon", second.stderr)

    def test_a_living_daemons_socket_is_not_taken(self):
        path = self.daemon.socket
        before = os.stat(path).st_ino
        second = subprocess.run([serve_daemon.ROTA, "serve", "--state", str(self.daemon.folder / "second"),
                                 "--listen", "none", "--socket", path], capture_output=True, text=True,
                                timeout=PATIENCE, check=False)
        self.assertEqual(second.returncode, 2, second.stderr)
        self.assertIn("somebody answers there", second.stderr)
        self.assertEqual(os.stat(path).st_ino, before)

    def test_only_its_own_socket_is_removed(self):
        path = self.daemon.socket
        os.rename(path, path + ".moved")
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(path)
            self.assertEqual(self.daemon.end(signal.SIGTERM), 0)
            self.assertTrue(os.path.exists(path))

    def test_a_zone_that_is_none_is_no_utc(self):
        done = subprocess.run([serve_daemon.ROTA, "serve", "--state", str(self.daemon.folder / "zone"),
                               "--listen", "none"], capture_output=True, text=True, timeout=PATIENCE,
                              check=False, env={**os.environ, "TZ": "Europe/Pariss"})
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("TZ is 'Europe/Pariss'", done.stderr)

    def test_files_of_runs_that_are_over_go(self):
        state = self.daemon.folder / "state"
        run = self.daemon.run("often")
        self.daemon.wait_run(run)
        self.daemon.end()
        claim, log = state / "runs" / f"{run}.run", state / "logs" / "999999.log"
        claim.write_bytes(b"")
        log.write_text("of nobody")
        kept = state / "logs" / f"{run}.log"
        kept.write_text("of that run")
        self.daemon.words = ["--care", "1"]
        self.daemon.start()
        wait_for(lambda: not claim.exists(), "nobody wants to hear of it")
        wait_for(lambda: not log.exists(), "its row is not there")
        self.assertTrue(kept.exists())

    def test_adding_jobs_does_not_put_off_the_care(self):
        self.daemon.end()
        self.daemon.words = ["--care", "2"]
        self.daemon.start()
        good = self.daemon.folder / "state" / "ledger.db.good"
        good.unlink(missing_ok=True)
        began = time.monotonic()
        while not good.exists():
            self.assertLess(time.monotonic() - began, 8, "less than an early copy takes")
            self.assertEqual(self.daemon.put("added", 'shell = "true"').status, 200)

    def test_added_jobs_stay(self):
        self.assertEqual(self.daemon.put("added", 'shell = "true"').status, 200)
        self.daemon.end(signal.SIGKILL)
        self.daemon.start()
        self.assertTrue(self.daemon.get("/api/v1/jobs/added")["removable"])


if __name__ == "__main__":
    serve_daemon.main()
