#!/usr/bin/env python3
"""`rota topic`, `rota service` and `rota graph` against a running program.

  topic_test.py ROTA INSPECTED    the program to test, and the example that it looks at
"""

import json
import os
import pathlib
import random
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import unittest

ROTA = ""
INSPECTED = ""


def wait_for(holds, what, seconds=20):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(f"not in {seconds} s: {what}")
        time.sleep(0.005)


class Robot:
    """The example on a socket of its own."""

    def __init__(self, path=None):
        self.folder = tempfile.mkdtemp(prefix="rota_topic_")
        self.path = path or os.path.join(self.folder, "robot.sock")
        self.process = subprocess.Popen([INSPECTED, self.path], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.said = self.process.stdout.readline()

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        status = self.process.wait(20)
        self.process.stdout.close()
        return status

    def clean(self):
        if self.process.poll() is None:
            self.end(signal.SIGKILL)
        shutil.rmtree(self.folder)


class Raw:
    """A client that says what it likes."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.socket.settimeout(20)
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def line(self):
        return json.loads(self.file.readline())

    def ask(self, text):
        self.send(text.encode() + b"\n")
        return self.line()


class WithRobot(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.robot = Robot()
        cls.path = cls.robot.path

    @classmethod
    def tearDownClass(cls):
        try:
            assert cls.robot.end() == 0, "the example did not end well"
            assert not os.path.exists(cls.path), "the socket is left over"
        finally:
            cls.robot.clean()

    def rota(self, *words, text=None, env=None, given=True):
        socket_words = ["--socket", self.path] if given else []
        environment = {k: v for k, v in os.environ.items() if k != "ROTA_SOCKET"}
        environment.update(env or {})
        return subprocess.run([ROTA, *map(str, words), *socket_words], input=text,
                              capture_output=True, text=True, timeout=30, check=False,
                              env=environment)

    def fine(self, *words, **more):
        done = self.rota(*words, **more)
        self.assertEqual(done.returncode, 0, (words, done.stderr))
        return done.stdout

    def lines(self, *words, **more):
        return [json.loads(line) for line in self.fine(*words, **more).splitlines()]

    def refused(self, *words, **more):
        """Bad input: exit status 2, nothing printed, one line that says why."""
        done = self.rota(*words, **more)
        self.assertEqual(done.returncode, 2, (words, done.stdout, done.stderr))
        self.assertEqual(done.stdout, "", words)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr


class Look(WithRobot):
    def test_lists(self):
        text = self.fine("topic", "list")
        self.assertRegex(text, r"(?m)^TOPIC +PUBLISHERS +SUBSCRIBERS +TYPE$")
        self.assertRegex(text, r"(?m)^/goal +0 +1 +robot/point$")
        self.assertRegex(text, r"(?m)^/heartbeat +1 +0 +heartbeat  \(not described\)$")
        topics = {t["name"]: t for t in json.loads(self.fine("topic", "list", "--json"))}
        self.assertEqual(sorted(topics), ["/goal", "/heartbeat", "/image", "/pose"])
        self.assertEqual(topics["/pose"]["type"], "robot/pose")
        self.assertRegex(self.fine("service", "list"),
                         r"(?m)^/distance +1 +0 +robot/point -> float64$")
        services = json.loads(self.fine("service", "list", "--json"))
        self.assertEqual([s["name"] for s in services], ["/distance", "/rest"])

    def test_graph(self):
        text = self.fine("graph")
        self.assertRegex(text, r"(?m)^topic /pose: robot/pose\n  publisher +robot +\d+ published$")
        self.assertRegex(text, r"(?m)^service /distance: robot/point -> float64\n  server +robot")
        whole = json.loads(self.fine("graph", "--json"))
        self.assertEqual(list(whole), ["topics", "services"])
        dot = self.fine("graph", "--dot", "-")
        self.assertIn('"node robot" -> "topic /pose";', dot)
        self.assertIn('"service /rest" -> "node robot";', dot)
        self.assertEqual(dot.count("{"), dot.count("}"))
        self.assertIn("only one", self.refused("graph", "--dot", "-", "--json"))
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "graph.dot"
            self.assertIn("topic /pose: robot/pose", self.fine("graph", "--dot", str(file)))
            self.assertEqual(file.read_text(), dot)
            self.refused("graph", "--dot", str(file.parent / "none" / "graph.dot"))

    def test_where_the_door_is(self):
        self.assertIn("/pose", self.fine("topic", "list", given=False,
                                         env={"ROTA_SOCKET": self.path}))
        why = self.refused("topic", "list", given=False)
        self.assertIn("--socket PATH", why)
        self.assertIn("ROTA_SOCKET", why)
        self.assertIn("there is no socket", self.refused("graph", "--socket", "/does/not/exist",
                                                         given=False))
        self.assertIn("nobody answers", self.refused("graph", "--socket", __file__, given=False))

    def test_help_is_enough(self):
        for words in [["topic"], ["topic", "list"], ["topic", "echo"], ["topic", "hz"],
                      ["topic", "pub"], ["service"], ["service", "list"], ["service", "call"],
                      ["graph"]]:
            text = self.fine(*words, "--help", given=False)
            if len(words) > 1 or words == ["graph"]:
                for part in ["--socket", "ROTA_SOCKET", "--json", "Exit status"]:
                    self.assertIn(part, text, words)
        for words in [[], ["topic"], ["topic", "shout"], ["topic", "echo"], ["topic", "pub", "/goal"],
                      ["service", "call", "/distance"], ["topic", "echo", "/pose", "--count", "0"],
                      ["topic", "echo", "/pose", "--count", "-1"]]:
            done = self.rota(*words, given=False)
            self.assertEqual(done.returncode, 2, words)
            self.assertTrue(done.stderr, words)


class Messages(WithRobot):
    def test_echo(self):
        poses = self.lines("topic", "echo", "/pose", "--count", "3")
        self.assertEqual([list(p) for p in poses], [["at", "heading", "step", "tags"]] * 3)
        steps = [p["step"] for p in poses]
        self.assertEqual(steps[2] - steps[1], 1)
        self.assertIn(poses[0]["tags"], (["walking"], ["there"]))
        whole = self.lines("topic", "echo", "/pose", "--count", "2", "--json")
        self.assertEqual([list(m) for m in whole], [["at_ns", "message"]] * 2)

    def test_echo_ends(self):
        done = self.rota("topic", "echo", "/goal", "--timeout", "0.05")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("nothing came in 0.05 s", done.stderr)
        self.assertEqual(self.rota("topic", "echo", "/pose", "--timeout", "0.1").returncode, 0)
        done = self.rota("topic", "echo", "/pose", "--timeout", "0.1", "--count", "100000")
        self.assertEqual(done.returncode, 1)
        for words in [["echo", "/pose"], ["hz", "/pose", "--window", "0.05"]]:
            process = subprocess.Popen([ROTA, "topic", *words, "--socket", self.path],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.assertTrue(process.stdout.readline())
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=20)
            self.assertEqual((process.returncode, err), (0, ""), words)

    def test_hz(self):
        text = self.fine("topic", "hz", "/pose", "--window", "0.2", "--count", "2")
        for line in text.splitlines():
            self.assertRegex(line, r"^[\d.]+ Hz, [\d.]+ ms apart \([\d.]+ to [\d.]+, jitter [\d.]+\), "
                                   r"\d+ messages?, \d+ missed$")
        last = self.lines("topic", "hz", "/pose", "--window", "0.3", "--count", "1", "--json")[-1]
        self.assertGreater(last["messages"], 3)
        self.assertGreater(last["rate"], 10)
        self.assertLess(last["rate"], 200)
        # What has no description can be counted all the same.
        self.fine("topic", "hz", "/heartbeat", "--window", "0.1", "--count", "1")
        done = self.rota("topic", "hz", "/goal", "--window", "0.05", "--count", "1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no message in", done.stdout)

    def test_pub(self):
        self.assertEqual(self.fine("topic", "pub", "/goal", '{"x": 4, "y": -3.5}'),
                         "published 1, taken 1\n")
        made = self.lines("topic", "pub", "/goal", '{"y": 2, "x": 1}', "--rate", "1000",
                          "--count", "20", "--json")
        self.assertEqual(made, [{"published": 20, "taken": 20, "refused": 0}])

    def test_both_ways(self):
        sent = {"at": {"x": 0.1, "y": -1e300}, "heading": 0.1, "step": 4294967295,
                "tags": ["a \"quote\"", "größe", "\u0000\n"]}
        with Raw(self.path) as listener:
            listener.ask("echo /pose")
            echo = subprocess.Popen([ROTA, "topic", "echo", "/pose", "--socket", self.path],
                                    stdout=subprocess.PIPE, text=True)
            self.assertTrue(echo.stdout.readline())
            self.fine("topic", "pub", "/pose", json.dumps(sent))
            for _ in range(1000):
                got = json.loads(echo.stdout.readline())
                if got["step"] == 4294967295:
                    break
            echo.send_signal(signal.SIGINT)
            echo.communicate(timeout=20)
            self.assertEqual(echo.returncode, 0)
        self.assertEqual(got, sent)

    def test_numbers_that_json_has_not(self):
        self.assertEqual(self.lines("service", "call", "/distance", '{"x": "inf", "y": 0}'), ["inf"])
        self.assertEqual(self.lines("service", "call", "/distance", '{"x": "nan", "y": 0}'), ["nan"])

    def test_call(self):
        self.assertIsInstance(self.lines("service", "call", "/distance", '{"x":0,"y":0}')[0], float)
        self.assertEqual(self.lines("service", "call", "/rest", "1000000"), [True])
        whole = self.lines("service", "call", "/rest", "0", "--json")[0]
        self.assertEqual([whole["status"], whole["reply"]], ["ok", True])
        done = self.rota("service", "call", "/rest", "60000000000", "--timeout", "0.05")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"^rota service call: timeout: .*/rest")
        done = self.rota("service", "call", "/rest", "60000000000", "--timeout", "0.05", "--json")
        self.assertEqual((done.returncode, json.loads(done.stdout)["status"]), (1, "timeout"))

    def test_call_that_throws(self):
        robot = Robot()  # its /rest is not busy with what the others asked of it
        try:
            done = self.rota("service", "call", "/rest", "--socket", robot.path, "--", "-1000000",
                             given=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("lost: the server threw: nobody can rest", done.stderr)
            self.assertEqual(robot.end(), 0)
        finally:
            robot.clean()

    def test_a_large_message(self):
        image = os.urandom(1 << 20).hex()
        echo = subprocess.Popen([ROTA, "topic", "echo", "/image", "--count", "1", "--socket",
                                 self.path], stdout=subprocess.PIPE, text=True)
        wait_for(lambda: "rota-inspect" in self.fine("graph"), "the echo has begun")
        self.assertEqual(self.fine("topic", "pub", "/image", "-", text=json.dumps(image)),
                         "published 1, taken 2\n")
        out, _ = echo.communicate(timeout=20)
        self.assertEqual((echo.returncode, json.loads(out)), (0, image))
        self.assertIn("bytes; at most 4194304",
                      self.refused("topic", "pub", "/image", "-",
                                   text=json.dumps("00" * ((4 << 20) + 1))))

    def test_wrong_names(self):
        self.assertIn("there is no topic '/poes'; there are /goal, /heartbeat, /image, /pose",
                      self.refused("topic", "echo", "/poes"))
        self.assertIn("there is no topic", self.refused("topic", "hz", "nothing"))
        self.assertIn("there is no topic", self.refused("topic", "pub", "nothing", "{}"))
        self.assertIn("there is no service '/pose'; there are /distance, /rest",
                      self.refused("service", "call", "/pose", "{}"))
        self.assertIn("not described", self.refused("topic", "echo", "/heartbeat"))
        self.assertIn("is no name", self.refused("topic", "echo", "/pose 3"))
        self.assertIn("is no name", self.refused("topic", "hz", ""))
        self.assertIn("expected messages a second",
                      self.refused("topic", "pub", "/goal", "{}", "--rate", "fast"))
        self.assertIn("expected seconds", self.refused("topic", "echo", "/pose", "--timeout", "0"))

    def test_wrong_messages(self):
        pose = '{"at":{"x":0,"y":0},"heading":0,"step":%s,"tags":%s}'
        for topic, text, why in [
                ("/goal", '{"x": 1}', "message.y: it is missing; expected float64"),
                ("/goal", '{"x": 1, "y": 2, "z": 3}',
                 "message.z: there is no such field; robot/point has x, y"),
                ("/goal", '{"x": 1, "y": "2"}', "message.y: expected float64, not a text"),
                ("/goal", '{"x": 1, "y": null}', "message.y: expected float64, not null"),
                ("/goal", '{"x": 1, "x": 2, "y": 3}', "the field x twice"),
                ("/goal", "[1, 2]", "message: expected robot/point, not an array"),
                ("/goal", '{"x": 1, "y": ', "the message is no JSON: parse error at line 1"),
                ("/goal", "", "the message is no JSON"),
                ("/goal", '{"x": 1e999, "y": 0}', "the message is no JSON: number overflow"),
                ("/goal", "[" * 50000, "the message is no JSON"),
                ("/pose", pose % (-1, "[]"),
                 "message.step: expected uint32, from 0 to 4294967295, not -1"),
                ("/pose", pose % (4294967296, "[]"), "message.step: expected uint32"),
                ("/pose", pose % (1.5, "[]"), "message.step: expected uint32"),
                ("/pose", pose % (1, '["a", 3]'), "message.tags[1]: expected string, not 3"),
                ("/pose", pose % (1, "{}"), "message.tags: expected string[], not an object"),
                ("/pose", (pose % (1, "[]")).replace('"heading":0', '"heading":1e39'),
                 "message.heading: expected float32"),
                ("/pose", (pose % (1, "[]")).replace('"x":0', '"x":true'),
                 "message.at.x: expected float64, not true"),
                ("/image", '"abc"', "message: expected byte[], as hex"),
                ("/image", "[1, 256]", "message[1]: expected byte, from 0 to 255, not 256"),
        ]:
            self.assertIn(why, self.refused("topic", "pub", topic, "-", text=text), text[:80])
        # None of it has got in.
        self.assertIn("expected duration", self.refused("service", "call", "/rest", '"soon"'))


class Clients(WithRobot):
    def test_garbage(self):
        chance = random.Random(1)
        for _ in range(60):
            with Raw(self.path) as client:
                client.send(bytes(chance.randrange(256) for _ in range(chance.randrange(400))))
        words = [b"graph", b"echo", b"pub", b"call", b"hz", b"schema", b"topic", b"/pose", b"/goal",
                 b"/rest", b"0", b"1", b"-1", b"00010000", b"\x00", b"\xff", b"1e9", b"9" * 30, b" "]
        for _ in range(60):
            with Raw(self.path) as client:
                text = b" ".join(chance.choices(words, k=chance.randrange(1, 7)))
                client.send(text.replace(b"\n", b"") + b"\n")
                if text.strip():
                    line = client.file.readline()
                    self.assertIsInstance(json.loads(line), dict, text)
        with Raw(self.path) as client:
            client.send(b"x" * (9 << 20) + b"\n")
            self.assertIn("a request of more than", client.line()["error"])
            self.assertIn("topics", client.ask("graph"))
            client.send(b"graph\n\n  \ngraph")
            client.socket.shutdown(socket.SHUT_WR)
            self.assertEqual(["topics" in json.loads(line) for line in client.file], [True, True])
        self.assertIn("/pose", self.fine("topic", "list"))

    def test_a_client_that_does_not_read_holds_nobody_up(self):
        with Raw(self.path) as slow:
            self.assertIn("schema", slow.ask("echo /image"))
            image = json.dumps("ab" * (100 << 10))
            for _ in range(2):
                made = self.lines("topic", "pub", "/image", "-", "--rate", "2000", "--count", "200",
                                  "--json", text=image)
                self.assertEqual((made[0]["published"], made[0]["refused"]), (200, 0))
            self.assertGreater(len(self.lines("topic", "echo", "/pose", "--count", "5")), 4)
            echo = next(s for t in json.loads(self.fine("topic", "list", "--json"))
                        if t["name"] == "/image" for s in t["subscribers"]
                        if s["node"] == "rota-inspect")
            self.assertGreater(echo["dropped"], 0)
            told = 0
            read = 0
            while told == 0:
                told += slow.line().get("dropped", 0)
                read += 1
            self.assertLess(read, 400)

    def test_several_clients(self):
        echoes = [subprocess.Popen([ROTA, "topic", "echo", "/pose", "--count", "10", "--socket",
                                    self.path], stdout=subprocess.PIPE, text=True)
                  for _ in range(3)]
        for echo in echoes:
            out, _ = echo.communicate(timeout=20)
            self.assertEqual((echo.returncode, out.count("\n")), (0, 10))

    def test_there_is_a_most_of_clients(self):
        idle = [Raw(self.path) for _ in range(16)]
        try:
            self.assertIn("16 clients already", self.refused("graph"))
        finally:
            for one in idle:
                one.__exit__()
        wait_for(lambda: self.rota("graph").returncode == 0, "the others have left")


class Sockets(WithRobot):
    def start_at(self, path):
        return subprocess.run([INSPECTED, path], capture_output=True, text=True, timeout=20,
                              check=False)

    def test_is_for_its_owner_alone(self):
        self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o600)

    @unittest.skipUnless(os.geteuid() == 0, "needs another user")
    def test_others_do_not_get_in(self):
        os.chmod(self.robot.folder, 0o755)
        os.chmod(self.path, 0o666)  # as if somebody had been careless
        try:
            code = ("import os, socket; os.setgid(65534); os.setuid(65534); "
                    "s = socket.socket(socket.AF_UNIX); s.settimeout(20); "
                    f"s.connect({self.path!r}); print(s.recv(10))")
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                                  timeout=20, check=False)
            self.assertIn("b''", done.stdout + done.stderr)
        finally:
            os.chmod(self.path, 0o600)
            os.chmod(self.robot.folder, 0o700)

    def test_what_answers_is_left_alone(self):
        done = self.start_at(self.path)
        self.assertEqual(done.returncode, 1)
        self.assertIn("answers there already", done.stderr)
        self.fine("graph")

    def test_what_is_no_socket_is_left_alone(self):
        file = pathlib.Path(self.robot.folder) / "file"
        file.write_text("precious")
        done = self.start_at(file)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no socket", done.stderr)
        self.assertEqual(file.read_text(), "precious")

    def test_the_socket_of_a_dead_program_is_replaced(self):
        dead = Robot()
        try:
            dead.end(signal.SIGKILL)
            self.assertTrue(os.path.exists(dead.path))
            self.assertIn("nobody answers", self.refused("graph", "--socket", dead.path, given=False))
            alive = Robot(dead.path)
            try:
                self.assertIn("open:", alive.said)
                self.fine("graph", "--socket", dead.path, given=False)
                self.assertEqual(alive.end(), 0)
            finally:
                alive.clean()
        finally:
            dead.clean()

    def test_a_program_that_ends_ends_what_is_asked_of_it(self):
        for how in [signal.SIGTERM, signal.SIGKILL]:
            robot = Robot()
            try:
                echo = subprocess.Popen([ROTA, "topic", "echo", "/pose", "--socket", robot.path],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                call = subprocess.Popen([ROTA, "service", "call", "/rest", "60000000000",
                                         "--timeout", "60", "--socket", robot.path],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                self.assertTrue(echo.stdout.readline())
                with Raw(robot.path) as client:
                    wait_for(lambda: any(s["clients"] for s in client.ask("graph")["services"]),
                             "the call is under way")
                robot.end(how)
                for process in [echo, call]:
                    _, err = process.communicate(timeout=20)
                    self.assertEqual(process.returncode, 1)
                    self.assertIn("the program has ended", err)
            finally:
                robot.clean()


if __name__ == "__main__":
    ROTA = sys.argv.pop(1)
    INSPECTED = sys.argv.pop(1)
    unittest.main()
