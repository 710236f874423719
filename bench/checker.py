#!/usr/bin/env python3
"""How fast are states found? The same spec, checked by rota, by spin and by tla-checker.

  bench/checker.py [--rounds N]     after ./run build; needs tools/setup specs

Every contestant checks the states it should find: a wrong number ends the benchmark. The rounds are
interleaved, and the best of each counts. spin is compiled for the size that it checks, with -O3 and
without its partial-order reduction, which would look at fewer states; compiling is not counted.
"""

import argparse
import json
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROTA = ROOT / "build" / "release" / "bin" / "rota"
sys.path.insert(0, str(ROOT / "specs"))
from spin_check import run  # noqa: E402

SIZES = ("Subscribers", "Servers", "Clients", "Workers")


def rota(model, settings, *more):
    """A contestant: a function that gives the seconds it took and the states it found."""
    def contest():
        sets = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
        result = json.loads(run(ROTA, "check", model, *sets, *more, "--json"))
        return result["seconds"], result["distinct_states"]
    return contest


def spin(folder, tasks, workers, liveness=None):
    """The same, compiled first. Liveness is asked for one task at a time, for each of them."""
    options = [f"-DTASKS={tasks}", f"-DWORKERS={workers}"]
    claims = [None] if liveness is None else range(tasks)
    for claim in claims:
        target = f"pan_{tasks}_{workers}_{claim}"
        more = [] if claim is None else [f"-DLIVENESS={claim}"]
        run("spin", "-a", "-o3", *options, *more, ROOT / "specs/scheduler/scheduler.pml",
            folder=folder)
        how = ["-DSAFETY"] if claim is None else []
        run("gcc", "-O3", "-w", "-DNOREDUCE", "-DMEMLIM=8000", "-DNFAIR=3", *how, "-o", target, "pan.c",
            folder=folder)

    def contest():
        seconds, states = 0.0, 0
        for claim in claims:
            options = ["-m1000000", "-w24"] + ([] if claim is None else ["-a", "-f"])
            out = run(f"./pan_{tasks}_{workers}_{claim}", *options, folder=folder)
            seconds += float(re.search(r"elapsed time ([\d.]+)", out)[1])
            states = int(re.search(r"(\d+) states, stored", out)[1])
        return seconds, states
    return contest


def tla_checker(settings):
    def contest():
        out = run("node", ROOT / "specs/check.mjs", "scheduler", *settings)
        found = re.search(r"(\d+) states, ([\d.]+) s", out)
        return float(found[2]), int(found[1])
    return contest


def duel(title, states, contestants, rounds):
    best = {}
    for _ in range(rounds):
        for name, contest in contestants.items():
            if name == "tla-checker" and name in best:
                continue  # slow, and far behind
            seconds, found = contest()
            expected = states.get(name, states["all"]) if isinstance(states, dict) else states
            if expected is not None and found != expected:
                sys.exit(f"{title}: {name} found {found} states, expected {expected}")
            best[name] = min(best.get(name, (seconds, found)), (seconds, found))
    print(f"\n{title}\n\n| | seconds | states a second | rota, 1 worker, is so many times as fast |"
          "\n| --- | --- | --- | --- |")
    one = best["rota, 1 worker"][0]
    for name, (seconds, found) in best.items():
        print(f"| {name} | {seconds:.2f} | {found / max(seconds, 1e-3):,.0f} | {seconds / one:.2f} |",
              flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds

    safety = ("--property", "deadlock_free")
    with tempfile.TemporaryDirectory() as folder:
        large = dict(zip(SIZES, (3, 2, 2, 2)))
        duel("scheduler 3/2/2/2, deadlock freedom: 2,417,872 states", 2417872, {
            "rota, 1 worker": rota("scheduler", large, *safety, "--workers", "1"),
            "rota, 2 workers": rota("scheduler", large, *safety, "--workers", "2"),
            "spin": spin(folder, 7, 2)}, rounds)

        small = dict(zip(SIZES, (2, 1, 1, 2)))
        duel("scheduler 2/1/1/2, all properties: 4,352 states", None, {
            "rota, 1 worker": rota("scheduler", small, "--workers", "1"),
            "tla-checker": tla_checker(["Subscribers=2", "Workers={w1,w2}", "Variant=\"as_written\"", "UsedUp=FALSE"])}, rounds)

        middle = dict(zip(SIZES, (2, 2, 1, 2)))
        live = ("--property", "starvation_free")
        duel("scheduler 2/2/1/2, starvation_free: 32,232 states (TLC: 150 s)", None, {
            "rota, 1 worker": rota("scheduler", middle, *live, "--workers", "1"),
            "rota, 2 workers": rota("scheduler", middle, *live, "--workers", "2"),
            "spin, a task at a time": spin(folder, 5, 2, liveness=True)}, rounds)

    seed = {"Cowns": 4, "BehaviourLimit": 4, "OverloadThreshold": 2}
    invariants = [p["name"] for p in json.loads(
        run(ROTA, "check", "backpressure", "--set", "Cowns=1", "--set", "BehaviourLimit=1",
            "--json"))["properties"]
        if p["kind"] in ("invariant", "deadlock_free") and not p["known_to_fail"]]
    asked = [part for name in invariants for part in ("--property", name)]
    duel(f"backpressure 4/4/2, {len(invariants)} invariants: 11,589,006 states", 11589006, {
        "rota, 1 worker": rota("backpressure", seed, *asked, "--workers", "1"),
        "rota, 2 workers": rota("backpressure", seed, *asked, "--workers", "2")}, rounds)


if __name__ == "__main__":
    main()
