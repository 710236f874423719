#!/usr/bin/env python3
"""`rota serve`: tables that change while it runs (rule K4).

  serve_tables_test.py ROTA [RUNNER] [CLASS[.TEST]...]     the programs to test, and which tests

A broken promise shows as a condition that does not come, and each wait has its limit.
"""

import os
import pathlib
import re
import signal
import unittest

import serve_daemon
from serve_daemon import Daemon, wait_for


class Tables(unittest.TestCase):
    """Rule K4."""

    def setUp(self):
        self.daemon = Daemon(files={"jobs/a.toml": '[job.a]\nshell = "true"\n'})
        self.addCleanup(self.daemon.clean)

    def names(self):
        return sorted(j["name"] for j in self.daemon.get("/api/v1/jobs")["jobs"])

    def table(self, name):
        return next((t for t in self.daemon.get("/api/v1/status")["tables"]
                     if t["file"].endswith(name)), None)

    def test_files_are_watched_and_a_broken_one_changes_nothing(self):
        self.daemon.write("jobs/b.toml", '[job.b]\nshell = "exec sleep 1000"\n')
        wait_for(lambda: self.names() == ["a", "b"], "b is there")
        run = self.daemon.run("b")
        wait_for(lambda: self.daemon.get(f"/api/v1/runs/{run}")["pid"], "b runs")
        self.daemon.write("jobs/b.toml", '[job.b]\nschedule = "61 * * * *"\nshell = "true"\n')
        table = wait_for(lambda: (t := self.table("b.toml")) and not t["ok"] and t, "b is wrong")
        self.assertRegex(table["error"], r"b\.toml:2:\d+: ")
        self.assertIn("b.toml", self.daemon.log())
        self.assertEqual(self.names(), ["a", "b"])
        self.assertRegex(self.daemon.ask("GET", "/metrics").body.decode(),
                         r'rota_table_ok\{file="[^"]*b\.toml"\} 0')
        self.assertEqual(self.daemon.cli("status").returncode, 1)
        # The last good version outlives the daemon.
        self.assertEqual(self.daemon.end(), 0)
        self.daemon.start()
        self.assertEqual(self.names(), ["a", "b"])
        self.assertFalse(self.table("b.toml")["ok"])
        self.assertEqual(self.daemon.get(f"/api/v1/runs/{run}")["phase"], "launched")
        # A name that another file has is wrong too.
        self.daemon.write("jobs/b.toml", '[job.a]\nshell = "false"\n')
        wait_for(lambda: "too" in (self.table("b.toml")["error"] or ""), "the name is taken")
        self.assertEqual(self.names(), ["a", "b"])
        self.daemon.write("jobs/b.toml", '[job.c]\nshell = "true"\n')
        wait_for(lambda: self.names() == ["a", "c"], "c instead of b")
        self.assertEqual(self.daemon.get(f"/api/v1/runs/{run}")["phase"], "launched", "K4: b goes on")
        (self.daemon.jobs / "b.toml").unlink()
        wait_for(lambda: self.names() == ["a"], "c is gone with its file")
        self.daemon.post(f"/api/v1/runs/{run}/cancel")
        self.daemon.wait_run(run)

    def test_sighup_and_reload(self):
        self.daemon.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "SIGHUP" in self.daemon.log(), "it is said")
        self.assertEqual(self.daemon.post("/api/v1/reload")["tables"][0]["ok"], True)
        self.assertEqual(self.names(), ["a"])

    def test_a_directory_that_is_missing_at_the_start_loses_nothing(self):
        self.daemon.write("jobs/b.toml", '[job.b]\nschedule = "@reboot"\nshell = "true"\n')
        self.daemon.write("jobs/c.toml", '[job.c]\nshell = "true"\n')
        wait_for(lambda: self.names() == ["a", "b", "c"], "they are there")
        self.daemon.end()
        self.daemon.start()
        self.daemon.post("/api/v1/jobs/a/pause")
        runs = len(self.daemon.runs("b"))
        self.daemon.end()
        (self.daemon.jobs / "c.toml").unlink()
        self.daemon.start()
        self.assertEqual(self.names(), ["a", "b"])
        self.daemon.end()
        aside = self.daemon.folder / "aside"
        self.daemon.jobs.rename(aside)
        self.daemon.start()
        self.assertEqual(self.names(), ["a", "b"], "and not c, which was removed")
        self.assertTrue(self.daemon.get("/api/v1/jobs/a")["paused"])
        self.assertFalse(self.table("a.toml")["ok"])
        self.assertRegex(self.daemon.log(), r"error: .*/jobs is not there")
        self.assertEqual(len(self.daemon.runs("b")), runs, "M2: once a boot")
        # There again: what it has now counts.
        (aside / "b.toml").unlink()
        aside.rename(self.daemon.jobs)
        wait_for(lambda: self.names() == ["a"] and self.table("a.toml")["ok"], "it is read again")
        self.assertTrue(self.daemon.get("/api/v1/jobs/a")["paused"])

    def test_tables_are_checked_together_with_what_rests(self):
        """The definitions are the engine's alone between two changes."""
        self.assertEqual(self.daemon.put("x", 'shell = "true"\nafter = ["a"]\n').status, 200)
        for name, toml, wrong in (("y", 'shell = "true"\nafter = ["none"]', "no such job"),
                                  ("a", 'shell = "true"', "a.toml"),
                                  ("x", 'shell = "true"\nafter = ["x"]', "itself")):
            answer = self.daemon.put(name, toml)
            self.assertIn(answer.status, (400, 409))
            self.assertIn(wrong, answer.json["error"])
        self.daemon.write("jobs/a.toml", '[job.z]\nshell = "true"\n')
        wait_for(lambda: not self.table("a.toml")["ok"], "x needs a")
        self.assertEqual((self.names(), self.table("a.toml")["jobs"]), (["a", "x"], 1))
        self.assertEqual(self.daemon.put("y", 'shell = "true"\nafter = ["x"]\n').status, 200)
        self.assertEqual(self.daemon.ask("DELETE", "/api/v1/jobs/x").status, 409)
        self.assertEqual(self.daemon.ask("DELETE", "/api/v1/jobs/y").status, 200)
        self.assertEqual(self.daemon.ask("DELETE", "/api/v1/jobs/x").status, 200)
        self.assertEqual(self.names(), ["a"])
        self.daemon.post("/api/v1/reload")
        self.assertEqual(self.names(), ["z"])

    def test_the_last_good_version_stays_over_a_restart_where_names_meet(self):
        self.daemon.write("jobs/b.toml", '[job.b]\nshell = "true"\n')
        wait_for(lambda: self.names() == ["a", "b"], "b is there")
        self.daemon.write("jobs/b.toml", '[job.a]\nshell = "false"\n')
        wait_for(lambda: self.table("b.toml")["error"], "the name is taken")
        self.daemon.end()
        self.daemon.start()
        self.assertEqual((self.names(), self.table("b.toml")["ok"]), (["a", "b"], False))
        # It fits without having changed.
        (self.daemon.jobs / "a.toml").unlink()
        wait_for(lambda: self.table("b.toml")["ok"], "the name is free")
        self.assertEqual(self.daemon.get("/api/v1/jobs/a")["command"]["shell"], "false")

    def test_among_equals_the_older_one_stays(self):
        self.assertEqual(self.daemon.put("x", 'shell = "echo added"\n').status, 200)
        self.daemon.write("jobs/a.toml", '[job.x]\nshell = "echo file"\n')
        wait_for(lambda: self.table("a.toml")["error"], "x is older")
        self.assertEqual(self.names(), ["a", "x"])
        self.daemon.write("jobs/0.toml", '[job.a]\nshell = "echo newer"\n')
        wait_for(lambda: self.table("0.toml"), "it is seen")
        wait_for(lambda: self.table("0.toml")["error"], "a is older")
        self.daemon.write("jobs/n.toml", '[job.x]\nshell = "echo new"\n')
        wait_for(lambda: self.table("n.toml"), "it is seen")
        wait_for(lambda: self.table("n.toml")["error"], "x is older")
        self.assertEqual(self.daemon.get("/api/v1/jobs/x")["command"]["shell"], "echo added")
        (self.daemon.jobs / "n.toml").unlink()
        wait_for(lambda: not self.table("n.toml"), "it is gone")
        self.assertEqual(self.daemon.get("/api/v1/jobs/a")["command"]["shell"], "true")
        self.assertEqual(self.daemon.ask("DELETE", "/api/v1/jobs/x").status, 200)
        self.daemon.post("/api/v1/reload")
        self.assertEqual(self.names(), ["a", "x"])
        self.assertEqual(self.daemon.get("/api/v1/jobs/x")["command"]["shell"], "echo file")
        self.assertEqual(self.daemon.get("/api/v1/jobs/a")["command"]["shell"], "echo newer")

    @unittest.skipUnless(os.geteuid() == 0, "needs two users")
    def test_a_job_that_was_added_comes_back_when_its_name_is_free(self):
        self.daemon.folder.chmod(0o755)
        nobody = 65534
        for name in ("mine", "mine2"):
            made = self.daemon.cli("add", name, "--shell", "id -un", "--set", "directory=/", user=nobody)
            self.assertEqual(made.returncode, 0, made.stderr)
        for again in ("reload", "a change"):
            self.daemon.write("jobs/a.toml", '[job.mine]\nshell = "true"\n')
            wait_for(lambda: self.daemon.get("/api/v1/jobs/mine")["owner"] == "root", "root's is used")
            self.assertTrue(self.table("a.toml")["ok"])
            self.assertRegex(self.daemon.log(), "error: job mine, which was added, is not used: .* taken")
            self.assertEqual(self.names(), ["mine", "mine2"])
            taken = self.daemon.cli("add", "mine", "--shell", "true", user=1)
            self.assertIn("taken", taken.stderr)
            self.daemon.write("jobs/a.toml", '[job.a]\nshell = "true"\n')
            if again == "reload":
                self.daemon.post("/api/v1/reload")
                self.assertEqual(self.daemon.get("/api/v1/jobs/mine")["owner"], "nobody")
            wait_for(lambda: self.names() == ["a", "mine", "mine2"], "it is back")
            self.assertEqual(self.daemon.get("/api/v1/jobs/mine")["owner"], "nobody")
        # Its owner can remove it while it is not used; root's stays.
        self.daemon.write("jobs/a.toml", '[job.mine]\nshell = "true"\n')
        wait_for(lambda: self.daemon.get("/api/v1/jobs/mine")["owner"] == "root", "root's is used")
        self.assertEqual(self.daemon.ask("DELETE", "/api/v1/jobs/mine").status, 409, "it stands in a file")
        self.assertEqual(self.daemon.cli("remove", "mine", user=nobody).returncode, 0)
        self.assertEqual(self.daemon.cli("remove", "mine", user=nobody).returncode, 2)
        self.daemon.write("jobs/a.toml", '[job.a]\nshell = "true"\n')
        wait_for(lambda: self.names() == ["a", "mine2"], "it does not come back")

    @unittest.skipUnless(os.geteuid() == 0, "needs two users")
    def test_roots_table_does_not_give_way_to_a_users(self):
        def write_as_nobody(name, text):
            fresh = self.daemon.folder / "fresh"
            fresh.write_text(text)
            os.chown(fresh, 65534, 65534)
            fresh.rename(self.daemon.jobs / name)

        write_as_nobody("b.toml", '[job.b]\nshell = "true"\n')
        wait_for(lambda: self.names() == ["a", "b"], "both are there")
        self.assertEqual(self.daemon.get("/api/v1/jobs/b")["owner"], "nobody")
        self.daemon.write("jobs/a.toml", '[job.a]\nshell = "true"\n[job.b]\nshell = "echo root"\n')
        wait_for(lambda: self.daemon.get("/api/v1/jobs/b")["owner"] == "root", "root's b is used")
        self.assertEqual((self.table("a.toml")["ok"], self.table("b.toml")["ok"]), (True, False))
        self.assertIn("taken", self.table("b.toml")["error"])
        # A user's change does not push it out either, and what is left of the user's comes back.
        write_as_nobody("b.toml", '[job.b]\nshell = "echo user"\n[job.c]\nshell = "true"\n')
        self.daemon.post("/api/v1/reload")
        self.assertEqual(self.daemon.get("/api/v1/jobs/b")["owner"], "root")
        self.daemon.write("jobs/a.toml", '[job.a]\nshell = "true"\n')
        wait_for(lambda: self.names() == ["a", "b", "c"], "the name is free")
        self.assertTrue(self.table("b.toml")["ok"])

    def test_a_pause_outlives_the_absence_of_its_job(self):
        def paused():
            return self.daemon.get("/api/v1/jobs/a")["paused"]

        def go_and_return(meanwhile=lambda: None):
            aside = self.daemon.folder / "aside.toml"
            (self.daemon.jobs / "a.toml").rename(aside)
            wait_for(lambda: self.names() == [], "a is away")
            meanwhile()
            aside.rename(self.daemon.jobs / "a.toml")
            wait_for(lambda: self.names() == ["a"], "a is back")

        def restart():
            self.daemon.end(signal.SIGKILL)
            self.daemon.start()

        self.daemon.post("/api/v1/jobs/a/pause")
        go_and_return()
        self.assertTrue(paused())
        self.assertRegex(self.daemon.cli("list").stdout, r"(?m)^a .* paused ")
        go_and_return(restart)
        self.assertTrue(paused())
        # It goes while nobody looks, too.
        aside = self.daemon.folder / "aside.toml"
        self.daemon.end()
        (self.daemon.jobs / "a.toml").rename(aside)
        self.daemon.start()
        restart()
        aside.rename(self.daemon.jobs / "a.toml")
        wait_for(lambda: self.names() == ["a"], "a is back")
        self.assertTrue(paused())
        self.daemon.post("/api/v1/jobs/a/resume")
        go_and_return(restart)
        self.assertFalse(paused())

    @unittest.skipUnless(os.geteuid() == 0, "needs two users")
    def test_a_pause_is_its_owners(self):
        self.daemon.folder.chmod(0o755)
        add = ("add", "mine", "--shell", "true")
        for user in (65534, 1):
            self.assertEqual(self.daemon.cli(*add, user=user).returncode, 0)
            if user == 65534:
                self.daemon.post("/api/v1/jobs/mine/pause")
            self.assertEqual(self.daemon.get("/api/v1/jobs/mine")["paused"], user == 65534)
            self.assertEqual(self.daemon.cli("remove", "mine", user=user).returncode, 0)
        self.assertEqual(self.daemon.cli(*add, user=65534).returncode, 0)
        self.assertTrue(self.daemon.get("/api/v1/jobs/mine")["paused"])

    def test_the_jobs_of_the_first_table_are_counted_not_listed(self):
        self.assertIn("rota serve: 1 job,", self.daemon.log())
        self.assertNotIn("job added", self.daemon.log())
        self.daemon.write("jobs/b.toml", '[job.b]\nshell = "true"\n')
        wait_for(lambda: "b: job added" in self.daemon.log(), "later ones are told")

    def test_an_idle_entry_is_small(self):
        program = pathlib.Path(serve_daemon.ROTA).read_bytes()
        if b"__asan_init" in program or b"__tsan_init" in program:
            self.skipTest("sanitizers keep memory of their own")

        def resident():
            return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(
                f"/proc/{self.daemon.process.pid}/status").read_text()).group(1)) * 1024

        count = 20000
        lines = "".join(f"{i % 60} {i % 24} 1 1 * true {i}\n" for i in range(count))
        path = self.daemon.write("many", lines)
        self.daemon.end()
        self.daemon.start()
        empty = resident()
        self.daemon.end()
        self.daemon.words += ["--crontab", str(path)]
        self.daemon.start()
        self.assertEqual(self.daemon.get("/api/v1/status")["jobs"], count + 1)
        self.assertLess((resident() - empty) / count, 500)


class Samples(unittest.TestCase):
    """What `./run serve` starts with."""

    def test_the_first_jobs_are_taken_as_they_are(self):
        jobs = pathlib.Path(__file__).resolve().parents[2] / "examples" / "first_jobs"
        daemon = Daemon("--jobs", jobs)
        self.addCleanup(daemon.clean)
        status = daemon.cli("status")
        self.assertEqual(status.returncode, 0, status.stdout + status.stderr)
        self.assertNotIn("error", daemon.log())
        names = {j["name"] for j in daemon.get("/api/v1/jobs")["jobs"]}
        self.assertEqual(names, {"clock", "flaky", "slow", "stuck", "import", "convert", "index", "summary", "nightly"})
        ran = daemon.cli("run", "clock", "--wait")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("load average", ran.stdout)


if __name__ == "__main__":
    serve_daemon.main()
