#!/usr/bin/env python3
"""`rota job`, against a daemon.

  serve_cli_test.py ROTA [RUNNER] [CLASS[.TEST]...]     the programs to test, and which tests

A broken promise shows as a condition that does not come, and each wait has its limit.
"""

import json
import os
import re
import subprocess

import serve_daemon
from serve_daemon import PATIENCE, WithDaemon, wait_for


class Cli(WithDaemon):
    def fine(self, *words, **more):
        done = self.daemon.cli(*words, **more)
        self.assertEqual(done.returncode, 0, (words, done.stderr, done.stdout))
        return done.stdout

    def wrong(self, *words, status=2, **more):
        done = self.daemon.cli(*words, **more)
        self.assertEqual(done.returncode, status, (words, done.stdout, done.stderr))
        return done.stderr

    def test_looking(self):
        self.assertRegex(self.fine("list"), r"(?m)^JOB +SCHEDULE +STATE +NEXT +LAST$")
        self.assertRegex(self.fine("list"), r"(?m)^yearly +0 4 1 1 \* +ok +20\d\d-01-01 03:00:00")
        self.assertLessEqual({"hello", "often", "yearly"},
                             {j["name"] for j in json.loads(self.fine("list", "--json"))})
        self.assertIn("yearly", self.fine("list", "--names").splitlines())
        self.assertRegex(self.fine("show", "yearly"), r"(?m)^zone +Europe/Paris$")
        self.assertEqual(self.fine("next", "yearly", "--count", "1", "--from", "2026-06-01T00:00:00Z"),
                         "2027-01-01T04:00:00+01:00\n")
        self.assertRegex(self.fine("status"), r"(?m)^ledger +ok$")
        page = self.fine("page").strip()
        self.assertEqual(page, f"http://127.0.0.1:{self.daemon.port}/#token={self.daemon.token}")

    def test_running(self):
        self.assertEqual(self.fine("run", "hello", "--wait"), "hello\nworld\n")
        failed = self.daemon.cli("run", "fails", "--wait")
        self.assertEqual((failed.returncode, failed.stdout), (1, "oh no\n"))
        self.assertRegex(self.fine("history", "fails"), r"(?m)^\d+ +fails .* failed 3$")
        self.assertEqual(self.fine("logs", "fails"), "oh no\n")
        self.assertEqual(self.daemon.cli("logs", "fails", "-f").returncode, 1)
        run = json.loads(self.fine("run", "sleeps", "--json"))["run"]
        wait_for(lambda: self.daemon.get(f"/api/v1/runs/{run}")["pid"], "it runs")
        self.fine("cancel", run)
        self.assertEqual(self.daemon.wait_run(run)["outcome"], "cancelled")
        self.assertIn("over", self.wrong("cancel", run))
        self.assertRegex(self.fine("pause", "hello"), r"(?m)^state +paused$")
        self.assertRegex(self.fine("resume", "hello"), r"(?m)^state +ok$")

    def test_adding(self):
        self.fine("add", "one", "--schedule", "0 0 1 1 *", "--set", "timeout=5m", "--", "/bin/echo", "a b",
                  "--x")
        shown = json.loads(self.fine("show", "one", "--json"))
        self.assertEqual(shown["command"]["argv"], ["/bin/echo", "a b", "--x"])
        self.assertEqual(shown["rules"]["timeout_s"], 300)
        self.assertEqual(self.fine("run", "one", "--wait"), "a b --x\n")
        self.fine("add", "one", "--shell", 'echo "quoted \\"" \'$HOME\'')
        self.fine("remove", "one")
        self.assertIn("no job 'one'", self.wrong("remove", "one"))
        toml = self.daemon.write("two.toml", 'shell = "echo two"\n')
        self.fine("add", "two", "--file", toml)
        self.assertEqual(self.fine("run", "two", "--wait"), "two\n")
        self.fine("remove", "two")
        self.assertIn("what is to be run", self.wrong("add", "three"))
        self.assertRegex(self.wrong("add", "three", "--schedule", "1 2 3", "--shell", "x"), r"1:\d+")

    def test_import(self):
        crontab = "MAILTO=\"\"\n5 4 * * mon echo imported\n"
        toml = self.fine("import", text=crontab)
        self.assertIn("5 4 * * mon", toml)
        added = self.fine("import", "--add", text=crontab)
        name = added.split()[1]
        self.assertEqual(json.loads(self.fine("show", name, "--json"))["command"]["shell"],
                         "echo imported")
        self.fine("remove", name)
        self.assertRegex(self.wrong("import", text="99 * * * * x\n"), r"crontab:1:1")

    def test_wrong_usage(self):
        self.assertIn("no job 'none'", self.wrong("show", "none"))
        self.assertIn("there are", self.wrong("frobnicate"))
        missing = self.daemon.cli("list", "--socket", "/nonexistent/rota.sock")
        self.assertEqual(missing.returncode, 2)
        self.assertIn("rota serve", missing.stderr)
        for words in (["--listen", "0.0.0.0:1"], ["--listen", "x"], ["--zone", "Mars/Base"],
                      ["--compat", "dcron"]):
            done = subprocess.run([serve_daemon.ROTA, "serve", "--state", str(self.daemon.folder / "other"), *words],
                                  capture_output=True, text=True, timeout=PATIENCE, check=False)
            self.assertEqual(done.returncode, 2, (words, done.stderr))

    def test_why_a_run_was_no_success(self):
        self.assertEqual(self.daemon.put("absent", 'run = ["/nonexistent/program"]\n').status, 200)
        done = self.daemon.cli("run", "absent", "--wait")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        why = r"not_started: .*/nonexistent/program"
        self.assertRegex(done.stderr, rf"(?m)^run \d+: {why}")
        logs = self.daemon.cli("logs", "absent")
        self.assertEqual((logs.returncode, logs.stdout), (0, ""))
        self.assertRegex(logs.stderr, rf"(?m)^run \d+: {why}")
        self.assertRegex(self.fine("show", "absent"), rf"(?m)^last run +\d+, {why}")
        self.assertRegex(self.fine("history", "absent"), rf"(?m)^\d+ +absent .* {why}")
        self.assertRegex(self.daemon.cli("run", "fails", "--wait").stderr,
                         r"^run \d+: failed, exit code 3\n$")
        self.assertEqual(self.daemon.cli("logs", "fails").stderr, "", "its output says it")
        self.assertEqual(self.daemon.cli("run", "hello", "--wait").stderr, "")
        self.assertEqual(self.daemon.put("killed", 'shell = "kill -9 $$"\n').status, 200)
        self.assertIn(": signalled, signal 9", self.daemon.cli("run", "killed", "--wait").stderr)

    def test_paused_while_it_runs(self):
        self.assertEqual(self.daemon.put("long", 'shell = "exec sleep 1000"\n').status, 200)
        run = self.daemon.run("long")
        wait_for(lambda: self.daemon.get(f"/api/v1/runs/{run}")["pid"], "it runs")
        self.assertRegex(self.fine("pause", "long"), r"(?m)^state +running, paused$")
        self.assertRegex(self.fine("list"), r"(?m)^long .* running, paused ")
        self.daemon.post(f"/api/v1/runs/{run}/cancel")
        self.daemon.wait_run(run)
        self.assertRegex(self.fine("show", "long"), r"(?m)^state +paused$")

    def test_wait_goes_on_to_the_last_attempt(self):
        count = self.daemon.folder / "count"
        shell = f"echo x >> {count}; echo attempt $(wc -l < {count}); test $(wc -l < {count}) -ge 3"
        self.fine("add", "again", "--shell", shell, "--set", "retry.count=5", "--set", "retry.delay=50ms")
        done = self.daemon.cli("run", "again", "--wait")
        self.assertEqual((done.returncode, done.stdout), (0, "attempt 1\nattempt 2\nattempt 3\n"))
        self.assertEqual(len(re.findall(r"(?m)^run \d+: failed, exit code 1$", done.stderr)), 2)
        count.unlink()
        last = json.loads(self.fine("run", "again", "--wait", "--json"))
        self.assertEqual((last["attempt"], last["outcome"]), (3, "success"))
        count.unlink()
        self.fine("add", "again", "--shell", shell, "--set", "retry=1", "--set", "retry.delay=50ms",
                  "--set", "retry.codes=7")
        self.assertEqual(self.daemon.cli("run", "again", "--wait").stdout, "attempt 1\n")

    def test_set_writes_each_key_as_it_is_wanted(self):
        pairs = {"nice": "5", "retry.count": "2", "retry.factor": "1.5", "retry.jitter": "0.5",
                 "umask": "077", "retry.codes": "1,75", "environment": '{A = "b c"}',
                 "after": "hello,fails", "alert.failure": "false", "timeout": "5m", "queue": "3",
                 "input": "12", "alert.mail": "a@example.org"}
        words = [w for k, v in pairs.items() for w in ("--set", f"{k}={v}")]
        self.fine("add", "keys", "--shell", "echo $A; umask; nice; cat", *words)
        shown = json.loads(self.fine("show", "keys", "--json"))
        retry = shown["rules"]["retry"]
        self.assertEqual((retry["factor"], retry["jitter"], retry["codes"]), (1.5, 0.5, [1, 75]))
        self.assertEqual([a["job"] for a in shown["rules"]["after"]], ["hello", "fails"])
        self.assertFalse(shown["alerts"]["on_failure"])
        self.assertEqual(self.fine("run", "keys", "--wait"), "b c\n0077\n5\n12")
        toml = self.fine("show", "keys", "--toml")
        self.assertIn('umask = "077"', toml)
        self.daemon.write("keys.toml", toml)
        self.fine("add", "keys", "--file", self.daemon.folder / "keys.toml")
        self.assertEqual(json.loads(self.fine("show", "keys", "--json"))["rules"], shown["rules"])
        self.fine("add", "keys", "--shell", "x", "--set", 'after=[{job = "hello", on = "any"}]',
                  "--set", "retry={count = 4}")
        below = self.daemon.cli("add", "keys", "--shell", "x", "--set", "nice=-5")
        self.assertEqual(below.returncode, 0 if os.geteuid() == 0 else 2, below.stderr)
        self.assertIn("duration", self.wrong("add", "keys", "--shell", "x", "--set", "timeout=5"))
        self.assertIn("all.toml", self.wrong("show", "yearly", "--toml"))

    def test_import_of_a_system_crontab(self):
        crontab = "17 * * * * root cd / && run-parts /etc/cron.hourly\n25 6 * * * root  true x\n"
        self.assertIn("--system", self.daemon.cli("import", text=crontab).stderr)
        toml = self.fine("import", "--system", text=crontab)
        self.assertIn('shell = "cd / && run-parts /etc/cron.hourly"', toml)
        own = "0 1 * * * root cd /\n0 2 * * * echo x\n"
        self.assertEqual(self.daemon.cli("import", text=own).stderr, "")
        self.assertIn("is a directory", self.wrong("import", self.daemon.jobs))
        self.assertIn("cannot be read", self.wrong("import", self.daemon.folder / "none"))

    def test_import_adds_what_it_can(self):
        crontab = ("# rota: name=imp1\n1 1 1 1 * true\n# rota: name=hello\n2 1 1 1 * true\n"
                   "# rota: name=imp2\n3 1 1 1 * true\n")
        done = self.daemon.cli("import", "--add", text=crontab)
        self.assertEqual((done.returncode, done.stdout), (2, "added imp1\nadded imp2\n"))
        self.assertRegex(done.stderr, r"(?m)^crontab:4: hello was not added: ")
        self.assertIn("2 of 3 jobs were added", done.stderr)
        missing = self.daemon.cli("import", "--add", "--socket", "/nonexistent/rota.sock", text=crontab)
        self.assertEqual((missing.returncode, missing.stderr.count("no daemon")), (2, 1))

    def test_output_that_gets_nowhere(self):
        environment = {**os.environ, "ROTA_JOB_SOCKET": self.daemon.socket}
        for words in (["job", "list"], ["job", "logs", "hello"], ["--help"]):
            self.daemon.wait_run(self.daemon.run("hello"))
            with open("/dev/full", "w") as full:
                done = subprocess.run([serve_daemon.ROTA, *words], stdout=full, stderr=subprocess.PIPE,
                                      text=True, timeout=PATIENCE, check=False, env=environment)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn("standard output", done.stderr)

    def test_words(self):
        for words in (["show", "none"], ["run", "none"], ["logs", "none"]):
            said = self.wrong(*words)
            self.assertIn("`rota job list` lists them", said)
            self.assertNotIn("/api/", said)
        done = self.daemon.cli("next", "hello")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("no schedule", done.stderr)
        one = self.daemon.write("jobs/one.toml", 'shell = "true"\n')
        try:
            self.assertRegex(self.fine("reload"), r"(?m)one\.toml: 1 job$")
            self.assertRegex(self.fine("status"), r"(?m)one\.toml: 1 job$")
        finally:
            one.unlink()


if __name__ == "__main__":
    serve_daemon.main()
