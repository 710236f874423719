"""A daemon to test against, in a folder of its own, those who talk to it, and how such tests are run."""

import concurrent.futures
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ROTA = ""
RUNNER = ""
PATIENCE = 60


def wait_for(holds, what, seconds=PATIENCE):
    """Gives what `holds` gives, once that is true."""
    end = time.monotonic() + seconds
    while True:
        value = holds()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not in {seconds} s: {what}")
        time.sleep(0.02)


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = {k.lower(): v for k, v in response.getheaders()}
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)


class Daemon:
    """A daemon in a folder of its own, with a directory `jobs`."""

    def __init__(self, *words, files=None, env=None, folder=None):
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix="rota_serve_"))
        self.jobs = self.folder / "jobs"
        self.jobs.mkdir(exist_ok=True)
        self.jobs.chmod(0o755)
        for name, text in (files or {}).items():
            self.write(name, text)
        self.words = list(words)
        self.env = env or {}
        self.process = None
        self.start()

    def write(self, name, text):
        path = self.folder / name
        fresh = path.with_name(path.name + "~")
        fresh.write_text(text)
        fresh.chmod(0o644)
        fresh.rename(path)
        return path

    def start(self):
        environment = {**os.environ, "TZ": "UTC", **self.env}
        words = [ROTA, "serve", "--jobs", self.jobs, "--state", self.folder / "state", "--listen",
                 "127.0.0.1:0", "--zone", "UTC"]
        if RUNNER:
            words += ["--runner", RUNNER]
        self.log_file = open(self.folder / "log", "ab")
        offset = self.log_file.tell()
        self.process = subprocess.Popen([str(w) for w in words + self.words], stdout=self.log_file,
                                        stderr=self.log_file, stdin=subprocess.DEVNULL,
                                        env=environment)
        found = wait_for(lambda: self.process.poll() is not None or
                         re.search(r"page: http://127\.0\.0\.1:(\d+)/", self.log()[offset:]),
                         "the daemon listens")
        assert self.process.poll() is None, self.log()[offset:]
        self.port = int(found.group(1))
        self.socket = str(self.folder / "state" / "rota.sock")
        self.token = (self.folder / "state" / "token").read_text().strip()

    def log(self):
        return (self.folder / "log").read_text(errors="replace")

    def ask(self, method, target, body=None, token=None, headers=None, host=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.putrequest(method, target, skip_host=True)
            connection.putheader("Host", f"127.0.0.1:{self.port}" if host is None else host)
            given = self.token if token is None else token
            if given:
                connection.putheader("Authorization", f"Bearer {given}")
            for name, value in (headers or {}).items():
                connection.putheader(name, value)
            data = None if body is None else body if isinstance(body, bytes) else \
                json.dumps(body).encode()
            if data is not None:
                connection.putheader("Content-Length", str(len(data)))
            connection.endheaders(data)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def get(self, target, **more):
        answer = self.ask("GET", target, **more)
        assert answer.status == 200, (target, answer.status, answer.body)
        return answer.json

    def post(self, target, body=None):
        answer = self.ask("POST", target, {} if body is None else body)
        assert answer.status == 200, (target, answer.status, answer.body)
        return answer.json

    def put(self, name, toml):
        return self.ask("PUT", f"/api/v1/jobs/{name}", {"toml": toml})

    def runs(self, job, **filters):
        query = "".join(f"&{k}={v}" for k, v in filters.items())
        return self.get(f"/api/v1/runs?job={job}{query}")["runs"]

    def wait_run(self, run, seconds=PATIENCE):
        def over():
            found = self.get(f"/api/v1/runs/{run}")
            return found if found["phase"] == "over" else None
        return wait_for(over, f"run {run} is over", seconds)

    def run(self, job):
        return self.post(f"/api/v1/jobs/{job}/run")["run"]

    def cli(self, *words, text=None, user=None):
        environment = {**os.environ, "TZ": "UTC", "ROTA_JOB_SOCKET": self.socket}
        return subprocess.run([ROTA, "job", *map(str, words)], input=text, capture_output=True,
                              text=True, timeout=PATIENCE, check=False, env=environment, user=user)

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        status = self.process.wait(PATIENCE)
        self.log_file.close()
        return status

    def clean(self):
        if self.process.poll() is None:
            self.end(signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)


class Stream:
    """Server-sent events, as they come."""

    def __init__(self, daemon, last=None, room=None):
        self.socket = socket.socket()
        self.socket.settimeout(PATIENCE)
        if room:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        self.socket.connect(("127.0.0.1", daemon.port))
        more = f"Last-Event-ID: {last}\r\n" if last is not None else ""
        self.socket.sendall((f"GET /api/v1/events HTTP/1.0\r\nHost: 127.0.0.1:{daemon.port}\r\n"
                             f"Authorization: Bearer {daemon.token}\r\n{more}\r\n").encode())
        self.file = self.socket.makefile("rb")
        while self.file.readline() not in (b"\r\n", b""):
            pass

    def event(self):
        found = {}
        while True:
            line = self.file.readline().decode()
            if not line:
                raise AssertionError("the stream ended")
            line = line.rstrip("\n")
            if not line and "data" in found:
                return found
            if ": " in line and not line.startswith("retry"):
                name, value = line.split(": ", 1)
                found[name] = value

    def until(self, holds):
        while True:
            found = self.event()
            if found["event"] == "change" and holds(json.loads(found["data"])):
                return found

    def close(self):
        self.file.close()
        self.socket.close()


HELLO = """
[job.hello]
shell = "echo hello; echo world >&2"

[job.fails]
shell = "echo oh no; exit 3"

[job.sleeps]
shell = "exec sleep 1000"

[job.often]
schedule = "@every 1s"
shell = "echo tick"
overlap = "allow"

[job.yearly]
schedule = "0 4 1 1 *"
zone = "Europe/Paris"
run = ["/bin/true", "a b"]
"""


class WithDaemon(unittest.TestCase):
    words = ()
    files = {"jobs/all.toml": HELLO}
    env = None

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(*cls.words, files=cls.files, env=cls.env)

    @classmethod
    def tearDownClass(cls):
        cls.daemon.clean()

    def refused(self, answer, status):
        self.assertEqual(answer.status, status, answer.body)
        self.assertTrue(answer.json["error"])
        return answer.json["error"]


def independent(suite):
    """What may run at the same time: a class that shares its daemon is one piece, of others each test is."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            shared = any(isinstance(t, WithDaemon) for t in test)
            yield from [test] if shared else independent(test)
        else:
            yield test


def main(*modules):
    """Runs the tests of these modules, or of the program that was started, five pieces at a time: mostly they wait."""
    global ROTA, RUNNER
    names = sys.argv[1:]
    ROTA = names.pop(0)
    if names and os.path.exists(names[0]):
        RUNNER = names.pop(0)
    loader = unittest.defaultTestLoader
    of_module = sys.modules["__main__"]
    suite = loader.loadTestsFromNames(names, of_module) if names else \
        [loader.loadTestsFromModule(m) for m in modules or (of_module,)]

    def run(piece):
        return unittest.TextTestRunner(verbosity=2, stream=sys.stderr).run(unittest.TestSuite([piece]))

    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        results = list(pool.map(run, independent(suite)))
    sys.exit(0 if all(r.wasSuccessful() for r in results) and any(r.testsRun for r in results) else 1)
