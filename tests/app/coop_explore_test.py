#!/usr/bin/env python3
"""`rota coop explore` as its users meet it, and the picks with which `rota coop run` and `view` show
again what it found.

  coop_explore_test.py ROTA    the program to test
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAMS = ROOT / "tests" / "coop" / "programs"
ROTA = ""

TWO = "m(x) { a := a * 2 + x } { spawn(m, 0); spawn(m, 1) }"


def coop(*words, text=None):
    return subprocess.run([ROTA, "coop", *map(str, words)], input=text, capture_output=True,
                          text=True, timeout=60, check=False)


def explore(source, *words):
    """Explores a program from standard input."""
    return coop("explore", "-", *words, text=source)


class Explore(unittest.TestCase):
    def test_exit_status_says_what_can_happen(self):
        for status, source in [(0, "{ skip }"), (0, "{ while true { skip } }"), (2, "{ skip "),
                               (3, "{ x := 1 / 0 }"), (4, "{ :: false; skip }"),
                               (5, "{ while true { x := x + 1 } }"),
                               (3, "m(x) { y := 1 / x } { spawn(m, 0); :: false; skip }"),
                               (3, "m(x) { a := 1 } n(x) { if a == 1 { y := 1 / 0 }; :: false; skip }"
                                   "{ spawn(m, 0); spawn(n, 0) }")]:
            self.assertEqual(explore(source, "--max-states", 1000).returncode, status, source)
        # What is not known comes first.
        self.assertEqual(explore("{ x := 1; y := 1 / 0 }", "--max-states", 1).returncode, 5)

    def test_wrong_usage_is_1(self):
        for words in [[], ["/does/not/exist"], ["-", "--semantics", "lagc-sched"],
                      ["-", "--semantics", "best"], ["-", "--max-states", "0"], ["-", "--seed", "1"],
                      ["-", "--dot", "-", "--json"], ["-", "--dot", "/does/not/exist"],
                      ["-", "--all-states"]]:
            done = coop("explore", *words, text="{ skip }")
            self.assertEqual(done.returncode, 1, words)
            self.assertTrue(done.stderr, words)
            self.assertEqual(done.stdout, "", words)
        self.assertEqual(explore("language spawn; { skip }", "--semantics", "sos").returncode, 1)

    def test_outcomes_have_what_differs_and_a_witness(self):
        self.assertEqual(explore(TWO).stdout, """\
15 states, 14 steps; in 1 state there is a choice
2 outcomes, no endless run
in all outcomes:
  x#1 = 0, x#2 = 1

done:
  a = 1
  witness: 8 steps, --picks 0
    task 1 starts m(0)

done:
  a = 2
  witness: 8 steps, --picks 1
    task 2 starts m(1)
""")

    def test_a_deadlock_tells_the_cycle(self):
        done = coop("explore", PROGRAMS / "06_deadlock.cw")
        self.assertEqual(done.returncode, 4)
        self.assertIn("  task 1 at 3:11 awaits task 2\n  task 2 at 4:12 awaits task 1\n"
                      "  cycle: task 1 awaits task 2 awaits task 1\n", done.stdout)

    def test_the_limit_is_told(self):
        done = explore("{ while true { x := x + 1 } }", "--max-states", 50)
        self.assertIn("50 states", done.stdout)
        self.assertIn("stopped at the limit (--max-states 50): there is more than what follows",
                      done.stdout)
        self.assertFalse(json.loads(explore("{ while true { x := x + 1 } }", "--max-states", 50,
                                            "--json").stdout)["complete"])
        done = explore("m(x) { skip } { while true { spawn(m, 0) } }", "--max-memory", "100000")
        self.assertIn("(--max-memory 100000)", done.stdout)

    def test_many_outcomes_and_choices_are_cut_for_people(self):
        spawns = "; ".join(f"spawn(m, {i})" for i in range(1, 5))
        done = explore(f"m(x) {{ a := a * 10 + x }} {{ {spawns} }}")
        self.assertEqual(done.stdout.count("done:"), 20)
        self.assertIn("24 outcomes", done.stdout)
        self.assertIn("and 4 more (--json has all)", done.stdout)
        self.assertLess(max(map(len, done.stdout.splitlines())), 101)

    def test_a_long_witness_tells_its_limit(self):
        source = "m(x) { skip } { i := 0; while i < 600 { i := i + 1 }; spawn(m, 0); spawn(m, 1) }"
        words = re.search(r"--picks 0 --limit \d+", explore(source).stdout)[0].split()
        self.assertEqual(coop("run", "-", "--semantics", "lagc", *words, text=source).returncode, 0)

    def test_every_witness_is_replayed(self):
        ends = set()
        for program in sorted(PROGRAMS.glob("*.cw")):
            for how in ["lagc", "sos"]:
                done = coop("explore", program, "--semantics", how, "--json")
                if done.returncode == 1:
                    continue
                found = json.loads(done.stdout)
                for outcome in found["outcomes"]:
                    with self.subTest(program=program.name, how=how):
                        self.replays(program, how, outcome)
                    ends.add(outcome["end"])
                for run in found["endless"]:
                    picks = run["prefix"]["picks"] + run["cycle"]["picks"]
                    steps = run["prefix"]["n"] + run["cycle"]["n"]
                    again = coop("run", program, "--semantics", how, "--limit", steps, "--picks",
                                 ",".join(map(str, picks)))
                    self.assertEqual(again.returncode, 5, again.stderr)
                    ends.add(run["kind"])
        self.assertEqual(ends, {"done", "deadlock", "error", "fair", "unfair"})

    def replays(self, program, how, outcome):
        witness = outcome["witness"]
        again = coop("run", program, "--semantics", how, "--json",
                     "--picks", ",".join(map(str, witness["picks"])))
        result = json.loads(again.stdout)
        self.assertEqual(result["picks"], witness["picks"])
        for key, value in outcome.items():
            if key not in ["witness", "cycles"]:
                self.assertEqual(result[key], value)
        self.assertEqual([c["pick"][0] for c in witness["choices"]], witness["picks"])

    def test_json_has_all(self):
        found = json.loads(coop("explore", PROGRAMS / "06_deadlock.cw", "--json").stdout)
        self.assertEqual({k: found[k] for k in ["language", "semantics", "complete", "states", "steps",
                                                "choices", "endless"]},
                         {"language": "coopwhile", "semantics": "lagc", "complete": True,
                          "states": 47, "steps": 59, "choices": 10, "endless": []})
        [end] = found["outcomes"]
        self.assertEqual(end["cycles"], [[1, 2]])
        self.assertEqual(end["witness"]["choices"][0],
                         {"n": 4, "pick": [0, 3], "what": "task 1 starts left(0)"})
        found = json.loads(coop("explore", PROGRAMS / "02_quiescent.cw", "--json").stdout)
        self.assertEqual([run["kind"] for run in found["endless"]], ["unfair", "fair"])
        self.assertEqual(found["endless"][0]["passed_over"], [{"f": 0, "at": "9:3"}])

    def test_help_is_enough(self):
        text = coop("explore", "--help").stdout
        for word in ["FILE", "--semantics", "--max-states", "--max-memory", "--dot", "--all-states",
                     "--json", "Exit status", "--picks", "deadlock", "endless"]:
            self.assertIn(word, text)


class Drawing(unittest.TestCase):
    def drawn(self, program, *words):
        """The states and edges of a drawing, each of which has both its ends."""
        text = coop("explore", program, "--dot", "-", *words).stdout
        self.assertTrue(text.startswith("digraph states {\n") and text.endswith("}\n"))
        self.assertEqual(text.replace('\\"', "").count('"') % 2, 0)
        states = re.findall(r'^  "?(\w+)"? \[label="(.*?)"(.*)\]$', text, re.M)
        edges = re.findall(r'^  (\d+) -> "(\w+)" \[label="(.*)"\]$', text, re.M)
        names = {name for name, _, _ in states}
        self.assertEqual(len(names), len(states))
        self.assertLessEqual({end for edge in edges for end in edge[:2]}, names)
        self.assertEqual(names - {"0"}, {to for _, to, _ in edges} - {"0"})
        return states, edges

    def test_each_program_is_drawn(self):
        for program in sorted(PROGRAMS.glob("*.cw")):
            if program.stem.startswith("14_"):
                self.assertEqual(coop("explore", program, "--dot", "-").returncode, 1)
                continue
            with self.subTest(program=program.name):
                some, _ = self.drawn(program)
                every, edges = self.drawn(program, "--all-states")
                self.assertLessEqual(len(some), len(every))
                found = json.loads(coop("explore", program, "--json").stdout)
                self.assertEqual(len([name for name, *_ in every if "_" not in name]),
                                 found["states"])
                self.assertEqual(len([e for e in edges if "_" not in e[1]]), found["steps"])

    def test_an_end_is_coloured_by_its_kind(self):
        for name, colour, count in [("04_place_in_queue", "palegreen", 3),
                                    ("06_deadlock", "orange", 1), ("12_division", "tomato", 1)]:
            states, _ = self.drawn(PROGRAMS / f"{name}.cw")
            self.assertEqual(len([s for s in states if colour in s[2]]), count, name)

    def test_a_file_is_written_beside_the_summary(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "states.dot"
            done = explore(TWO, "--dot", file)
            self.assertIn("2 outcomes", done.stdout)
            self.assertEqual(file.read_text(), explore(TWO, "--dot", "-").stdout)


class Picks(unittest.TestCase):
    def test_wrong_picks_say_what_there_is(self):
        for picks, message in [("0,1,x", "'x' is no pick"),
                               ("99999999999", "is no pick"), ("0,,1", "'' is no pick"),
                               ("", "pick number 1 is missing: step 3 is one of "
                                    "0: task 1 starts m(0); 1: task 2 starts m(1)"),
                               ("2", "pick number 1 is 2, but step 3 is one of 0: task 1"),
                               ("1,0", "pick number 2 is one too many: the run ends (done) after 8")]:
            done = coop("run", "-", "--semantics", "lagc", "--picks", picks, text=TWO)
            self.assertEqual(done.returncode, 1, picks)
            self.assertIn(message, done.stderr)
        done = coop("run", "-", "--picks", "0", text=TWO)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--picks is for --semantics lagc and sos", done.stderr)

    def test_a_trace_has_them_instead_of_a_seed(self):
        trace = coop("run", "-", "--semantics", "lagc", "--picks", "1", "--trace", "-", text=TWO)
        lines = [json.loads(line) for line in trace.stdout.splitlines()]
        self.assertEqual(lines[0]["picks"], [1])
        self.assertNotIn("seed", lines[0])
        self.assertEqual([line["pick"] for line in lines if "pick" in line], [[1, 2]])
        self.assertEqual(lines[-1]["state"]["a"], 2)

    def test_a_page_shows_them(self):
        page = coop("view", "-", "--semantics", "sos", "--picks", "1", "-o", "-", text=TWO)
        self.assertEqual((page.returncode, page.stderr), (0, ""))
        self.assertIn('"state":{}', page.stdout)
        self.assertNotIn('"seed":', page.stdout)


if __name__ == "__main__":
    ROTA = sys.argv.pop(1)
    unittest.main()
