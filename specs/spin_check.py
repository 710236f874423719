#!/usr/bin/env python3
"""Compares `rota check scheduler` with spin on scheduler.pml: states, steps, and the verdict of
starvation_free with fairness and without.

  spin_check.py PROGRAM     PROGRAM is rota
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

SPEC = pathlib.Path(__file__).resolve().parent / "scheduler" / "scheduler.pml"

# Subscribers, servers, clients, workers.
SIZES = [(1, 1, 1, 1), (1, 1, 1, 2), (2, 1, 1, 2), (2, 2, 1, 1), (1, 0, 0, 3), (2, 2, 1, 2)]


def run(*command, folder=None, status=(0,)):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in status:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n"
                 f"{done.stdout}{done.stderr}")
    return done.stdout


def spin(folder, tasks, workers, liveness=None):
    """Builds the verifier of spin in the folder."""
    options = [f"-DTASKS={tasks}", f"-DWORKERS={workers}"]
    how = ["-DSAFETY"]
    if liveness is not None:
        options.append(f"-DLIVENESS={liveness}")
        how = []
    run("spin", "-a", "-o3", *options, SPEC, folder=folder)
    run("gcc", "-O2", "-w", "-DNOREDUCE", *how, "-o", "pan", "pan.c", folder=folder)


def number(pattern, text):
    return int(re.search(pattern, text)[1])


def rota(program, sizes, *more, status=(0,)):
    names = ("Subscribers", "Servers", "Clients", "Workers")
    settings = [part for name, value in zip(names, sizes) for part in ("--set", f"{name}={value}")]
    return json.loads(run(program, "check", "scheduler", *settings, *more, "--json", status=status))


def main(program):
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for sizes in SIZES:
            spin(folder, sum(sizes[:3]), sizes[3])
            out = run("./pan", "-m100000", folder=folder)
            theirs = (number(r"(\d+) states, stored", out), number(r"(\d+) transitions", out))
            result = rota(program, sizes)
            ours = (result["distinct_states"], result["states_generated"])
            wrong += ours != theirs
            print("ok   " if ours == theirs else "WRONG", sizes, "rota", ours, "spin", theirs)

        spin(folder, 3, 1, liveness=2)
        for fair in (True, False):
            out = run("./pan", "-a", *(["-f"] if fair else []), folder=folder)
            theirs = number(r"errors: (\d+)", out) == 0
            how = [] if fair else [part for group in ("scheduler", "worker", "trigger")
                                   for part in ("--fairness", f"{group}=none")]
            result = rota(program, (1, 1, 1, 1), "--property", "starvation_free", *how,
                          status=(0, 1))
            ours = result["properties"][0]["verdict"] == "holds"
            wrong += ours != theirs or ours != fair
            print("ok   " if ours == theirs == fair else "WRONG",
                  "starvation_free", "with fairness" if fair else "without", "rota", ours,
                  "spin", theirs)
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
