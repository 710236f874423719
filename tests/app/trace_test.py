#!/usr/bin/env python3
"""Traces and `rota top`: what a program that ran leaves in a file for Perfetto, and what is seen of one that runs.

  trace_test.py ROTA TRACED    the program to test, and the example that it looks at
"""

import collections
import json
import os
import pathlib
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import perfetto
import serve_daemon

ROTA = ""
TRACED = ""


def rota(*words, **more):
    return subprocess.run([ROTA, *words], capture_output=True, text=True, timeout=60, **more)


class Scratch(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rota_trace_"))
        self.addCleanup(shutil.rmtree, self.folder)


class AFile(Scratch):
    """The example traces itself; the file is read by a reader of its own."""

    def setUp(self):
        super().setUp()
        file = self.folder / "run.perfetto-trace"
        subprocess.run([TRACED, file], check=True, stdout=subprocess.DEVNULL, timeout=60)
        self.trace = perfetto.read(file)
        self.slices = collections.defaultdict(list)
        for s in self.trace.slices:
            self.slices[s.category].append(s)

    def test_has_tasks_behaviours_handlers_cowns_jobs_and_sleeps(self):
        names = {kind: {s.name for s in some} for kind, some in self.slices.items()}
        self.assertLessEqual({"producer", "consumer"}, names["task"])
        self.assertIn("source", names["behaviour"])
        self.assertTrue(any("traced.cpp" in n for n in names["behaviour"]), names["behaviour"])
        self.assertIn("server of /double in calculator", names["event"])
        self.assertEqual({"muted", "overloaded"}, names["cown"])
        self.assertEqual({"tidy"}, names["job"])
        self.assertIn("asleep", names["park"])

    def test_has_each_of_them_where_it_happened(self):
        tracks = {kind: {s.track for s in some} for kind, some in self.slices.items()}
        for kind in ("task", "behaviour", "event", "park"):
            self.assertLessEqual(tracks[kind], {"worker 0", "worker 1"}, kind)
        self.assertEqual({"job tidy"}, tracks["job"])
        self.assertTrue(all(t.startswith("cown ") for t in tracks["cown"]), tracks["cown"])

    def test_has_each_behaviour_once(self):
        count = collections.Counter(s.name for s in self.slices["behaviour"])
        self.assertEqual(100, count["source"])

    def test_has_an_arrow_from_each_wake_to_its_run(self):
        arrows = list(self.trace.arrows())
        self.assertGreater(len(arrows), 1000)
        for moment, run in arrows:
            self.assertEqual("ready", moment.name)
            self.assertLessEqual(moment.at, run.begin, f"{run.name} ran before it was ready")
            self.assertIn(run.category, ("task", "behaviour"))

    def test_has_no_slices_of_a_worker_that_cross(self):
        for worker in ("worker 0", "worker 1"):
            flat = sorted((s for s in self.trace.slices if s.track == worker and s.depth == 0),
                          key=lambda s: s.begin)
            for a, b in zip(flat, flat[1:]):
                self.assertLessEqual(a.end, b.begin, f"{a.name} and {b.name}")


class ARunningProgram(Scratch):
    def setUp(self):
        super().setUp()
        self.socket = str(self.folder / "traced.sock")
        self.program = subprocess.Popen([TRACED, "-", self.socket], stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end)
        self.program.stdout.readline()  # it is open

    def end(self):
        if self.program.poll() is None:
            self.program.send_signal(signal.SIGTERM)
        try:
            self.program.wait(20)
        finally:
            self.program.kill()
            self.program.stdout.close()

    def test_is_shown_as_tables(self):
        seen = rota("top", "--socket", self.socket, "--count", "2", "--every", "0.2")
        self.assertEqual((0, ""), (seen.returncode, seen.stderr))
        for word in ("WORKER", "STEPS/S", "HANDLER", "/double", "JOB", "tidy", "muted", "bound"):
            self.assertIn(word, seen.stdout)
        self.assertNotIn("\x1b", seen.stdout)

    def test_is_shown_as_numbers_that_grow(self):
        seen = rota("top", "--socket", self.socket, "--count", "2", "--every", "0.3", "--json")
        self.assertEqual((0, ""), (seen.returncode, seen.stderr))
        first, second = map(json.loads, seen.stdout.splitlines())
        points = [sum(w["points"] for w in line["workers"]) for line in (first, second)]
        self.assertLess(points[0], points[1])
        self.assertEqual(["tidy"], [j["name"] for j in first["jobs"]])
        self.assertEqual(["/double"], [h["name"] for h in first["handlers"]])
        self.assertLessEqual({"overloaded", "muted"}, first["cowns"].keys())

    def test_takes_the_place_of_the_page_before_on_a_terminal(self):
        ours, theirs = pty.openpty()
        done = subprocess.run([ROTA, "top", "--socket", self.socket, "--count", "1"], stdout=theirs, timeout=60)
        os.close(theirs)
        text = os.read(ours, 65536).decode()
        os.close(ours)
        self.assertEqual(0, done.returncode)
        self.assertTrue(text.startswith("\x1b[H\x1b[J"), text[:20])

    def test_can_be_traced_for_a_while(self):
        file = self.folder / "b.perfetto-trace"
        made = rota("trace", "--socket", self.socket, "--for", "0.3", "-o", file, "--json")
        self.assertEqual((0, ""), (made.returncode, made.stderr))
        said = json.loads(made.stdout)
        self.assertEqual(str(file), said["file"])
        trace = perfetto.read(file)
        self.assertGreater(said["records"], 100)
        self.assertGreater(len(trace.slices), 100)
        times = [s.begin for s in trace.slices] + [s.end for s in trace.slices]
        # In nanoseconds; a machine with much else to do may be late.
        self.assertLess(max(times) - min(times), 20e9)
        self.assertGreater(max(times) - min(times), 0.1e9)
        # And again: the first has ended.
        self.assertEqual(0, rota("trace", "--socket", self.socket, "--for", "0.01", "-o", file).returncode)

    def test_says_why_it_cannot_be_traced(self):
        for words, why in (
            (("-o", str(self.folder / "no" / "such")), "No such file"),
            (("-o", str(self.folder / "a b")), "has blanks"),
            (("--for", "soon"), "--for"),
        ):
            made = rota("trace", "--socket", self.socket, *words)
            self.assertEqual(2, made.returncode, made.stdout)
            self.assertIn(why, made.stderr)

    def test_is_not_traced_twice_at_once(self):
        first = subprocess.Popen([ROTA, "trace", "--socket", self.socket, "--for", "100", "-o", self.folder / "a"],
                                 stderr=subprocess.PIPE, text=True)
        try:
            serve_daemon.wait_for((self.folder / "a").exists, "the first has begun")
            second = rota("trace", "--socket", self.socket, "--for", "0.01", "-o", self.folder / "b")
            self.assertEqual(2, second.returncode)
            self.assertIn("there is a trace already", second.stderr)
        finally:
            first.send_signal(signal.SIGINT)
            said = first.communicate(timeout=20)[1]
        self.assertIn("interrupted", said)
        # Who leaves ends it, and the file is whole.
        serve_daemon.wait_for(
            lambda: rota("trace", "--socket", self.socket, "--for", "0.01", "-o", self.folder / "b").returncode == 0,
            "the first has ended")
        perfetto.read(self.folder / "a")


class ADaemon(serve_daemon.WithDaemon):
    files = {"jobs/all.toml": """
[job.twice]
schedule = "@every 1h"
shell = "exit 3"
retry = { count = 1, delay = "10ms" }

[job.long]
schedule = "@every 1h"
shell = "sleep 100"
"""}

    def test_is_shown_and_traced(self):
        daemon = self.daemon
        daemon.run("twice")
        daemon.run("long")
        serve_daemon.wait_for(lambda: len(daemon.runs("twice", phase="over")) == 2, "both attempts are over")
        serve_daemon.wait_for(lambda: daemon.runs("long", phase="launched"), "the long one runs")
        self.addCleanup(daemon.cli, "cancel", "long")

        page = daemon.cli("top", "--count", "1")
        self.assertEqual((0, ""), (page.returncode, page.stderr))
        for word in ("1 of at most", "RUNNING", "long", "NEXT", "OVER", "twice", "failed 3"):
            self.assertIn(word, page.stdout)

        file = daemon.folder / "jobs.perfetto-trace"
        made = daemon.cli("trace", "-o", file, "--json")
        self.assertEqual((0, ""), (made.returncode, made.stderr))
        self.assertEqual(3, json.loads(made.stdout)["runs"])
        trace = perfetto.read(file)
        names = collections.Counter((s.track, s.name) for s in trace.slices)
        self.assertEqual(2, names["twice", "failed"])
        self.assertEqual(1, names["long", "launched"])
        retry = [s for s in trace.slices if s.name == "failed" and s.woken_by]
        self.assertEqual(1, len(retry), "an arrow from the first attempt to the second")


if __name__ == "__main__":
    TRACED = os.path.abspath(sys.argv.pop(2))
    ROTA = os.path.abspath(sys.argv[1])
    serve_daemon.main()
