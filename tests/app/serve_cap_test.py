#!/usr/bin/env python3
"""Fifty jobs of random lengths under a cap of two, one of them long (rules C1 and C2).

  serve_cap_test.py ROTA [--seed S]

Never three at once, in the world and in the ledger; whoever waits is launched in the order of (scheduled instant, id);
the long job holds one slot and starves nobody.
"""

import argparse
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

JOBS = 50
CAP = 2
LONG = 7  # the number of the job that takes three seconds
SECONDS = 7  # how long it is watched, at least
PATIENCE = 90  # and at most: a busy machine may take longer until each job has had its turns


def fail(text):
    print(f"serve_cap_test: {text}", file=sys.stderr)
    sys.exit(1)


def most_at_once(spans):
    moments = sorted([(begin, 1) for begin, _ in spans] + [(end, -1) for _, end in spans])
    active = most = 0
    for _, change in moments:
        active += change
        most = max(most, active)
    return most


def write_jobs(folder, world, chance):
    folder.mkdir(mode=0o700)
    for i in range(JOBS):
        length = "3" if i == LONG else f"{chance.uniform(0, 0.04):.3f}"
        line = f"echo $1 $EPOCHREALTIME $ROTA_RUN >>{world}"
        text = f"say() {{ {line}; }}; say start; sleep {length}; say end"
        path = folder / f"job{i:02}.toml"
        path.write_text(f'schedule = "@every 2s"\noverlap = "skip"\ndirectory = "{world.parent}"\n'
                        f'run = ["/bin/bash", "-c", "{text}"]\n')
        path.chmod(0o600)


def rows_of(ledger):
    database = sqlite3.connect(f"file:{ledger}?mode=ro", uri=True, timeout=20)
    database.row_factory = sqlite3.Row
    try:
        return database.execute("SELECT * FROM run").fetchall()
    finally:
        database.close()


def turns(rows):
    """How often each job but the long one was launched."""
    count = {f"job{i:02}": 0 for i in range(JOBS) if i != LONG}
    for row in rows:
        if row["launched"] and row["job"] in count:
            count[row["job"]] += 1
    return count


def check(rows, world):
    times = {}
    for line in world.read_text().splitlines():
        what, when, run = line.split()
        times.setdefault(int(run), {})[what] = float(when)
    in_world = most_at_once([(t["start"], t["end"]) for t in times.values() if "end" in t])
    if in_world > CAP:
        fail(f"C1: {in_world} programs ran at once")

    ran = [r for r in rows if r["launched"]]
    in_ledger = most_at_once([(r["launched"], r["finished"] or 1 << 60) for r in ran])
    if in_ledger > CAP:
        fail(f"C1: the ledger has {in_ledger} runs at once")
    if in_ledger < CAP:
        fail("the cap was never reached, so nothing was tried")
    waited = 0
    for early in ran:
        for late in ran:
            key = (early["scheduled"], early["id"])
            if key > (late["scheduled"], late["id"]) and late["recorded"] < early["launched"] < late["launched"]:
                fail(f"C2: run {early['id']} was launched before {late['id']}, which waited")
        waited += early["launched"] > early["recorded"] + 5
    if waited < JOBS / 2:
        fail(f"only {waited} runs had to wait")
    long = [r for r in ran if r["job"] == f"job{LONG:02}"]
    if not long:
        fail("the long job did not run")
    for job, runs in turns(rows).items():
        if runs < 2:
            fail(f"{job} ran {runs} times beside the long one")
    return in_world, waited, len(ran)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rota")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    print(f"--seed {options.seed}", flush=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rota_cap_"))
    world = folder / "world"
    world.touch()
    write_jobs(folder / "jobs", world, random.Random(options.seed))
    daemon = subprocess.Popen(
        [options.rota, "serve", "--jobs", folder / "jobs", "--state", folder / "state", "--listen", "none",
         "--max-active", str(CAP)], stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    try:
        end = time.monotonic() + PATIENCE
        time.sleep(SECONDS)
        while True:
            if daemon.poll() is not None:
                fail(f"the daemon has ended with {daemon.returncode}")
            rows = rows_of(folder / "state" / "ledger.db")
            if all(n >= 2 for n in turns(rows).values()) or time.monotonic() > end:
                break
            time.sleep(0.5)
        most, waited, ran = check(rows, world)
        print(f"{ran} runs, {waited} of them waited, at most {most} at once")
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait(20)
        time.sleep(0.1)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
