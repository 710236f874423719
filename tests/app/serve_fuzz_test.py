#!/usr/bin/env python3
"""`rota serve`: requests that are almost right get an answer that says what is wrong, and do no harm.

  serve_fuzz_test.py ROTA [RUNNER] [CLASS[.TEST]...]     the programs to test, and which tests

Each request is one that the API knows with some of it changed: a word of its path, a parameter, bytes of its
body. ROTA_TEST_SEED repeats a run; with ROTA_LONG_TESTS it goes on for 200,000 requests. Best against a daemon
that was built with a sanitizer.
"""

import http.client
import json
import os
import random
import urllib.parse

import serve_daemon
from serve_daemon import PATIENCE, WithDaemon

TOML = """[job.{name}]
argv = ["true", "$HOME; echo"]
schedule = "*/5 8-18 * * mon-fri"
zone = "Europe/Berlin"
timeout = "10s"
overlap = "queue"
catch_up = "last"
retries = 2
group = "disk"
environment = {{ A = "1", B = "\\u00e9" }}
"""

NAMES = ["hello", "fuzzed", "nobody", "", ".", "..", "a/b", "a%b", "ä", "x" * 300, "\0", " ", "-1", "hello\n"]
NUMBERS = ["0", "1", "-1", "10", "99999999999999999999", "1e9", "0x10", "", " ", "NaN", "9223372036854775807",
           "-9223372036854775808", "18446744073709551616", "١"]
TIMES = ["2026-03-29T02:30:00", "2026-10-25T02:30:00Z", "1970-01-01T00:00:00Z", "9999-12-31T23:59:60Z",
         "0000-00-00T00:00:00Z", "now", "", "-292277022399-01-01T00:00:00Z", "2026-02-30", "1"]
WORDS = ["waiting", "running", "over", "success", "failed", "lost", "", "?", "a,b", "true", "null"]
JSON = [None, True, -1, 1e308, 2**70, "", "x" * 70_000, [], {}, [[[[]]]], {"toml": 1}, {"toml": None},
        {"at_once": "yes"}, {"at_once": True}, {"toml": "", "toml2": ""}, {"\0": "\0"}]
# What an answer may be; anything else, 500 above all, is a fault of the daemon.
KNOWN = {200, 400, 401, 403, 404, 405, 409, 411, 413, 414, 415, 422, 429, 431}


class Fuzz(WithDaemon):
    words = ("--max-active", "2")

    def setUp(self):
        self.seed = int(os.environ.get("ROTA_TEST_SEED", random.randrange(2**32)))
        self.rng = random.Random(self.seed)

    def name(self):
        return self.rng.choice(NAMES) if self.rng.random() < 0.5 else self.rng.choice(NAMES[:2])

    def query(self, **known):
        some = {k: self.rng.choice(v) for k, v in known.items() if self.rng.random() < 0.5}
        if self.rng.random() < 0.1:
            some[self.rng.choice(["limit", "unknown", ""])] = self.rng.choice(NUMBERS + NAMES)
        return "?" + urllib.parse.urlencode(some) if some else ""

    def mutated(self, data):
        data = bytearray(data)
        for _ in range(self.rng.randrange(4)):
            at = self.rng.randrange(len(data) + 1)
            how = self.rng.randrange(4)
            if how == 0:
                data[at:at + self.rng.randrange(1, 9)] = b""
            elif how == 1:
                data[at:at] = bytes(self.rng.randrange(256) for _ in range(self.rng.randrange(1, 5)))
            elif how == 2:
                data[at:at] = data[at:at + 40] * self.rng.randrange(1, 9)
            elif at < len(data):
                data[at] ^= 1 << self.rng.randrange(8)
        return bytes(data)

    def body(self, usual):
        which = self.rng.random()
        if which < 0.3:
            return json.dumps(self.rng.choice(JSON)).encode()
        if which < 0.4:
            return b"[" * self.rng.randrange(1, 100_000)
        return self.mutated(json.dumps(usual).encode())

    def definition(self):
        text = TOML.format(name="fuzzed").encode()
        return {"toml": self.mutated(text).decode("utf-8", "surrogateescape").encode(
            "utf-8", "replace").decode()}

    def request(self):
        name = urllib.parse.quote(self.name(), safe="") if self.rng.random() < 0.9 else "%zz%"
        job = f"/api/v1/jobs/{name}"
        run = f"/api/v1/runs/{self.rng.choice(NUMBERS) or name}".replace(" ", "%20")
        return self.rng.choice([
            lambda: ("GET", "/api/v1/status" + self.query(), None),
            lambda: ("GET", "/api/v1/jobs" + self.query(limit=NUMBERS), None),
            lambda: ("GET", job, None),
            lambda: ("PUT", job, self.body(self.definition())),
            lambda: ("PUT", "/api/v1/jobs/fuzzed", self.body(self.definition())),
            lambda: ("DELETE", job, None),
            lambda: ("POST", job + "/run", self.body({"at_once": False})),
            lambda: ("POST", job + self.rng.choice(["/pause", "/resume", "/", "/run/run"]), b""),
            lambda: ("GET", job + "/next" + self.query(**{"count": NUMBERS, "from": TIMES}), None),
            lambda: ("GET", "/api/v1/upcoming" + self.query(hours=NUMBERS, limit=NUMBERS, job=NAMES), None),
            lambda: ("GET", "/api/v1/runs" + self.query(job=NAMES, phase=WORDS, outcome=WORDS, before=NUMBERS,
                                                        limit=NUMBERS), None),
            lambda: ("GET", run, None),
            lambda: ("POST", run + "/cancel", self.body({})),
            lambda: ("GET", run + "/log" + self.query(offset=NUMBERS), None),
            lambda: ("GET", "/api/v1/heat" + self.query(job=NAMES, days=NUMBERS), None),
            lambda: ("POST", "/api/v1/reload", self.body({})),
            lambda: (self.rng.choice(["GET", "PATCH", "OPTIONS", "TRACE", "HEAD"]), "/metrics", None),
        ])()

    def test_requests_almost_right_get_an_answer(self):
        rounds = 200_000 if "ROTA_LONG_TESTS" in os.environ else 2_000
        connection = None
        refused = taken = 0
        for i in range(rounds):
            method, target, data = self.request()
            target = target.replace("١", "%D9%A1")
            told = f"seed {self.seed}, request {i}: {method} {target} {(data or b'')[:300]!r}"
            if connection is None:
                connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=PATIENCE)
            try:
                connection.request(method, target, body=data, headers={
                    "Host": f"127.0.0.1:{self.daemon.port}", "Authorization": f"Bearer {self.daemon.token}"})
                answer = serve_daemon.Answer(connection.getresponse())
            except (http.client.HTTPException, ConnectionError) as error:
                raise AssertionError(f"{told}: no answer, {error!r}\n{self.daemon.log()[-2000:]}") from error
            self.assertIn(answer.status, KNOWN, f"{told}: {answer.body[:500]!r}")
            if answer.status == 200:
                taken += 1
            else:
                refused += 1
                if method != "HEAD":
                    self.assertTrue(answer.json["error"], told)
            if answer.headers.get("connection") == "close":
                connection.close()
                connection = None
        connection and connection.close()
        self.assertGreater(taken, rounds / 10, f"seed {self.seed}: hardly anything was right")
        self.assertGreater(refused, rounds / 10, f"seed {self.seed}: hardly anything was wrong")
        self.assertIsNone(self.daemon.process.poll(), f"seed {self.seed}")
        self.assertEqual(self.daemon.get("/api/v1/status")["max_active"], 2, f"seed {self.seed}")
        self.assertNotIn("error: ", self.daemon.log(), f"seed {self.seed}")


if __name__ == "__main__":
    serve_daemon.main()
