#!/usr/bin/env python3
"""`rota tour`: a table with every promise, plain lines on a pipe, a line that is redrawn on a terminal.

  tour_test.py ROTA

A promise that is not kept on this machine shows as exit status 1, with the table. That each stop can say so is not
seen here: it takes a runtime that is broken.
"""

import json
import os
import pathlib
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROTA = ""
PROGRAMS = True  # whether there is the stop `programs`
TREE = pathlib.Path(__file__).resolve().parents[2]
PATIENCE = 240

PROMISES = ["no_lost_wakeup", "work_conserving", "starvation_free", "never_reentered", "quiescent_fair", "same_order",
            "deadlock_reported", "atomic_behaviour", "bounded_queues", "bounded_programs", "every_due_run"]


def environment(folder, **more):
    known = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}
    return {**known, "TMPDIR": folder, "TERM": "xterm", **more}


def run(*words, folder, **more):
    return subprocess.run([ROTA, "tour", *words], capture_output=True, text=True, timeout=PATIENCE, check=False,
                          stdin=subprocess.DEVNULL, env=environment(folder, **more))


def on_terminal(*words, folder, **more):
    """What it prints on a terminal, and its exit status."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(ROTA, [ROTA, "tour", *words], environment(folder, **more))
    text = b""
    end = time.monotonic() + PATIENCE
    try:
        while select.select([terminal], [], [], end - time.monotonic())[0]:
            piece = os.read(terminal, 65536)
            if not piece:
                break
            text += piece
    except OSError:  # how a terminal says that the other end is closed
        pass
    finally:
        os.close(terminal)
    return text.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class Tour(unittest.TestCase):
    def setUp(self):
        # A short name: the daemon of the tour has its socket below it.
        folder = tempfile.TemporaryDirectory(prefix="rt")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_every_promise_is_in_the_table_and_kept(self):
        ended = run("--quick", "--json", folder=self.folder)
        self.assertEqual(ended.stderr, "")
        table = json.loads(ended.stdout)
        self.assertEqual([row["promise"] for row in table], PROMISES)
        for row in table:
            self.assertIs(row["kept"], True, row)
            # At work, and as a model; a program that is built without jobs runs none.
            works = PROGRAMS or row["promise"] not in ("bounded_programs", "every_due_run")
            self.assertGreaterEqual(len(row["seen"]), 1 + works, row)
            self.assertTrue((TREE / row["test"]).exists(), row)
            self.assertIn(f"`{row['promise']}`", (TREE / row["read"]).read_text(), row)
        self.assertEqual(ended.returncode, 0)
        self.assertEqual(os.listdir(self.folder), [], "the tour leaves files behind")

    def test_a_pipe_gets_plain_lines(self):
        ended = run("--quick", "--stop", "deadlock", "--stop", "explorer", folder=self.folder)
        self.assertEqual(ended.returncode, 0, ended.stdout)
        self.assertNotIn("\033", ended.stdout)
        self.assertNotIn("\r", ended.stdout)
        for words in ["1/2  Three tasks", "Plato", "cycle", "lost wake-up", "replayed", "deadlock_reported yes",
                      "2 of 2 promises were kept", "What next?"]:
            self.assertIn(words, ended.stdout)

    def test_a_terminal_gets_a_line_that_is_redrawn(self):
        text, status = on_terminal("--quick", "--stop", "fair", folder=self.folder)
        self.assertEqual(status, 0, text)
        self.assertIn("\r", text)
        self.assertRegex(text, r"\[#*\.*\]")
        self.assertIn("\033[K", text)
        self.assertIn("\033[32m", text)
        text, status = on_terminal("--quick", "--stop", "fair", folder=self.folder, NO_COLOR="1")
        self.assertEqual(status, 0, text)
        self.assertNotIn("\033[3", text)

    def test_wrong_stops_are_refused_with_what_there_is(self):
        ended = run("--stop", "moon", folder=self.folder)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("there is no 'moon'; there are: fair, ", ended.stderr)

    def test_an_interrupt_leaves_nothing_behind(self):
        tour = subprocess.Popen([ROTA, "tour", "--stop", "programs" if PROGRAMS else "fair"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                stdin=subprocess.DEVNULL, env=environment(self.folder))
        time.sleep(1)
        tour.send_signal(signal.SIGINT)
        text = tour.communicate(timeout=PATIENCE)[0]
        self.assertEqual(tour.returncode, 130, text)
        self.assertIn("interrupted", text)
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    ROTA = sys.argv.pop(1)
    PROGRAMS = ", programs," in subprocess.run([ROTA, "tour", "--help"], capture_output=True, text=True,
                                               check=True).stdout
    unittest.main()
