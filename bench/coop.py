#!/usr/bin/env python3
"""What does a step of the cooperative scheduler cost, and does it matter how many tasks are blocked?

  bench/coop.py [--rounds N]     after ./run build

A turn is one resumption of a task that is not blocked. The rules rotate over every blocked task
between two turns, and count that; `rota coop run` counts it too, but passes them in one go. So with
more blocked tasks there are more steps in a second, and a turn should cost the same. Starting the
program, reading the text and making the tasks is part of the time. The best round counts.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROTA = ROOT / "build" / "release" / "bin" / "rota"


def running(tasks, steps):
    """Tasks that give way for ever, none of them blocked; cut off after so many steps."""
    text = f"""turn(x) {{ while true {{ suspend; x := x + 1 }} }}
               {{ n := {tasks}; while n > 0 {{ spawn(turn, n); n := n - 1 }} }}"""
    return text, steps, steps // 4  # a turn: resume, count, test, give way


def blocked(tasks, turns):
    """One task takes turns; the others await one that never ends."""
    text = f"""never(x) {{ :: false; skip }}
               stuck(x) {{ await t }}
               turn(x) {{ while x > 0 {{ suspend; x := x - 1 }} }}
               {{ spawn(never, 0, t); n := {tasks};
                 while n > 0 {{ spawn(stuck, 0); n := n - 1 }};
                 spawn(turn, {turns}) }}"""
    return text, 2**63, turns


def woken(tasks, turns):
    """The same, with a task that spawns another and awaits it in each turn."""
    text = f"""never(x) {{ :: false; skip }}
               stuck(x) {{ await t }}
               child(x) {{ suspend }}
               turn(x) {{ while x > 0 {{ spawn(child, 0, c); await c; x := x - 1 }} }}
               {{ spawn(never, 0, t); n := {tasks};
                 while n > 0 {{ spawn(stuck, 0); n := n - 1 }};
                 spawn(turn, {turns}) }}"""
    return text, 2**63, turns


def spread(tasks, turns):
    """Ten tasks take turns and spawn others, with the blocked ones between them."""
    text = f"""never(x) {{ :: false; skip }}
               stuck(x) {{ await t }}
               child(x) {{ suspend }}
               turn(x) {{ while x > 0 {{ spawn(child, 0); suspend; x := x - 1 }} }}
               {{ spawn(never, 0, t); k := 10;
                 while k > 0 {{
                   n := {tasks // 10};
                   while n > 0 {{ spawn(stuck, 0); n := n - 1 }};
                   spawn(turn, {turns // 10});
                   k := k - 1 }} }}"""
    return text, 2**63, turns


def measure(text, limit):
    start = time.perf_counter()
    done = subprocess.run([ROTA, "coop", "run", "-", "--limit", str(limit), "--json"], input=text,
                          capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode not in (4, 5):  # the blocked ones stay, or the limit is reached
        sys.exit(f"coop.py: ended with {done.returncode}: {done.stderr}")
    return seconds, json.loads(done.stdout)["n"]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    if not ROTA.exists():
        sys.exit(f"coop.py: {ROTA.relative_to(ROOT)} is not there; ./run build makes it")
    print("| scenario | tasks | steps | seconds | million steps/s | ns a turn |")
    print("| --- | --- | --- | --- | --- | --- |")
    for scenario, size in [(running, 1_000_000), (blocked, 1_000_000), (woken, 300_000),
                           (spread, 300_000)]:
        for tasks in (10, 100, 1_000, 10_000, 100_000):
            text, limit, turns = scenario(tasks, size)
            seconds, steps = min(measure(text, limit) for _ in range(rounds))
            print(f"| {scenario.__name__} | {tasks:,} | {steps:,} | {seconds:.3f} "
                  f"| {steps / seconds / 1e6:,.1f} | {seconds / turns * 1e9:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
