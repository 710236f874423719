#!/usr/bin/env python3
"""A daemon that only pretends: the page's files and the API of docs/jobs_api.md, with scripted data.

  fake_daemon.py [--scenario ordinary] [--port 0] [--token secret]    prints its address, with the token

The scenarios are functions of fake_data.py. A test steers it at /test/...: what happens next, what was asked. None
of that is in the real daemon.
"""

import argparse
import json
import pathlib
import queue
import re
import socket
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import fake_data
from fake_data import iso

PAGE = pathlib.Path(__file__).resolve().parents[2] / "apps" / "dashboard"
# As the real one has it.
POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


class Refused(Exception):
    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class World:
    """What the daemon would know. Guarded by `lock`; `news` is told of every change."""

    def __init__(self, scenario):
        self.lock = threading.Condition()
        self.streams = []
        self.asked = []
        self.down = False
        self.event_id = 0
        self.reset(scenario)

    def reset(self, scenario):
        data = fake_data.SCENARIOS[scenario]()
        self.status, self.jobs, self.runs = data["status"], data["jobs"], data["runs"]
        self.upcoming, self.heat, self.logs = data["upcoming"], data["heat"], data["logs"]
        self.asked.clear()
        self.down = False

    def emit(self, change, event="change"):
        """Takes a change over and tells all streams."""
        with self.lock:
            if change.get("run"):
                self.runs[change["run"]["id"]] = change["run"]
            if change.get("set_job"):
                job = change.pop("set_job")
                self.jobs[job["name"]] = job
            if change.get("kind") == "job_removed":
                self.jobs.pop(change["job"], None)
            self.event_id += 1
            text = json.dumps({"kind": "", "job": "", "run": None, "text": "", "at": iso(fake_data.now()), **change})
            for stream in self.streams:
                stream.put(f"id: {self.event_id}\nevent: {event}\ndata: {text}\n\n")
            self.lock.notify_all()

    def drop(self):
        with self.lock:
            for stream in self.streams:
                stream.put(None)
            self.lock.notify_all()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    world = None
    token = ""

    def log_message(self, *_):
        pass

    # --- answers -----------------------------------------------------------------------------------------------------

    def answer(self, body, status=200, kind="application/json"):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(data)

    def begin_stream(self, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def handle_any(self):
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            if path.startswith("/test/"):
                self.steer(path[6:], json.loads(body or b"{}"))
            elif self.world.down:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
            elif path.startswith("/api/v1/"):
                self.api(path[8:], dict(urllib.parse.parse_qsl(query)), json.loads(body or b"null"))
            else:
                self.file(path)
        except Refused as refused:
            self.answer({"error": str(refused)}, refused.status)
        except (BrokenPipeError, ConnectionResetError, OSError):
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_DELETE = handle_any

    def file(self, path):
        file = PAGE / (path.lstrip("/") or "index.html")
        if file.parent != PAGE or file.suffix not in TYPES or not file.is_file():
            raise Refused(404, f"there is no {path}")
        self.answer(file.read_bytes(), kind=TYPES[file.suffix])

    # --- the API -----------------------------------------------------------------------------------------------------

    def api(self, path, query, body):
        if self.headers.get("Authorization") != f"Bearer {self.token}":
            raise Refused(401, "the token is wrong")
        world = self.world
        with world.lock:
            world.asked.append({"method": self.command, "path": path, "query": query, "body": body})
        parts = [urllib.parse.unquote(part) for part in path.split("/")]
        if path == "events":
            self.events()
        elif parts[0] == "runs" and parts[2:] == ["log"]:
            self.log(int(parts[1]), int(query.get("offset", 0)))
        else:
            self.answer(self.ask(parts, query, body))

    def ask(self, parts, query, body):
        world = self.world
        with world.lock:
            if parts == ["status"]:
                active = [r for r in world.runs.values() if r["phase"] == "launched"]
                waiting = [r for r in world.runs.values() if r["phase"] == "due"]
                return {**world.status, "now": iso(fake_data.now()), "jobs": len(world.jobs), "active": len(active),
                        "waiting": len(waiting)}
            if parts == ["jobs"]:
                return {"jobs": [{k: v for k, v in j.items() if k != "toml"}
                                 for _, j in sorted(world.jobs.items())]}
            if parts == ["upcoming"]:
                return world.upcoming
            if parts == ["heat"]:
                return {"days": world.heat.get(query.get("job", ""), world.heat[""])}
            if parts == ["reload"]:
                return {"tables": world.status["tables"]}
            if parts == ["runs"]:
                return self.run_list(query)
        if parts[0] == "jobs":
            return self.ask_job(parts[1], parts[2:], body, query)
        if parts[0] == "runs":
            return self.ask_run(int(parts[1]), parts[2:])
        raise Refused(404, "there is no such thing")

    def run_list(self, query):
        chosen = [r for r in sorted(self.world.runs.values(), key=lambda r: -r["id"])
                  if all(not query.get(k) or r[k] == query[k] for k in ("job", "phase", "outcome"))
                  and r["id"] < int(query.get("before", 1 << 60))]
        limit = int(query.get("limit", 100))
        return {"runs": chosen[:limit], "more": len(chosen) > limit}

    def ask_job(self, name, rest, body, query):
        world = self.world
        if self.command == "PUT":
            wrong = re.search(r"^.*\bbad\b.*$", body["toml"], re.M)
            if wrong:
                line = body["toml"][: wrong.start()].count("\n") + 1
                raise Refused(400, f"{name}:{line}:1: there is no key 'bad', use schedule or shell")
            job = fake_data.job(name, removable=True, source=None, toml=body["toml"])
            world.emit({"kind": "job_added", "job": name, "set_job": job})
            return job
        if name not in world.jobs:
            raise Refused(404, f"there is no job named {name}")
        job = world.jobs[name]
        if self.command == "DELETE":
            world.emit({"kind": "job_removed", "job": name})
            return {}
        if rest == ["next"]:
            return {"next": fake_data.next_of(job, int(query.get("count", 10)))}
        if rest == ["run"]:
            run = fake_data.run(job["name"], phase="due", outcome=None, why="manual", requested_by="root",
                                ident=max(world.runs, default=0) + 1)
            world.emit({"kind": "run_due", "job": name, "run": run, "set_job": {**job, "waiting": job["waiting"] + 1}})
            if "echo" in job.get("toml", ""):
                threading.Thread(target=self.perform, args=(run, job), daemon=True).start()
            return {"run": run["id"]}
        if rest in (["pause"], ["resume"]):
            job = {**job, "paused": rest == ["pause"]}
            world.emit({"kind": f"job_{rest[0]}d", "job": name, "set_job": job})
        return job

    def perform(self, run, job):
        """The job of a test that wants to see a run from beginning to end."""
        world = self.world
        said = re.search(r"echo ([^\"]*)", job["toml"])[1]
        with world.lock:
            world.logs[run["id"]] = {"text": bytearray(f"{said}\n".encode()), "over": True}
        run = {**run, "phase": "launched", "launched": iso(fake_data.now()), "started": iso(fake_data.now())}
        world.emit({"kind": "run_started", "job": job["name"], "run": run})
        run = {**run, "phase": "over", "outcome": "success", "finished": iso(fake_data.now()), "log_size": len(said) + 1}
        world.emit({"kind": "run_over", "job": job["name"], "run": run})

    def ask_run(self, ident, rest):
        world = self.world
        if ident not in world.runs:
            raise Refused(404, f"there is no run {ident}")
        run = world.runs[ident]
        if rest == ["cancel"]:
            run = {**run, "phase": "over", "outcome": "cancelled", "finished": iso(fake_data.now())}
            world.emit({"kind": "run_over", "job": run["job"], "run": run})
        return run

    def events(self):
        world = self.world
        mine = queue.Queue()
        with world.lock:
            world.streams.append(mine)
        try:
            self.begin_stream("text/event-stream")
            self.chunk(b": hello\n\n")
            while True:
                try:
                    text = mine.get(timeout=5)
                except queue.Empty:
                    text = ": still here\n\n"
                if text is None:
                    break
                self.chunk(text.encode())
        finally:
            with world.lock:
                world.streams.remove(mine)
            self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def log(self, ident, offset):
        world = self.world
        if ident not in world.logs:
            raise Refused(404, f"run {ident} has no output")
        self.begin_stream("text/plain; charset=utf-8")
        while True:
            with world.lock:
                entry = world.logs[ident]
                world.lock.wait_for(lambda: len(entry["text"]) > offset or entry["over"] or world.down, timeout=30)
                data = bytes(entry["text"][offset:])
                over = entry["over"]
                if world.down:
                    break
            for at in range(0, len(data), 60000):
                self.chunk(data[at : at + 60000])
            offset += len(data)
            if over and offset >= len(entry["text"]):
                self.wfile.write(b"0\r\n\r\n")
                return
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    # --- steering ----------------------------------------------------------------------------------------------------

    def steer(self, what, body):
        world = self.world
        if what == "reset":
            with world.lock:
                world.reset(body["scenario"])
            world.emit({}, event="lost")
        elif what == "event":
            event = body.pop("event", "change")
            world.emit(body, event)
        elif what == "down":
            world.down = body["down"]
            if world.down:
                world.drop()
        elif what == "status":
            with world.lock:
                world.status.update(body)
        elif what == "log":
            with world.lock:
                entry = world.logs.setdefault(body["run"], {"text": bytearray(), "over": False})
                entry["text"] += body.get("text", "").encode() * body.get("times", 1)
                entry["over"] = body.get("over", False)
                world.lock.notify_all()
        elif what == "asked":
            with world.lock:
                self.answer(list(world.asked))
            return
        elif what == "data":
            with world.lock:
                self.answer({"jobs": world.jobs, "runs": list(world.runs.values()), "upcoming": world.upcoming,
                             "heat": world.heat, "status": world.status, "streams": len(world.streams)})
            return
        self.answer({})


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--scenario", default="ordinary", choices=sorted(fake_data.SCENARIOS))
    options.add_argument("--port", type=int, default=0)
    options.add_argument("--token", default="secret")
    chosen = options.parse_args()
    Handler.world = World(chosen.scenario)
    Handler.token = chosen.token
    server = ThreadingHTTPServer(("127.0.0.1", chosen.port), Handler)
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_address[1]}/#token={chosen.token}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
