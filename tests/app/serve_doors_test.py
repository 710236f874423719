#!/usr/bin/env python3
"""`rota serve`: who may come in, and what users see of each other (rule S1).

  serve_doors_test.py ROTA [RUNNER] [CLASS[.TEST]...]     the programs to test, and which tests

A broken promise shows as a condition that does not come, and each wait has its limit.
"""

import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import unittest

import serve_daemon
from serve_daemon import PATIENCE, Daemon, WithDaemon, wait_for

# What another user gets at the socket: an answer, or its lines up to one with that text. The user is
# changed here, since not everybody may run this Python.
ASK = """
import os, socket, sys
os.setgroups([])
os.setuid(int(sys.argv[1]))
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[2])
s.sendall((sys.argv[3] + " HTTP/1.0\\r\\n\\r\\n").encode())
for line in s.makefile("rb"):
    sys.stdout.buffer.write(line)
    if len(sys.argv) > 4 and sys.argv[4].encode() in line:
        break
"""


class Doors(WithDaemon):
    """Rule S1."""

    def test_a_token_is_needed(self):
        for target in ("/api/v1/status", "/api/v1/jobs", "/metrics", "/api/v1/events"):
            self.refused(self.daemon.ask("GET", target, token=""), 401)
            self.refused(self.daemon.ask("GET", target, token="0" * 48), 401)
            self.refused(self.daemon.ask("GET", target, token=self.daemon.token[:-1]), 401)
            self.refused(self.daemon.ask("GET", target, token=self.daemon.token + "0"), 401)
        self.refused(self.daemon.ask("GET", "/api/v1/status", token="",
                                     headers={"Authorization": "Basic " + self.daemon.token}), 401)
        self.refused(self.daemon.ask("GET", f"/api/v1/status?token={self.daemon.token}", token=""), 401)

    def test_the_host_must_be_ours(self):
        for host in ("evil.example", f"evil.example:{self.daemon.port}", "127.0.0.1", "",
                     f"127.0.0.1.evil.example:{self.daemon.port}", f"127.0.0.1:{self.daemon.port}0"):
            self.refused(self.daemon.ask("GET", "/api/v1/status", host=host), 403)
            self.refused(self.daemon.ask("GET", "/", host=host), 403)
        for host in ("localhost", "[::1]"):
            self.assertEqual(self.daemon.ask("GET", "/api/v1/status",
                                             host=f"{host}:{self.daemon.port}").status, 200)

    def test_the_address_that_is_listened_on_is_ours(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="rota_serve_"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        words = [serve_daemon.ROTA, "serve", "--state", str(folder / "state"), "--listen", "127.0.0.2:0"]
        if serve_daemon.RUNNER:
            words += ["--runner", serve_daemon.RUNNER]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as daemon:
            try:
                page = next(m for m in (re.search(r"page: http://([\d.]+):(\d+)/", line)
                                        for line in daemon.stdout) if m)
                for host, status in (("127.0.0.2", 200), ("127.0.0.3", 403)):
                    connection = http.client.HTTPConnection("127.0.0.2", int(page[2]), timeout=PATIENCE)
                    connection.request("GET", "/", headers={"Host": f"{host}:{page[2]}"})
                    self.assertEqual(connection.getresponse().status, status, host)
                    connection.close()
            finally:
                daemon.terminate()

    def test_another_origin_is_refused(self):
        ours = f"http://127.0.0.1:{self.daemon.port}"
        for origin in ("http://evil.example", "null", f"https://127.0.0.1:{self.daemon.port}",
                       ours + ".evil.example", ours + "/", "http://127.0.0.1:1"):
            answer = self.daemon.ask("POST", "/api/v1/jobs/hello/run", {}, headers={"Origin": origin})
            self.refused(answer, 403)
            self.assertNotIn("access-control-allow-origin", answer.headers)
        self.assertEqual(self.daemon.ask("GET", "/api/v1/status", headers={"Origin": ours}).status, 200)

    def test_no_path_leads_out(self):
        for target in ("/../../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/token", "//etc/passwd",
                       "/state/token", "/index.html/..", "/./index.html"):
            self.assertEqual(self.daemon.ask("GET", target, token="").status, 404, target)
        for target in ("/api/v1/runs/..%2f..%2ftoken/log", "/api/v1/runs/1%00/log",
                       "/api/v1/runs/-1/log", "/api/v1/runs/+1/log", "/api/v1/runs/0x1/log",
                       "/api/v1/runs/99999999999999999999/log"):
            self.assertEqual(self.daemon.ask("GET", target).status, 400, target)

    def raw(self, data, port=True):
        with socket.create_connection(("127.0.0.1", self.daemon.port), timeout=PATIENCE) as s:
            try:
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            text = b""
            try:
                while piece := s.recv(65536):
                    text += piece
            except ConnectionResetError:
                pass
            return text

    def test_sizes_are_limited(self):
        host = f"Host: 127.0.0.1:{self.daemon.port}\r\n".encode()
        self.assertIn(b" 431 ", self.raw(b"GET / HTTP/1.1\r\n" + host + b"X: " + b"y" * 40000))
        big = self.raw(b"PUT /api/v1/jobs/a HTTP/1.1\r\n" + host + b"Content-Length: 5000000\r\n\r\n")
        self.assertIn(b" 413 ", big)
        self.assertIn(b" 400 ", self.raw(b"\x16\x03\x01nonsense\r\n\r\n"))
        self.assertIn(b" 400 ", self.raw(b"GET / HTTP/1.1\r\n" + host + host + b"\r\n"))

    def test_secrets_are_the_owners(self):
        state = self.daemon.folder / "state"
        self.assertEqual(stat.S_IMODE((state / "token").stat().st_mode), 0o600)
        for path in state.rglob("*"):
            mode = stat.S_IMODE(path.lstat().st_mode)
            if path.is_file():
                self.assertEqual(mode & 0o077, 0, path)
        wanted = 0o711 if os.geteuid() == 0 else 0o700
        self.assertEqual(stat.S_IMODE(state.stat().st_mode), wanted)
        self.assertNotIn(self.daemon.token, self.daemon.log())

    def test_a_web_hook_is_not_shown(self):
        made = self.daemon.put("hooked", 'shell = "true"\n[alert]\n'
                               'web_hook = "https://u:p@hooks.example/secret?k=1"\n')
        self.assertEqual(made.status, 200, made.body)
        for answer in (made, self.daemon.ask("GET", "/api/v1/jobs")):
            self.assertNotIn(b"secret", answer.body)
            self.assertNotIn(b"u:p", answer.body)
            self.assertIn(b"https://hooks.example", answer.body)

    def test_many_connections_at_one_door_leave_the_other_open(self):
        many = []
        try:
            for _ in range(200):
                many.append(socket.create_connection(("127.0.0.1", self.daemon.port), timeout=PATIENCE))
            self.assertEqual(self.daemon.cli("status").returncode, 0)
            full = wait_for(lambda: [s for s in many if self.is_refused(s)], "a 503")
            self.assertTrue(full)
        finally:
            for s in many:
                s.close()
        wait_for(lambda: self.daemon.ask("GET", "/api/v1/status").status == 200, "it answers again")

    @staticmethod
    def is_refused(s):
        s.setblocking(False)
        try:
            return b" 503 " in s.recv(1000)
        except (BlockingIOError, ConnectionResetError):
            return False

    def test_random_requests_do_no_harm(self):
        seed = random.randrange(2**32)
        rng = random.Random(seed)
        words = ["GET", "PUT", "POST", "DELETE", "HEAD", "/", "/api/v1/", "jobs", "runs", "hello", "1",
                 "log", "?follow=1", "cancel", "heat", "upcoming", "?limit=", "%00", "%2f", "..", "9" * 30,
                 " HTTP/1.1\r\n", "\r\n", f"Host: 127.0.0.1:{self.daemon.port}\r\n",
                 f"Authorization: Bearer {self.daemon.token}\r\n", "Content-Length: 10\r\n",
                 "Transfer-Encoding: chunked\r\n", "5\r\nabcde\r\n", "{}", '{"toml":', "\xff", "\0", "-1"]
        for _ in range(300):
            data = "".join(rng.choice(words) for _ in range(rng.randrange(1, 14)))
            if rng.random() < 0.5:
                data = f"{rng.choice(words[:5])} /api/v1/{rng.choice(words[7:11])}/{rng.choice(words)}" \
                       f" HTTP/1.1\r\n{words[23]}{words[24]}Connection: close\r\n\r\n" + data
            self.raw(data.encode("latin-1"))
            self.assertIsNone(self.daemon.process.poll(), f"seed {seed}: {data!r}")
        self.assertEqual(self.daemon.get("/api/v1/status")["max_active"], 16, f"seed {seed}")
        self.assertNotIn("error: ", self.daemon.log(), f"seed {seed}")

    @unittest.skipUnless(os.geteuid() == 0, "needs two users")
    def test_users_see_their_own_jobs_only(self):
        nobody = 65534
        self.daemon.folder.chmod(0o755)
        made = self.daemon.cli("add", "theirs", "--shell", "id -un", "--set", "directory=/", user=nobody)
        self.assertEqual(made.returncode, 0, made.stderr)
        listed = json.loads(self.daemon.cli("list", "--json", user=nobody).stdout)
        self.assertEqual([j["name"] for j in listed], ["theirs"])
        self.assertEqual(listed[0]["owner"], "nobody")
        for words in (("show", "hello"), ("run", "hello"), ("pause", "hello"), ("remove", "hello"),
                      ("run", "theirs", "--now"), ("add", "hello", "--shell", "true"),
                      ("add", "asroot", "--shell", "true", "--set", "user=root"), ("reload",)):
            done = self.daemon.cli(*words, user=nobody)
            self.assertEqual(done.returncode, 2, (words, done.stdout, done.stderr))
        done = self.daemon.cli("run", "theirs", "--wait", user=nobody)
        self.assertEqual((done.returncode, done.stdout), (0, "nobody\n"), done.stderr)
        run = self.daemon.run("hello")
        self.daemon.wait_run(run)
        self.assertEqual(self.daemon.cli("logs", run, user=nobody).returncode, 2)
        self.assertNotEqual(self.daemon.cli("page", user=nobody).returncode, 0)
        self.assertEqual(self.daemon.cli("remove", "theirs", user=nobody).returncode, 0)


@unittest.skipUnless(os.geteuid() == 0, "needs several users")
class Users(unittest.TestCase):
    """Rule S1, between users."""

    NOBODY, OTHER = 65534, 1

    def setUp(self):
        self.daemon = Daemon(files={"jobs/a.toml": '[job.a]\nshell = "true"\n'})
        self.addCleanup(self.daemon.clean)
        self.daemon.folder.chmod(0o755)

    def ask_as(self, user, what, until=None):
        words = [sys.executable, "-c", ASK, str(user), self.daemon.socket, what] + ([until] if until else [])
        text = subprocess.run(words, capture_output=True, timeout=PATIENCE, check=True).stdout.decode()
        head, _, body = text.partition("\r\n\r\n")
        return int(head.split()[1]), body

    def add_as(self, user, name, shell):
        made = self.daemon.cli("add", name, "--shell", shell, "--set", "directory=/", user=user)
        self.assertEqual(made.returncode, 0, made.stderr)

    def test_a_name_that_is_free_again_shows_nothing_of_its_former_owner(self):
        self.add_as(self.NOBODY, "shared", "echo secret; exec sleep 1000")
        run = self.daemon.run("shared")
        wait_for(lambda: b"secret" in self.daemon.ask("GET", f"/api/v1/runs/{run}/log").body, "it spoke")
        self.assertEqual(self.daemon.cli("remove", "shared", user=self.NOBODY).returncode, 0)
        self.add_as(self.OTHER, "shared", "true")
        for what in (f"GET /api/v1/runs/{run}", f"GET /api/v1/runs/{run}/log", f"POST /api/v1/runs/{run}/cancel"):
            self.assertEqual(self.ask_as(self.OTHER, what)[0], 404, what)
        for query in ("", "?job=shared", "?phase=launched"):
            status, body = self.ask_as(self.OTHER, "GET /api/v1/runs" + query)
            self.assertEqual((status, json.loads(body)["runs"]), (200, []), query)
        listed = json.loads(self.ask_as(self.OTHER, "GET /api/v1/jobs")[1])["jobs"]
        self.assertEqual([(j["name"], j["last_run"]) for j in listed], [("shared", None)])
        self.assertIsNone(json.loads(self.ask_as(self.OTHER, "GET /api/v1/jobs/shared")[1])["last_run"])
        # Who had it sees it still, and ends it.
        self.assertIn("secret", self.ask_as(self.NOBODY, f"GET /api/v1/runs/{run}/log")[1])
        self.assertEqual(self.ask_as(self.NOBODY, f"POST /api/v1/runs/{run}/cancel")[0], 200)
        self.daemon.wait_run(run)
        days = json.loads(self.ask_as(self.OTHER, "GET /api/v1/heat?job=shared&days=2")[1])["days"]
        self.assertEqual(sum(d["other"] for d in days), 0)
        done = self.daemon.cli("run", "shared", "--wait", user=self.OTHER)
        self.assertEqual(done.returncode, 0, done.stderr)
        own = json.loads(self.ask_as(self.OTHER, "GET /api/v1/runs")[1])["runs"]
        self.assertEqual([r["outcome"] for r in own], ["success"])

    def test_events_of_a_job_that_went_between_two_daemons_are_not_for_all(self):
        path = self.daemon.write("jobs/b.toml", '[job.private]\nshell = "exec sleep 1000"\ndirectory = "/"\n')
        os.chown(path, self.NOBODY, self.NOBODY)
        wait_for(lambda: self.daemon.ask("GET", "/api/v1/jobs/private").status == 200, "it is there")
        wait_for(lambda: self.daemon.get("/api/v1/jobs/private")["owner"] == "nobody", "it is nobody's")
        run = self.daemon.run("private")
        pid = wait_for(lambda: self.daemon.get(f"/api/v1/runs/{run}")["pid"], "it runs")
        self.daemon.end(signal.SIGKILL)
        path.unlink()
        self.daemon.start()
        os.kill(pid, signal.SIGKILL)
        self.daemon.wait_run(run)
        self.daemon.post("/api/v1/reload")
        self.daemon.put("last", 'shell = "true"')
        self.daemon.cli("add", "end", "--shell", "true", user=self.OTHER)
        watched = "GET /api/v1/events?last=0"
        self.assertNotIn("private", self.ask_as(self.OTHER, watched, '"job":"end"')[1])
        self.add_as(self.NOBODY, "mine", "true")
        self.assertIn('"job":"private"', self.ask_as(self.NOBODY, watched, '"job":"mine"')[1])

    def test_one_user_does_not_take_all_slots_nor_fill_queue_and_ledger(self):
        self.daemon.end()
        self.daemon.words = ["--max-active", "3", "--owner-waiting", "2", "--owner-bytes", "300"]
        self.daemon.start()
        self.add_as(self.NOBODY, "mine", "exec sleep 1000")
        self.assertEqual(self.daemon.cli("add", "mine", "--shell", "exec sleep 1000", "--set", "overlap=allow",
                                         "--set", "directory=/", user=self.NOBODY).returncode, 0)
        for _ in range(4):
            done = self.daemon.cli("run", "mine", user=self.NOBODY)
            self.assertEqual(done.returncode, 0, done.stderr)
        fifth = self.daemon.cli("run", "mine", user=self.NOBODY)
        self.assertEqual(fifth.returncode, 2)
        self.assertIn("2 runs of nobody wait already, and no more may (--owner-waiting)", fifth.stderr)
        status = self.daemon.get("/api/v1/status")
        self.assertEqual((status["active"], status["waiting"]), (2, 2))
        self.assertEqual(json.loads(self.ask_as(self.NOBODY, "GET /api/v1/status")[1])["owner_cap"], 2)
        # The third slot is for others, and root may use it too.
        self.assertEqual(self.daemon.cli("run", "a", "--wait").returncode, 0)
        self.add_as(self.OTHER, "theirs", "true")
        self.assertEqual(self.daemon.cli("run", "theirs", "--wait", user=self.OTHER).returncode, 0)
        large = self.daemon.cli("add", "large", "--shell", "echo " + "x" * 300, user=self.NOBODY)
        self.assertEqual(large.returncode, 2)
        self.assertRegex(large.stderr, r"nobody has added have \d+ bytes, and 300 are the most")
        self.assertEqual(self.daemon.put("large", f'shell = "echo {"x" * 300}"').status, 200, "root may")
        runs = [r["id"] for r in self.daemon.runs("mine")]
        for run in runs:
            self.daemon.ask("POST", f"/api/v1/runs/{run}/cancel", {})
        for run in runs:
            self.daemon.wait_run(run)

    def test_many_streams_of_others_leave_root_room(self):
        """Limits are per user, and root has none."""
        held = []
        code = ASK.replace("for line", "print(s.recv(20), flush=True)\nfor line")

        def watch(user):
            held.append(subprocess.Popen([sys.executable, "-c", code, str(user), self.daemon.socket,
                                          "GET /api/v1/events"], stdout=subprocess.PIPE))
            return held[-1].stdout.readline()

        try:
            for user in (self.NOBODY, self.OTHER):
                answers = [watch(user) for _ in range(10)]
                self.assertEqual([b" 200 " in a for a in answers], [True] * 8 + [False] * 2, answers)
            self.assertTrue(all(b" 200 " in watch(0) for _ in range(10)))
            self.assertEqual(self.ask_as(2, "GET /api/v1/jobs")[0], 200)
        finally:
            for p in held:
                p.kill()
                p.wait()
                p.stdout.close()

    def test_a_stream_that_fails_ends_its_connection_only(self):
        self.add_as(self.NOBODY, "mine", "true")
        self.daemon.end()
        self.daemon.start()
        for store in (self.daemon.folder / "state").glob("ledger.db*"):
            if store.name in ("ledger.db", "ledger.db-wal"):
                with open(store, "r+b") as file:
                    file.write(b"x" * store.stat().st_size)
        body = self.ask_as(self.NOBODY, "GET /api/v1/jobs")[1]
        self.assertFalse(body.endswith("}\n"), body)
        self.assertIsNone(self.daemon.process.poll())
        self.assertEqual(self.daemon.get("/api/v1/status")["jobs"], 2)


if __name__ == "__main__":
    serve_daemon.main()
