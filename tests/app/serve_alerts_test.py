#!/usr/bin/env python3
"""`rota serve`: mails and web hooks.

  serve_alerts_test.py ROTA [RUNNER] [CLASS[.TEST]...]     the programs to test, and which tests

A broken promise shows as a condition that does not come, and each wait has its limit.
"""

import http.server
import json
import pathlib
import re
import shutil
import tempfile
import threading
import unittest

import serve_daemon
from serve_daemon import PATIENCE, Daemon, wait_for


class Listener(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked += 1
        failing = self.server.asked <= self.server.fail_first
        if "held" in self.path:
            self.server.held += 1
            self.server.go.wait(PATIENCE)
        if not failing:  # before the answer, which lets the next one come
            self.server.got.append(json.loads(body))
        self.send_response(500 if failing else 204)
        self.end_headers()

    def log_message(self, *_):
        pass


class Alerts(unittest.TestCase):
    def setUp(self):
        self.listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Listener)
        self.listener.got, self.listener.asked, self.listener.fail_first = [], 0, 1
        self.listener.held, self.listener.go = 0, threading.Event()
        self.addCleanup(self.listener.go.set)
        threading.Thread(target=self.listener.serve_forever, daemon=True).start()
        self.addCleanup(self.listener.server_close)
        self.addCleanup(self.listener.shutdown)
        self.mails = pathlib.Path(tempfile.mkdtemp(prefix="rota_mail_"))
        self.addCleanup(shutil.rmtree, self.mails, ignore_errors=True)
        sendmail = self.mails / "sendmail"
        sendmail.write_text(f'#!/bin/sh\n[ "$1" = -t ] || exit 9\ncat > {self.mails}/$$.new\n'
                            f'mv {self.mails}/$$.new {self.mails}/$$.mail\n')
        sendmail.chmod(0o755)
        self.port = self.listener.server_address[1]
        self.daemon = Daemon("--sendmail", str(sendmail), "--alert-delay", "0.1", "--alert-delay",
                             "0.1", files={"jobs/a.toml": f"""
[job.moody]
shell = "test -e $FLAG"
environment = {{FLAG = "{self.mails}/flag"}}
alert = {{mail = "ops@example.com", web_hook = "http://127.0.0.1:{self.port}/hook/secret"}}
[job.absent]
schedule = "@every 1h"
absence = "1s"
shell = "true"
alert = {{web_hook = "http://127.0.0.1:{self.port}/hook"}}
[job.held]
shell = "test -e $FLAG"
overlap = "allow"
environment = {{FLAG = "{self.mails}/flag"}}
alert = {{web_hook = "http://127.0.0.1:{self.port}/held"}}
[job.other]
shell = "false"
alert = {{web_hook = "http://127.0.0.1:{self.port}/hook"}}
[job.nobody]
shell = "false"
alert = {{web_hook = "http://127.0.0.1:1/closed/secret"}}
"""})
        self.addCleanup(self.daemon.clean)

    def of(self, job):
        return [a for a in self.listener.got if a["job"] == job]

    def test_failure_recovery_and_absence_are_told(self):
        self.daemon.wait_run(self.daemon.run("moody"))
        wait_for(lambda: self.of("moody"), "the web hook, at the second try")
        self.assertEqual(self.of("moody")[0]["kind"], "failed")
        self.assertEqual(self.of("moody")[0]["run"]["exit_code"], 1)
        mail = wait_for(lambda: list(self.mails.glob("*.mail")), "a mail")[0].read_text()
        self.assertIn("To: ops@example.com\n", mail)
        self.assertRegex(mail, r"(?m)^Subject: .*moody has failed$")
        (self.mails / "flag").touch()
        self.daemon.wait_run(self.daemon.run("moody"))
        wait_for(lambda: len(self.of("moody")) == 2, "the recovery")
        self.assertEqual(self.of("moody")[1]["kind"], "recovered")
        wait_for(lambda: self.of("absent"), "the absence")
        self.assertEqual(self.of("absent")[0]["kind"], "absent")
        self.daemon.wait_run(self.daemon.run("nobody"))
        wait_for(lambda: re.search("web hook of nobody.*given up", self.daemon.log()), "it is said")
        self.assertNotIn("secret", self.daemon.log())
        text = self.daemon.ask("GET", "/metrics").body.decode()
        self.assertRegex(text, r"(?m)^rota_alerts_failed_total 1$")
        self.assertEqual(self.daemon.end(), 0)

    def test_web_hooks_of_a_job_come_in_order_and_hold_up_no_other(self):
        self.daemon.wait_run(self.daemon.run("held"))
        wait_for(lambda: self.listener.held, "its web hook is under way, and is going to fail")
        (self.mails / "flag").touch()
        self.daemon.wait_run(self.daemon.run("held"))
        self.daemon.wait_run(self.daemon.run("other"))
        wait_for(lambda: self.of("other"), "another job is told of meanwhile")
        self.listener.go.set()
        wait_for(lambda: len(self.of("held")) == 2, "both")
        self.assertEqual([a["kind"] for a in self.of("held")], ["failed", "recovered"])
        self.assertGreaterEqual(self.listener.held, 3, "the first was tried again")

    def test_what_waits_is_bounded_and_the_oldest_is_dropped(self):
        self.listener.fail_first = 0
        runs = [self.daemon.run("held") for _ in range(105)]
        for run in runs:
            self.daemon.wait_run(run)

        def dropped():
            text = self.daemon.ask("GET", "/metrics").body.decode()
            return int(re.search(r"(?m)^rota_alerts_dropped_total (\d+)$", text).group(1))

        wait_for(lambda: dropped() == 5, "100 are kept")
        said = re.findall(r"error: web hook of held to http://127.0.0.1\S* too many .* dropped", self.daemon.log())
        self.assertEqual(len(said), 5)
        self.listener.go.set()
        wait_for(lambda: len(self.of("held")) == 100, "those come")
        told = [a["run"]["id"] for a in self.of("held")]
        self.assertEqual(told[1:], [r for r in self.order() if r in told[1:]], "as they ended")
        self.assertEqual(told[-1], self.order()[-1])

    def order(self):
        """The runs of `held`, as the log tells their ends."""
        return [int(n) for n in re.findall(r"held: run (\d+) failed", self.daemon.log())]


if __name__ == "__main__":
    serve_daemon.main()
