#!/usr/bin/env python3
"""`rota serve` on its machine: systemd, clocks that are set, process 1.

  serve_machine_test.py ROTA [RUNNER] [CLASS[.TEST]...]     the programs to test, and which tests

A broken promise shows as a condition that does not come, and each wait has its limit.
"""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

import serve_daemon
from serve_daemon import PATIENCE, Daemon, Stream, wait_for

FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"


class Machine(unittest.TestCase):
    def test_systemd_is_told(self):
        folder = tempfile.mkdtemp(prefix="rota_notify_")
        self.addCleanup(shutil.rmtree, folder)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(folder + "/notify")
            manager.settimeout(PATIENCE)
            daemon = Daemon(env={"NOTIFY_SOCKET": folder + "/notify"})
            self.addCleanup(daemon.clean)
            self.assertIn(b"READY=1", manager.recv(1000))
            daemon.process.send_signal(signal.SIGHUP)
            self.assertIn(b"RELOADING=1", manager.recv(1000))
            self.assertIn(b"READY=1", manager.recv(1000))
            self.assertEqual(daemon.end(), 0)
            self.assertIn(b"STOPPING=1", manager.recv(1000))

    @unittest.skipUnless(os.path.exists(FAKETIME), "needs libfaketime")
    def test_a_clock_that_is_set(self):
        folder = tempfile.mkdtemp(prefix="rota_clock_")
        self.addCleanup(shutil.rmtree, folder)
        clock = pathlib.Path(folder) / "clock"

        def set_clock(text):
            clock.with_name("fresh").write_text(text + "\n")
            clock.with_name("fresh").rename(clock)

        set_clock("@2026-03-01 00:58:00")
        daemon = Daemon(files={"jobs/a.toml": '[job.hourly]\nschedule = "0 * * * *"\nshell = "true"\n'},
                        env={"LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": str(clock),
                             "FAKETIME_NO_CACHE": "1"})
        self.addCleanup(daemon.clean)
        self.assertIn("the clock is faked", daemon.log())
        self.assertEqual(daemon.get("/api/v1/jobs/hourly")["next"], "2026-03-01T01:00:00Z")
        set_clock("@2026-03-01 01:00:01")
        first = wait_for(lambda: (r := daemon.runs("hourly")) and r[0]["phase"] == "over" and r,
                         "the instant has come, and its run is over")
        self.assertEqual(first[0]["scheduled"], "2026-03-01T01:00:00Z")
        # T4: back, and nothing runs again; forward by a day, and the last one runs.
        set_clock("@2026-03-01 00:50:00")
        wait_for(lambda: daemon.get("/api/v1/status")["now"] < "2026-03-01T01:00", "the clock is back")
        set_clock("@2026-03-02 00:30:00")
        rows = wait_for(lambda: (r := daemon.runs("hourly")) and
                        r[0]["scheduled"] >= "2026-03-02" and r, "the clock is forward")
        ran = [r["scheduled"] for r in rows if r["outcome"] != "skipped"]
        self.assertEqual(ran, ["2026-03-02T00:00:00Z", "2026-03-01T01:00:00Z"])

    @unittest.skipUnless(os.path.exists(FAKETIME), "needs libfaketime")
    def test_a_clock_that_runs_fast(self):
        daemon = Daemon(files={"jobs/a.toml": '[job.often]\nschedule = "* * * * *"\nshell = "true"\n'},
                        env={"LD_PRELOAD": FAKETIME, "FAKETIME": "+0 x60"})
        self.addCleanup(daemon.clean)
        rows = wait_for(lambda: (r := daemon.runs("often", outcome="success")) and len(r) >= 3 and r,
                        "three minutes in as many seconds")
        self.assertTrue(all(re.search(r":00Z$", r["scheduled"]) for r in rows))

    @unittest.skipUnless(shutil.which("systemd-analyze"), "needs systemd-analyze")
    def test_the_unit_is_in_order(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="rota_unit_"))
        self.addCleanup(shutil.rmtree, folder)
        packaging = pathlib.Path(__file__).parents[2] / "packaging"
        shutil.copytree(packaging, folder, dirs_exist_ok=True)
        unit = folder / "rota.service"
        unit.write_text(unit.read_text().replace("/usr/bin/rota", os.path.abspath(serve_daemon.ROTA)))

        def verify():
            done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True,
                                  timeout=PATIENCE, check=False)
            if "rota" not in done.stderr and done.returncode != 0:
                self.skipTest(done.stderr)  # this machine's own units, or no place to look at any
            return done.returncode, done.stderr

        self.assertEqual(verify(), (0, ""), "with the drop-in")
        shutil.rmtree(folder / "rota.service.d")
        self.assertEqual(verify(), (0, ""), "without it")

    def test_new_time_zone_data_counts_at_once(self):
        zones = pathlib.Path(tempfile.mkdtemp(prefix="rota_zones_"))
        self.addCleanup(shutil.rmtree, zones)

        def put(name):
            shutil.copy(f"/usr/share/zoneinfo/Etc/{name}", zones / "fresh")
            (zones / "fresh").rename(zones / "Moving")

        put("GMT-1")
        daemon = Daemon("--zone-check", "1", env={"TZDIR": str(zones)}, files={"jobs/a.toml": """
[job.yearly]
schedule = "0 4 1 1 *"
zone = "Moving"
shell = "true"
[job.sleeps]
shell = "exec sleep 1000"
"""})
        self.addCleanup(daemon.clean)
        run = daemon.run("sleeps")
        pid = wait_for(lambda: daemon.get(f"/api/v1/runs/{run}")["pid"], "it runs")
        stream = Stream(daemon)
        self.addCleanup(stream.close)
        self.assertRegex(daemon.get("/api/v1/jobs/yearly")["next"], r"-01-01T03:00:00Z$")
        put("GMT-2")
        wait_for(lambda: daemon.get("/api/v1/jobs/yearly")["next"].endswith("-01-01T02:00:00Z"), "it is noticed")
        self.assertIn("new time zone data: Moving", daemon.log())
        self.assertTrue(daemon.get("/api/v1/jobs/yearly/next")["next"][0]["local"].endswith("T04:00:00+02:00"))
        stream.until(lambda e: e["kind"] == "reloaded")
        # With a reload at the latest.
        daemon.end()
        daemon.words = []
        daemon.start()
        put("GMT-3")
        daemon.post("/api/v1/reload")
        self.assertRegex(daemon.get("/api/v1/jobs/yearly")["next"], r"-01-01T01:00:00Z$")
        put("GMT-4")
        daemon.process.send_signal(signal.SIGHUP)
        wait_for(lambda: daemon.get("/api/v1/jobs/yearly")["next"].endswith("-01-01T00:00:00Z"), "SIGHUP")
        self.assertEqual(daemon.get(f"/api/v1/runs/{run}")["pid"], pid)
        daemon.post(f"/api/v1/runs/{run}/cancel")
        daemon.wait_run(run)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "needs namespaces")
    def test_as_process_1(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="rota_pid1_"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        (folder / "jobs").mkdir()
        # A program whose child outlives it, and the runner, and then ends.
        (folder / "jobs" / "a.toml").write_text(
            '[job.parent]\nshell = "setsid sleep 0.5 >/dev/null 2>&1 </dev/null &"\n')
        words = [serve_daemon.ROTA, "serve", "--jobs", str(folder / "jobs"), "--state", str(folder / "state"),
                 "--listen", "none"] + (["--runner", serve_daemon.RUNNER] if serve_daemon.RUNNER else [])
        daemon = subprocess.Popen(["unshare", "--pid", "--fork", "--mount-proc", *words],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            path = str(folder / "state" / "rota.sock")
            if wait_for(lambda: os.path.exists(path) or daemon.poll(), "it listens") is not True:
                self.skipTest("no namespaces here")
            inner = int(pathlib.Path(f"/proc/{daemon.pid}/task/{daemon.pid}/children").read_text())
            done = subprocess.run([serve_daemon.ROTA, "job", "run", "parent", "--wait", "--socket", path],
                                  timeout=PATIENCE, check=False, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)

            def zombies():
                found = []
                for child in pathlib.Path(f"/proc/{inner}/task/{inner}/children").read_text().split():
                    text = pathlib.Path(f"/proc/{child}/stat").read_text()
                    if text.rsplit(")", 1)[1].split()[0] == "Z":
                        found.append(child)
                return found

            wait_for(zombies, "an orphan has ended")
            wait_for(lambda: not zombies(), "it is reaped")
            os.kill(inner, signal.SIGTERM)
            self.assertEqual(daemon.wait(PATIENCE), 0)
        finally:
            if daemon.poll() is None:
                daemon.kill()
                daemon.wait()


if __name__ == "__main__":
    serve_daemon.main()
