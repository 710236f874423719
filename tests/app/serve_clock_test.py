#!/usr/bin/env python3
"""`rota serve` while somebody sets the clock, and over changes of daylight saving, by libfaketime.

  serve_clock_test.py ROTA LIBFAKETIME

Rule T4: instants that are passed over are missed, not a storm; a clock that goes back re-runs nothing; one that goes
back by three hours or more is followed, and said so. T2: what runs over a change is what `rota cron next` says.
"""

import datetime
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

ROTA = ""
LIBFAKETIME = ""
MINUTE = 60
HOUR = 3600
WORDS = {1: "success", 7: "skipped"}


def utc(text):
    return datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.timezone.utc).timestamp()


class Daemon:
    """A daemon whose clock is `offset` seconds off, or as `clock` says in the words of libfaketime."""

    def __init__(self, jobs, clock="+0", options=()):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rota_clock_"))
        self.jobs = self.folder / "jobs"
        self.jobs.mkdir(mode=0o700)
        self.stamp = self.folder / "clock"
        self.stamp.write_text(clock + "\n")
        for name, text in jobs.items():
            path = self.jobs / f"{name}.toml"
            path.write_text(text + '\nrun = ["/bin/true"]\n')
            os.chmod(path, 0o600)
        self.options = list(options)
        self.process = None
        self.log = open(self.folder / "log", "wb")
        self.start()

    def start(self):
        self.forget_shared()
        environment = dict(os.environ, LD_PRELOAD=LIBFAKETIME, FAKETIME_TIMESTAMP_FILE=str(self.stamp),
                           FAKETIME_NO_CACHE="1", TZ="UTC", FAKETIME_DONT_RESET="1")
        environment.pop("FAKETIME", None)
        self.process = subprocess.Popen(
            [ROTA, "serve", "--jobs", self.jobs, "--state", self.folder / "state", "--listen", "none",
             *self.options], env=environment, stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL)

    def forget_shared(self):
        """What libfaketime leaves of a process that was killed; the next with its number would use it."""
        if self.process:
            for name in (f"faketime_shm_{self.process.pid}", f"sem.faketime_sem_{self.process.pid}"):
                pathlib.Path("/dev/shm", name).unlink(missing_ok=True)

    def set_clock(self, words):
        scratch = self.folder / "clock.new"
        scratch.write_text(words + "\n")
        scratch.rename(self.stamp)

    def ask(self, question, *values):
        """What the ledger says; nothing before it is made."""
        try:
            database = sqlite3.connect(f"file:{self.folder}/state/ledger.db?mode=ro", uri=True, timeout=20)
            try:
                return database.execute(question, values).fetchall()
            finally:
                database.close()
        except sqlite3.OperationalError:
            return []

    def rows(self, job):
        """(scheduled in s, outcome, count, trigger) of a job, oldest first."""
        found = self.ask("SELECT scheduled, outcome, count, why FROM run WHERE job = ? ORDER BY id", job)
        return [(s / 1000, WORDS.get(o, o), c, w) for s, o, c, w in found]

    def known(self):
        """Since when the daemon knows each job, in s."""
        return {name: since / 1000 for name, since in self.ask("SELECT name, known_since FROM job")}

    def said(self):
        return (self.folder / "log").read_text(errors="replace")

    def wait(self, holds, what, seconds=30):
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end or self.process.poll() is not None:
                raise AssertionError(f"not in {seconds} s: {what}\n{self.said()[-3000:]}")
            time.sleep(0.02)

    def clean(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.forget_shared()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Steps(unittest.TestCase):
    """A job every minute, and somebody who sets the clock."""

    def setUp(self):
        # Ten seconds after a minute, so that no minute passes by itself while a step is looked at.
        self.base = 10 - time.time() % 60
        self.daemon = Daemon({"minutely": 'schedule = "* * * * *"'}, self.offset(0))
        self.addCleanup(self.daemon.clean)
        self.daemon.wait(lambda: "minutely" in self.daemon.known(), "the job is in the ledger")

    def offset(self, seconds):
        return f"{self.base + seconds:+.3f}"

    def rows(self):
        return self.daemon.rows("minutely")

    def over(self):
        return [r for r in self.rows() if r[1] in ("success", "skipped")]

    def ran(self):
        return [r for r in self.rows() if r[1] == "success"]

    def skipped(self):
        return sum(r[2] for r in self.rows() if r[1] == "skipped")

    def settle(self):
        """Long enough for a daemon that would do something wrong to do it."""
        time.sleep(0.5)

    def test_a_minute_forward_runs_once(self):
        self.daemon.set_clock(self.offset(MINUTE))
        self.daemon.wait(lambda: len(self.ran()) == 1, "the minute's run")
        self.settle()
        self.assertEqual(len(self.rows()), 1)

    def test_a_minute_back_runs_nothing_again(self):
        self.daemon.set_clock(self.offset(MINUTE))
        self.daemon.wait(lambda: len(self.ran()) == 1, "the minute's run")
        self.daemon.set_clock(self.offset(0))
        self.settle()
        self.daemon.set_clock(self.offset(MINUTE))
        self.settle()
        self.assertEqual(len(self.rows()), 1)
        self.daemon.set_clock(self.offset(2 * MINUTE))
        self.daemon.wait(lambda: len(self.ran()) == 2, "the next minute's run")

    def test_an_hour_forward_is_no_storm_and_an_hour_back_runs_nothing_again(self):
        self.daemon.set_clock(self.offset(HOUR))
        self.daemon.wait(lambda: len(self.ran()) == 1, "the last of the missed minutes")
        self.assertEqual(self.skipped(), 59)
        self.daemon.set_clock(self.offset(0))
        self.settle()
        self.assertEqual(len(self.ran()), 1)
        self.assertEqual(self.skipped(), 59)
        self.daemon.set_clock(self.offset(HOUR + MINUTE))
        self.daemon.wait(lambda: len(self.ran()) == 2, "the minute after")
        self.assertEqual(self.skipped(), 59)

    def test_four_hours_forward_and_back_is_followed_and_said(self):
        self.daemon.set_clock(self.offset(4 * HOUR))
        self.daemon.wait(lambda: len(self.ran()) == 1, "the last of the missed minutes")
        self.assertEqual(self.skipped(), 239)
        self.daemon.set_clock(self.offset(0))
        self.daemon.wait(lambda: "clock" in self.daemon.said(), "a word about the clock")
        self.settle()
        before = len(self.ran())
        self.daemon.set_clock(self.offset(MINUTE))
        self.daemon.wait(lambda: len(self.ran()) == before + 1, "a run at the time that it now is")
        self.daemon.set_clock(self.offset(2 * MINUTE))
        self.daemon.wait(lambda: len(self.ran()) == before + 2, "and the next")

    def test_a_step_while_the_daemon_is_down_is_caught_up_with(self):
        self.daemon.process.kill()
        self.daemon.process.wait()
        self.daemon.set_clock(self.offset(HOUR))
        self.daemon.start()
        self.daemon.wait(lambda: len(self.ran()) == 1, "the last of the missed minutes")
        self.assertEqual(self.skipped(), 59)


class Changes(unittest.TestCase):
    """Nights with a change of daylight saving, at 900 times the speed; all at once, since they take a while."""

    JOBS = {"fixed": "30 2 * * *", "elastic": "*/15 * * * *", "hours": "15 1-3 * * *", "late": "5 4 * * *"}
    # The zone, when the daemon is started, when the clocks change, until when it is watched. On a busy machine it
    # takes seconds until the daemon is up, and a second is a quarter of an hour here.
    NIGHTS = {"spring": ("Europe/Paris", "2026-03-28 22:40:00", "2026-03-29 01:00:00", "2026-03-29 02:40:00"),
              "autumn": ("Europe/Paris", "2026-10-24 22:40:00", "2026-10-25 01:00:00", "2026-10-25 03:20:00"),
              "half": ("Australia/Lord_Howe", "2026-04-04 12:40:00", "2026-04-04 15:00:00", "2026-04-04 17:50:00")}

    @classmethod
    def setUpClass(cls):
        cls.daemons = {}
        for night, (zone, begin, _, _) in cls.NIGHTS.items():
            jobs = {name: f'schedule = "{text}"\nzone = "{zone}"\ncatchup = "all"\noverlap = "allow"\n'
                    for name, text in cls.JOBS.items()}
            cls.daemons[night] = Daemon(jobs, f"@{begin} x900")
            cls.addClassCleanup(cls.daemons[night].clean)

    def check(self, night):
        zone, begin, change, end = self.NIGHTS[night]
        daemon, last = self.daemons[night], utc(end)
        daemon.wait(lambda: any(r[0] > last for r in daemon.rows("elastic")), "the end of the night", 90)
        known = daemon.known()
        for name, text in self.JOBS.items():
            self.assertLess(known[name], utc(change), "the daemon was up before the clocks changed")
            said = subprocess.run([ROTA, "cron", "next", text, "--tz", zone, "--from", begin.replace(" ", "T") + "Z",
                                   "--count", "60", "--json"], check=True, capture_output=True, text=True).stdout
            instants = [utc(x.rstrip("Z")) for x in json.loads(said)]
            expected = [t for t in instants if known[name] < t <= last]
            got = sorted(r[0] for r in daemon.rows(name) if r[0] <= last)
            self.assertEqual(got, expected, f"{name} in {zone}, known since {known[name]}\n{daemon.said()[-3000:]}")
            self.assertTrue(got, name)

    def test_spring_in_paris(self):
        self.check("spring")

    def test_autumn_in_paris(self):
        self.check("autumn")

    def test_autumn_by_half_an_hour(self):
        self.check("half")


if __name__ == "__main__":
    ROTA, LIBFAKETIME = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
