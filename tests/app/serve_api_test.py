#!/usr/bin/env python3
"""`rota serve`: its API, streams, the page, and clients that are slow.

  serve_api_test.py ROTA [RUNNER] [CLASS[.TEST]...]     the programs to test, and which tests

A broken promise shows as a condition that does not come, and each wait has its limit.
"""

import json
import os
import pathlib
import re
import socket
import tempfile
import time

import serve_daemon
from serve_daemon import PATIENCE, Daemon, Stream, WithDaemon, wait_for


class Slow(WithDaemon):
    def test_a_slow_client_is_sent_away_and_disturbs_nobody(self):
        slow = socket.create_connection(("127.0.0.1", self.daemon.port), timeout=PATIENCE)
        slow.sendall(b"GET /api/v1/sta")
        began = time.monotonic()
        self.assertEqual(self.daemon.get("/api/v1/status")["zone"], "UTC")
        self.assertIn(b" 408 ", slow.recv(1000))
        self.assertEqual(slow.recv(1000), b"")
        self.assertGreater(time.monotonic() - began, 5)
        slow.close()


class Live(WithDaemon):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="rota_serve_")
        cls.fifo = pathlib.Path(folder) / "go"
        os.mkfifo(cls.fifo)
        cls.daemon = Daemon(folder=folder, files={"jobs/all.toml": f"""
[job.talks]
shell = "echo one; read x < {cls.fifo}; echo two"
[job.hello]
shell = "true"
[job.chatty]
shell = "head -c 300000 /dev/zero | tr '\\\\0' x"
"""})

    def test_a_log_is_followed_until_its_end(self):
        run = self.daemon.run("talks")
        connection = socket.create_connection(("127.0.0.1", self.daemon.port), timeout=PATIENCE)
        connection.sendall((f"GET /api/v1/runs/{run}/log?follow=1 HTTP/1.0\r\n"
                            f"Host: 127.0.0.1:{self.daemon.port}\r\n"
                            f"Authorization: Bearer {self.daemon.token}\r\n\r\n").encode())
        with connection.makefile("rb") as file:
            while file.readline() != b"\r\n":
                pass
            self.assertEqual(file.readline(), b"one\n")
            self.assertEqual(self.daemon.get(f"/api/v1/runs/{run}")["phase"], "launched")
            self.fifo.write_text("go\n")
            self.assertEqual(file.read(), b"two\n")
        connection.close()
        self.assertEqual(self.daemon.wait_run(run)["outcome"], "success")

    def test_a_long_log_comes_whole(self):
        run = self.daemon.run("chatty")
        followed = self.daemon.ask("GET", f"/api/v1/runs/{run}/log?follow=1")
        self.assertEqual(followed.body, b"x" * 300000)

    def test_events(self):
        stream = Stream(self.daemon)
        run = self.daemon.run("hello")
        over = stream.until(lambda e: e["kind"] == "run_over" and e["run"]["id"] == run)
        stream.close()
        self.assertEqual(json.loads(over["data"])["run"]["outcome"], "success")
        again = Stream(self.daemon, last=int(over["id"]) - 1)
        same = again.event()
        again.close()
        self.assertEqual(same, over)
        lost = Stream(self.daemon, last=10**9)
        self.assertEqual(lost.event()["event"], "lost")
        lost.close()

    def test_a_slow_watcher_loses_events_and_is_told(self):
        stream = Stream(self.daemon, room=4096)
        # Nobody reads while more happens than is kept.
        host = f"Host: 127.0.0.1:{self.daemon.port}\r\nAuthorization: Bearer {self.daemon.token}\r\n"
        request = f"POST /api/v1/reload HTTP/1.1\r\n{host}\r\n".encode()
        with socket.create_connection(("127.0.0.1", self.daemon.port), timeout=PATIENCE) as s:
            with s.makefile("rb") as file:
                for _ in range(50):
                    s.sendall(request * 100)
                    answered = 0
                    while answered < 100:
                        answered += file.readline().startswith(b"HTTP/1.1 200")
        seen = None
        while seen != "lost":
            seen = stream.event()["event"]
        stream.close()


class Api(WithDaemon):
    def test_status_and_jobs(self):
        status = self.daemon.get("/api/v1/status")
        self.assertEqual((status["jobs"], status["max_active"], status["zone"]), (5, 16, "UTC"))
        self.assertTrue(status["ledger"]["ok"])
        self.assertEqual([t["ok"] for t in status["tables"]], [True])
        jobs = {j["name"]: j for j in self.daemon.get("/api/v1/jobs")["jobs"]}
        self.assertEqual(sorted(jobs), ["fails", "hello", "often", "sleeps", "yearly"])
        self.assertEqual(jobs["yearly"]["command"], {"shell": None, "argv": ["/bin/true", "a b"]})
        self.assertEqual(jobs["yearly"]["zone"], "Europe/Paris")
        self.assertRegex(jobs["yearly"]["source"], r"all\.toml:\d+$")
        self.assertEqual(jobs["hello"]["kind"], "never")
        self.assertEqual(self.daemon.get("/api/v1/jobs/yearly")["schedule"], "0 4 1 1 *")

    def test_a_run_and_its_log(self):
        run = self.daemon.run("hello")
        done = self.daemon.wait_run(run)
        self.assertEqual((done["outcome"], done["exit_code"], done["why"]), ("success", 0, "manual"))
        self.assertTrue(done["requested_by"])
        log = self.daemon.ask("GET", f"/api/v1/runs/{run}/log")
        self.assertEqual(log.body, b"hello\nworld\n")
        self.assertEqual(done["log_size"], 12)
        self.assertEqual(self.daemon.ask("GET", f"/api/v1/runs/{run}/log?offset=6").body, b"world\n")
        failed = self.daemon.wait_run(self.daemon.run("fails"))
        self.assertEqual((failed["outcome"], failed["exit_code"]), ("failed", 3))
        self.assertTrue(self.daemon.get("/api/v1/jobs/fails")["failing"])

    def test_a_schedule_runs_and_pause_skips(self):
        wait_for(lambda: len(self.daemon.runs("often", outcome="success")) >= 3, "three runs")
        paused = self.daemon.post("/api/v1/jobs/often/pause")
        self.assertTrue(paused["paused"])
        wait_for(lambda: any(r["reason"] == "paused" for r in self.daemon.runs("often", outcome="skipped")),
                 "M3: a row that says so")
        self.assertFalse(self.daemon.post("/api/v1/jobs/often/resume")["paused"])
        newest = self.daemon.runs("often")[0]["id"]
        wait_for(lambda: self.daemon.runs("often", outcome="success")[0]["id"] > newest, "it resumes")

    def test_cancel(self):
        run = self.daemon.run("sleeps")
        wait_for(lambda: self.daemon.get(f"/api/v1/runs/{run}")["pid"], "it runs")
        self.daemon.post(f"/api/v1/runs/{run}/cancel")
        self.assertEqual(self.daemon.wait_run(run)["outcome"], "cancelled")
        again = self.daemon.ask("POST", f"/api/v1/runs/{run}/cancel", {})
        self.assertIn("over", self.refused(again, 409))

    def test_next_upcoming_and_heat(self):
        answer = self.daemon.get("/api/v1/jobs/yearly/next?count=2&from=2026-06-01T00:00:00Z")
        self.assertEqual(answer["next"][0],
                         {"utc": "2027-01-01T03:00:00Z", "local": "2027-01-01T04:00:00+01:00"})
        self.assertEqual(len(answer["next"]), 2)
        year = self.daemon.get("/api/v1/upcoming?hours=8784&limit=3&job=yearly")
        self.assertEqual([f["job"] for f in year["firings"]], ["yearly"])
        changes = [c for c in year["clock_changes"] if c["zone"] == "Europe/Paris"]
        self.assertEqual([abs(c["after_s"] - c["before_s"]) for c in changes], [3600, 3600])
        self.assertTrue(all(c["at"].endswith("T01:00:00Z") for c in changes), changes)
        cut = self.daemon.get("/api/v1/upcoming?hours=1&limit=5")
        self.assertTrue(cut["cut"])
        self.daemon.wait_run(self.daemon.run("hello"))
        days = self.daemon.get("/api/v1/heat?job=hello&days=7")["days"]
        self.assertEqual(len(days), 7)
        self.assertGreaterEqual(days[-1]["success"], 1)

    def test_add_change_and_remove(self):
        made = self.daemon.put("extra", 'schedule = "0 0 1 1 *"\nshell = "true"\n')
        self.assertEqual(made.status, 200, made.body)
        self.assertTrue(made.json["removable"])
        self.assertIsNone(made.json["source"])
        changed = self.daemon.put("extra", 'shell = "echo changed"\n')
        self.assertEqual(changed.json["kind"], "never")
        run = self.daemon.run("extra")
        self.daemon.wait_run(run)
        self.assertEqual(self.daemon.ask("GET", f"/api/v1/runs/{run}/log").body, b"changed\n")
        self.assertEqual(self.daemon.ask("DELETE", "/api/v1/jobs/extra").status, 200)
        self.refused(self.daemon.ask("GET", "/api/v1/jobs/extra"), 404)
        self.refused(self.daemon.ask("DELETE", "/api/v1/jobs/extra"), 404)

    def test_wrong_input_is_told(self):
        self.assertIn("all.toml", self.refused(self.daemon.put("hello", 'shell = "x"'), 409))
        self.assertIn("all.toml", self.refused(self.daemon.ask("DELETE", "/api/v1/jobs/hello"), 409))
        self.assertRegex(self.refused(self.daemon.put("a", 'schedule = "99 * * * *"\nshell = "x"'),
                                      400), r"1:\d+")
        self.refused(self.daemon.put("a", "= ="), 400)
        self.refused(self.daemon.put("a%00b", 'shell = "x"'), 400)
        self.refused(self.daemon.put("%2e%2e", 'shell = "x"'), 400)
        for body in (b"", b"[]", b"{", b'{"toml": 3}', b"\xff\xfe", b"[" * 100000):
            self.refused(self.daemon.ask("PUT", "/api/v1/jobs/a", body), 400)
        self.refused(self.daemon.ask("POST", "/api/v1/jobs/hello/run", {"at_once": 1}), 400)
        self.refused(self.daemon.ask("GET", "/api/v1/runs?limit=0"), 400)
        self.refused(self.daemon.ask("GET", "/api/v1/runs?outcome=great"), 400)
        self.refused(self.daemon.ask("GET", "/api/v1/runs/12x"), 400)
        self.refused(self.daemon.ask("GET", "/api/v1/runs/999999999"), 404)
        self.refused(self.daemon.ask("GET", "/api/v1/jobs/none"), 404)
        self.refused(self.daemon.ask("GET", "/api/v2/jobs"), 404)
        self.refused(self.daemon.ask("GET", "/api/v1/heat?days=x"), 400)
        self.refused(self.daemon.ask("GET", "/api/v1/upcoming?hours=0"), 400)
        wrong = self.daemon.ask("DELETE", "/api/v1/status")
        self.refused(wrong, 405)
        self.assertEqual(wrong.headers["allow"], "GET")

    def test_metrics(self):
        self.daemon.wait_run(self.daemon.run("hello"))
        wait_for(lambda: self.daemon.runs("often", outcome="success"), "a run by schedule")

        def value(name):
            text = self.daemon.ask("GET", "/metrics").body.decode()
            found = re.search(rf"(?m)^{re.escape(name)} (\S+)$", text)
            self.assertTrue(found, (name, text))
            return float(found.group(1))

        self.assertGreaterEqual(value("rota_jobs"), 5)
        self.assertGreaterEqual(value('rota_runs_total{outcome="success"}'), 2)
        self.assertEqual(value("rota_ledger_ok"), 1)
        self.assertEqual(value(f'rota_table_ok{{file="{self.daemon.jobs}/all.toml"}}'), 1)
        count = value("rota_start_delay_seconds_count")
        self.assertGreaterEqual(count, 1)
        self.assertGreaterEqual(value('rota_start_delay_seconds_bucket{le="+Inf"}'), count)

    def test_page(self):
        page = self.daemon.ask("GET", "/", token="")
        self.assertEqual(page.status, 200)
        self.assertIn(b"<!doctype html>", page.body[:100].lower())
        self.assertIn("default-src 'self'", page.headers["content-security-policy"])
        self.assertEqual(page.headers["x-content-type-options"], "nosniff")
        self.assertEqual(page.headers["x-frame-options"], "DENY")
        self.assertEqual(page.headers["referrer-policy"], "no-referrer")
        again = self.daemon.ask("GET", "/", token="", headers={"If-None-Match": page.headers["etag"]})
        self.assertEqual((again.status, again.body), (304, b""))
        for name in re.findall(rb'(?:src|href)="([a-z_.]+)"', page.body):
            self.assertEqual(self.daemon.ask("GET", "/" + name.decode(), token="").status, 200, name)
        head = self.daemon.ask("HEAD", "/", token="")
        self.assertEqual((head.status, head.body), (200, b""))


if __name__ == "__main__":
    serve_daemon.main()
