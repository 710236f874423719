#!/usr/bin/env python3
"""`rota serve` under kill -9: each due run is once in the ledger and, if it is said to have run, once in the world.

  serve_crash_test.py ROTA [--rounds N] [--seed S] [--faults]     50 rounds, or 1,000 with ROTA_LONG_TESTS

Each round starts the daemon on the same store and kills something at a random moment, or at one of the named
places where it matters (ROTA_FAULT): the daemon, a runner, the server that makes runners, or several of them. With
--faults the program is one that knows these places (ROTA_FAULT_POINTS), so the daemon has to die at one now and then.
Programs write down that they start and end. In the end the ledger and what they wrote are compared:

  T1  no key (job, instant, attempt) twice; the instants of a job have no gap and no double
  K2  no run was started twice, and none that the ledger does not know
  K3  what the ledger calls a success was started and ended once; what it calls skipped never was
  K4  a killed daemon ends no program
  C1  never more than the cap at once (a run whose runner was killed does not count: its program dies with it)
"""

import argparse
import collections
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

CAP = 3
PERIOD_MS = 250
# The places where the daemon can be told to kill itself (src/job/fault_point.h), and the steps of runners.
DAEMON_FAULTS = ["before_commit", "within_commit", "after_commit", "before_start", "before_over", "before_forget"]
RUNNER_STEPS = 11

JOBS = {
    # name: (overlap, how long it runs)
    "quick": ("skip", "0.01"),
    "slow": ("skip", "0.4"),
    "queued": ("queue", "0.3"),
    "many": ("allow", "0.2"),
    "fails": ("skip", "0.05; exit 3"),
}


def fail(text):
    print(f"serve_crash_test: {text}", file=sys.stderr)
    sys.exit(1)


def is_runner(pid):
    """Whether it is a runner or their server. A program that is about to begin still has their name; it has a session
    of its own, as their server has, but a runner made it."""
    try:
        name, rest = pathlib.Path(f"/proc/{pid}/stat").read_text().split("(", 1)[1].rsplit(") ", 1)
        _, parent, _, session = rest.split()[:4]
        if not name.startswith("rota-runner"):
            return False
        return session != str(pid) or "rota-runner" not in pathlib.Path(f"/proc/{parent}/comm").read_text()
    except OSError:
        return False


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class World:
    def __init__(self, rota, seed):
        self.rota = rota
        self.random = random.Random(seed)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rota_crash_"))
        self.jobs = self.folder / "jobs"
        self.state = self.folder / "state"
        self.world = self.folder / "world"
        self.jobs.mkdir(mode=0o700)
        self.world.touch()
        for name, (overlap, what) in JOBS.items():
            # The time of the shell itself, so that no other process is needed to tell it.
            line = f"echo $1 $EPOCHREALTIME $ROTA_RUN $ROTA_JOB $ROTA_SCHEDULED $ROTA_ATTEMPT >>{self.world}"
            text = f"say() {{ {line}; }}; say start; trap 'say end' EXIT; sleep {what}"
            (self.jobs / f"{name}.toml").write_text(
                f'schedule = "@every {PERIOD_MS}ms"\noverlap = "{overlap}"\nqueue = 2\n'
                f'catchup = "all"\ncatchup_most = 1000\n'
                f'directory = "{self.folder}"\nrun = ["/bin/bash", "-c", """{text}"""]\n')
            os.chmod(self.jobs / f"{name}.toml", 0o600)
        self.daemon = None
        self.faults = 0  # how often the daemon died at a named place
        self.log = open(self.folder / "log", "ab")

    def start(self, fault=None):
        environment = dict(os.environ)
        if fault:
            environment["ROTA_FAULT"] = fault
        self.log_begin = (self.folder / "log").stat().st_size
        self.daemon = subprocess.Popen(
            [self.rota, "serve", "--jobs", self.jobs, "--state", self.state, "--listen", "none",
             "--max-active", str(CAP)],
            stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL, env=environment)

    def wait_for_greeting(self):
        """Until then a signal ends it as any program."""
        end = time.monotonic() + 20
        while b"rota serve: " not in (self.folder / "log").read_bytes()[self.log_begin:]:
            if time.monotonic() > end:
                fail("the daemon does not start")
            time.sleep(0.01)

    def children_of_daemon(self):
        """The fork server and, below it, the runners: pids."""
        found = []
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                where = os.readlink(f"/proc/{entry}/cwd")
                arguments = pathlib.Path(f"/proc/{entry}/cmdline").read_bytes()
            except OSError:
                continue
            if is_runner(entry) and (str(self.folder) in where or str(self.folder).encode() in arguments
                                     or self.holds_our_files(entry)):
                found.append(int(entry))
        return found

    def holds_our_files(self, pid):
        try:
            for fd in os.listdir(f"/proc/{pid}/fd"):
                if os.readlink(f"/proc/{pid}/fd/{fd}").startswith(str(self.folder)):
                    return True
        except OSError:
            pass
        return False

    def kill_daemon(self):
        self.daemon.kill()
        self.daemon.wait(20)

    def ledger(self, question):
        database = sqlite3.connect(f"file:{self.state}/ledger.db?mode=ro", uri=True, timeout=20)
        try:
            return database.execute(question).fetchall()
        finally:
            database.close()

    def unfinished(self):
        return self.ledger("SELECT * FROM runs_readable WHERE phase <> 'over' LIMIT 5")

    def round(self, number):
        what = self.random.choice(["daemon", "fault", "fault", "fault", "runner", "runner step", "both", "drain"])
        fault = None
        if what == "fault":
            fault = f"{self.random.choice(DAEMON_FAULTS)}:{self.random.randint(1, 6)}"
        elif what == "runner step":
            fault = f"runner:{self.random.randint(1, RUNNER_STEPS)}"
        self.start(fault)
        time.sleep(self.random.uniform(0.02, 0.5))
        if what in ("runner", "both"):
            runners = self.children_of_daemon()
            for pid in self.random.sample(runners, min(len(runners), self.random.randint(1, 3))):
                if is_runner(pid):
                    kill(pid)
            time.sleep(self.random.uniform(0, 0.1))
        if what == "drain":
            self.wait_for_greeting()
            self.daemon.send_signal(signal.SIGTERM)
            try:
                if self.daemon.wait(20) != 0:
                    fail(f"round {number}: SIGTERM gave {self.daemon.returncode}, expected 0")
            except subprocess.TimeoutExpired:
                fail(f"round {number}: the daemon does not drain")
        else:
            self.faults += what == "fault" and self.daemon.poll() == -signal.SIGKILL
            self.kill_daemon()
        return what

    def settle(self):
        """A last start, without jobs: what waits is recorded as removed, and what runs is waited for."""
        for name in JOBS:
            (self.jobs / f"{name}.toml").unlink()
        self.start()
        end = time.monotonic() + 60
        while self.daemon.poll() is None and time.monotonic() < end:
            try:
                if self.ledger("SELECT count(*) FROM run WHERE phase < 2")[0][0] == 0:
                    break
            except sqlite3.OperationalError:  # the store is being opened
                pass
            time.sleep(0.02)
        else:
            fail(f"runs do not end: {self.unfinished()}")
        self.daemon.send_signal(signal.SIGTERM)
        self.daemon.wait(20)

    def clean(self):
        if self.daemon and self.daemon.poll() is None:
            self.kill_daemon()
        for pid in self.children_of_daemon():
            kill(pid)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def instants_of(rows):
    """All instants that the rows of one job stand for, in ms; a merged row stands for many."""
    for scheduled, first, count in rows:
        if count <= 1:
            yield scheduled
        else:
            yield from range(first, scheduled + 1, PERIOD_MS)


def check(world):
    rows = world.ledger("SELECT id, job, scheduled, attempt, phase, outcome, count, first, note FROM run")
    names = {1: "success", 2: "failed", 3: "signalled", 4: "timed_out", 5: "cancelled", 6: "replaced",
             7: "skipped", 8: "not_started", 9: "lost", 10: "unknown"}
    by_id = {row[0]: row for row in rows}
    for job in JOBS:
        seen = sorted(instants_of([(r[2], r[7], r[6]) for r in rows if r[1] == job and r[3] == 1]))
        if not seen:
            fail(f"{job}: nothing in the ledger")
        doubles = [i for i, n in collections.Counter(seen).items() if n > 1]
        if doubles:
            fail(f"{job}: T1: instants with two rows: {doubles[:5]}")
        gaps = [(a, b) for a, b in zip(seen, seen[1:]) if b - a != PERIOD_MS]
        if gaps:
            fail(f"{job}: every_due_run: instants without a row between {gaps[:5]}")

    starts, ends = collections.Counter(), collections.Counter()
    times = collections.defaultdict(dict)
    for line in world.world.read_text().splitlines():
        what, when, run, job, scheduled, attempt = line.split()
        run = int(run)
        if run not in by_id:
            fail(f"K2: run {run} of {job} was started, and the ledger has no such row")
        if by_id[run][1] != job or by_id[run][3] != int(attempt):
            fail(f"K2: run {run} was started as {job} attempt {attempt}, the ledger says {by_id[run]}")
        (starts if what == "start" else ends)[run] += 1
        times[run][what] = float(when)
    twice = [run for run, n in starts.items() if n > 1]
    if twice:
        fail(f"K2: started twice: {[by_id[r] for r in twice[:5]]}")

    counts = collections.Counter()
    for row in rows:
        outcome = names.get(row[5], "none")
        counts[outcome] += 1
        ran = starts[row[0]]
        if outcome in ("success", "failed"):
            if ran != 1 or ends[row[0]] != 1:
                fail(f"K3: the ledger says {outcome}, the program started {ran} and ended {ends[row[0]]} times: {row}")
            if (outcome == "failed") != (row[1] == "fails"):
                fail(f"K3: {row[1]} is said to have {outcome}: {row}")
        elif outcome in ("skipped", "not_started"):
            if ran:
                fail(f"K3: the ledger says {outcome}, and the program was started: {row}")
        elif outcome not in ("lost",):
            fail(f"nobody asked for {outcome}: {row}")

    # Whose runner was killed has no end; its program died soon after, when is not known.
    moments = []
    for run, both in times.items():
        if "end" in both:
            moments += [(both["start"], 1), (both["end"], -1)]
    active = most = 0
    for _, change in sorted(moments):
        active += change
        most = max(most, active)
    if most > CAP:
        fail(f"C1: {most} programs ran at once, the cap is {CAP}")
    if counts["success"] == 0 or counts["skipped"] == 0:
        fail(f"the rounds did not get anywhere: {dict(counts)}")
    return counts, most


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rota")
    parser.add_argument("--rounds", type=int, default=1000 if os.environ.get("ROTA_LONG_TESTS") else 50)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--faults", action="store_true")
    options = parser.parse_args()
    print(f"{options.rounds} rounds, --seed {options.seed}", flush=True)
    world = World(options.rota, options.seed)
    kinds = collections.Counter()
    keep = True
    try:
        for number in range(options.rounds):
            kinds[world.round(number)] += 1
            if number % 100 == 99:
                print(f"{number + 1} rounds", flush=True)
        world.settle()
        counts, most = check(world)
        if options.faults and options.rounds >= 20 and not world.faults:
            fail(f"the daemon died at none of {DAEMON_FAULTS}: was it built with ROTA_FAULT_POINTS?")
        print(f"killed: {dict(kinds)}, {world.faults} at a named place; rows: {dict(counts)}; at most {most} of {CAP} at once")
        keep = False
    finally:
        if keep:
            print((world.folder / "log").read_text(errors="replace")[-4000:], file=sys.stderr)
        world.clean()


if __name__ == "__main__":
    main()
