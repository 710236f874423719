#!/usr/bin/env python3
"""`rota coop` as its users meet it: what goes where, and the exit status.

  coop_test.py ROTA    the program to test
"""

import html.parser
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAMS = pathlib.Path(__file__).resolve().parent.parent / "coop" / "programs"
ROTA = ""


def coop(*words, text=None):
    return subprocess.run([ROTA, "coop", *map(str, words)], input=text, capture_output=True,
                          text=True, timeout=60, check=False)


def run(source, *words):
    """Runs a program from standard input."""
    return coop("run", "-", *words, text=source)


class Run(unittest.TestCase):
    def test_exit_status_says_how_it_ended(self):
        for status, source in [(0, "{ skip }"), (2, "{ skip "), (3, "{ x := 1 / 0 }"),
                               (4, "{ :: false; skip }"), (5, "{ while true { skip } }")]:
            self.assertEqual(run(source).returncode, status, source)

    def test_wrong_usage_is_1(self):
        for words in [["run"], ["run", "/does/not/exist"], ["run", "/"], ["run", "-", "--limit", "-1"],
                      ["run", "-", "--seed", "x"], ["run", "-", "--semantics", "best"],
                      ["run", "-", "--frequency"], [], ["walk"],
                      ["run", "-", "--trace", "-", "--log", "-"], ["run", "-", "--trace", "-", "--json"],
                      ["run", "-", "--trace", "/does/not/exist"]]:
            done = coop(*words, text="{ skip }")
            self.assertEqual(done.returncode, 1, words)
            self.assertTrue(done.stderr, words)
            self.assertEqual(done.stdout, "", words)

    def test_sos_is_for_coopwhile_only(self):
        for how in ["sos", "sos-sched"]:
            self.assertEqual(run("language guard; { skip }", "--semantics", how).returncode, 1)
            self.assertEqual(run("{ skip }", "--semantics", how).returncode, 0)
        # What is wrong with the text comes first.
        self.assertEqual(run("language guard; { }", "--semantics", "sos").returncode, 2)

    def test_errors_name_file_line_column_and_kind(self):
        done = run("{\n  x := y }")
        self.assertRegex(done.stderr, r"^-:2:8: error: .+ \[unbound-variable\]\n$")
        self.assertEqual(done.stdout, "")
        file = PROGRAMS / "12_division.cw"
        done = coop("run", file)
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, r"12_division\.cw:3:14: error: .+ \(task 2\) "
                                      r"\[division-by-zero\]\n$")

    def test_the_trace_alone_is_on_standard_output(self):
        for name, how in [("06_deadlock.trace", "lagc-sched"), ("06_deadlock.sos.trace", "sos-sched")]:
            done = coop("run", PROGRAMS / "06_deadlock.cw", "--semantics", how, "--trace", "-")
            self.assertEqual(done.stdout, (PROGRAMS / f"{name}.jsonl").read_text())
            self.assertEqual(done.returncode, 4)

    def test_the_log_is_the_same_with_and_without_a_trace(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder) / "trace"
            log = pathlib.Path(folder) / "log"
            program = PROGRAMS / "04_place_in_queue.cw"
            shown = coop("run", program, "--trace", trace, "--log", log)
            alone = coop("run", program, "--log", "-")
            self.assertEqual(log.read_text(), alone.stdout)
            self.assertEqual(trace.read_text(), (PROGRAMS / "04_place_in_queue.trace.jsonl").read_text())
            self.assertIn("log = 231", shown.stdout)
            self.assertEqual([json.loads(line) for line in alone.stdout.splitlines()][-4:], [
                {"ev": "compEv", "f": 2}, {"ev": "resume", "f": 3}, {"ev": "compEv", "f": 3},
                {"ev": "compREv", "f": 3, "by": 0}])

    def test_json_has_the_end_of_the_trace(self):
        for status, source in [(0, "{ x := 9223372036854775807; b := true }"),
                               (3, "{ x := 1 / 0 }"), (4, "{ :: false; skip }"),
                               (5, "{ while true { skip } }")]:
            done = run(source, "--json")
            result = json.loads(done.stdout)
            end = json.loads(run(source, "--trace", "-").stdout.splitlines()[-1])
            self.assertEqual(done.returncode, status)
            self.assertEqual({**result, **end}, result)
            self.assertEqual(result["semantics"], "lagc-sched")
        errors = json.loads(run("{ x := y; z := w }", "--json").stdout)["errors"]
        self.assertEqual([(e["line"], e["column"], e["kind"]) for e in errors],
                         [(1, 8, "unbound-variable"), (1, 16, "unbound-variable")])

    def test_a_seed_repeats_a_run(self):
        source = "m(x) { a := a * 10 + x } { spawn(m, 1); spawn(m, 2); spawn(m, 3); a := 0 }"
        ends = set()
        for seed in range(20):
            words = ["--semantics", "lagc", "--seed", seed]
            once = run(source, *words)
            self.assertEqual(once.returncode, 0)
            self.assertEqual(once.stdout, run(source, *words).stdout)
            ends.add(once.stdout)
        self.assertGreater(len(ends), 3)

    def test_help_tells_the_languages_and_the_exit_status(self):
        text = coop("run", "--help").stdout
        for word in ["FILE", "--semantics", "--seed", "--limit", "--trace", "--log", "--json",
                     "suspend", "await", "Exit status", "sos-sched"]:
            self.assertIn(word, text)

    def test_bytes_that_are_no_text_give_a_message(self):
        done = subprocess.run([ROTA, "coop", "run", "-"], input=bytes(range(256)) * 50,
                              capture_output=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"-:1:1: error: ", done.stderr)
        self.assertLess(len(done.stderr), 10_000)


class Runner(unittest.TestCase):
    """`rota coop run --runner`: on the tasks of Rota."""

    def test_the_log_in_strict_order_is_the_schedulers(self):
        for program in sorted(PROGRAMS.glob("*.cw")):
            if program.name[:2] in ["01", "09", "10", "14"]:
                self.assertEqual(coop("run", program, "--runner", "strict").returncode, 1)
                continue
            wanted = coop("run", program, "--log", "-")
            found = coop("run", program, "--runner", "strict", "--awaits", "guard", "--log", "-")
            self.assertEqual(found.returncode, wanted.returncode, program)
            # Endless runs are cut at different steps, since tasks do not rotate.
            if wanted.returncode == 5:
                self.assertTrue(found.stdout.startswith(wanted.stdout), program)
            else:
                self.assertEqual(found.stdout, wanted.stdout, program)
                self.assertEqual(found.stderr, wanted.stderr, program)

    def test_it_says_what_the_log_is_worth(self):
        place, overwritten = PROGRAMS / "04_place_in_queue.cw", PROGRAMS / "13_overwritten_await.cw"
        for program, words, worth in [
                (place, ["strict"], "exact"), (place, ["fair"], "admissible"),
                (place, ["fair", "--workers", "3"], "admissible"),
                (overwritten, ["strict"], "overwritten"),
                (overwritten, ["strict", "--awaits", "guard"], "exact")]:
            done = coop("run", program, "--json", "--runner", *words)
            self.assertEqual(json.loads(done.stdout)["log"], worth, words)
            self.assertEqual(done.returncode, 0)
        self.assertIn("the log is exact", coop("run", place, "--runner", "strict").stdout)

    def test_exit_status_says_how_it_ended(self):
        for status, source in [(0, "{ skip }"), (2, "{ skip "), (3, "{ x := 1 / 0 }"),
                               (4, "{ :: false; skip }"), (5, "{ while true { skip } }")]:
            for order in ["strict", "fair"]:
                self.assertEqual(run(source, "--runner", order).returncode, status, source)

    def test_wrong_usage_is_1(self):
        for words in [["--runner", "quick"], ["--runner", "strict", "--workers", "2"],
                      ["--runner", "fair", "--workers", "0"], ["--workers", "2"],
                      ["--runner", "strict", "--awaits", "luck"], ["--runner", "strict", "--trace", "-"],
                      ["--runner", "strict", "--semantics", "lagc"]]:
            done = run("{ skip }", *words)
            self.assertEqual((done.returncode, done.stdout), (1, ""), words)
            self.assertTrue(done.stderr, words)


class Check(unittest.TestCase):
    def test_exit_status_is_that_of_the_run_or_6(self):
        for status, source in [(0, "{ skip }"), (0, "{ while true { suspend } }"), (2, "{ skip "),
                               (3, "{ x := 1 / 0 }"), (4, "{ :: false; skip }"),
                               (5, "{ while true { x := x + 1; suspend } }"),
                               (6, "{ while true { skip } }")]:
            self.assertEqual(coop("check", "-", text=source).returncode, status, source)

    def test_wrong_usage_is_1(self):
        for words in [[], ["/does/not/exist"], ["-", "--semantics", "lagc"], ["-", "--semantics", "best"],
                      ["-", "--bound", "x"], ["-", "--trace", "-"]]:
            done = coop("check", *words, text="{ skip }")
            self.assertEqual(done.returncode, 1, words)
            self.assertTrue(done.stderr, words)
            self.assertEqual(done.stdout, "", words)
        done = coop("check", "-", "--semantics", "sos-sched", text="language spawn; { skip }")
        self.assertEqual(done.returncode, 1)

    def test_the_reference_programs_pass(self):
        for program in PROGRAMS.glob("*.cw"):
            done = coop("check", program)
            self.assertIn(done.returncode, [0, 3, 4], program)
            self.assertNotIn("fails", done.stdout)

    def test_fairness_names_who_starves(self):
        done = coop("check", PROGRAMS / "08_starving_guards.cw")
        self.assertIn("weakly fair         yes\n"
                      "strongly fair       no, starving: task 2 at 4:10, task 4 at 6:11\n"
                      "quiescent fair      yes\n", done.stdout)

    def test_a_violation_has_step_rule_and_place(self):
        source = "m(x) { while true {\n  i := i + 1 } }\n{ spawn(m, 0); suspend }"
        done = coop("check", "-", "--bound", "100", "--limit", "1000", text=source)
        self.assertEqual(done.returncode, 6)
        self.assertEqual(done.stderr, "-:1:8: error: step 105, rule 22, task 1: expected task 1 gives "
                                      "way within 100 local steps, found it goes on in the loop at "
                                      "1:8 [local-computation]\n")
        self.assertIn("undecided within 1000 steps", done.stdout)

    def test_json_has_checks_violations_and_fairness(self):
        done = coop("check", PROGRAMS / "14_starving_guards_interleaved.cw", "--json")
        result = json.loads(done.stdout)
        self.assertEqual(result["end"], "periodic")
        self.assertEqual(result["violations"], [])
        self.assertEqual(result["asserted"]["distance"], result["n"])
        self.assertEqual(result["fairness"]["tasks"]["weak"], {"verdict": "fair"})
        self.assertEqual(result["fairness"]["tasks"]["strong"],
                         {"verdict": "unfair", "starving": [{"f": 1, "at": "10:23"}, {"f": 4, "at": "7:22"}]})
        result = json.loads(coop("check", "-", "--json", text="{ while true { skip } }").stdout)
        self.assertEqual([v["check"] for v in result["violations"]], ["local-computation"])
        self.assertEqual(result["fairness"]["tasks"]["quiescent"], {"verdict": "none"})
        self.assertIn("errors", json.loads(coop("check", "-", "--json", text="{").stdout))

    def test_help_tells_the_checks_and_the_exit_status(self):
        text = coop("check", "--help").stdout
        for word in ["FILE", "--semantics", "--limit", "--bound", "--json", "Exit status", "determinism",
                     "well-formedness", "shape", "mapping", "distance", "overtaking",
                     "local-computation", "strongly fair"]:
            self.assertIn(word, text)


class Page(html.parser.HTMLParser):
    """Reads a page, and complains of tags that do not match."""

    VOID = {"meta", "input", "br"}

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.data, self.elsewhere = [], "", []
        self.feed(text)
        self.close()
        if self.open:
            raise ValueError(f"left open: {self.open}")

    def handle_starttag(self, tag, attrs):
        self.elsewhere += [value for name, value in attrs if name in ("src", "href")]
        if tag not in self.VOID:
            self.open.append((tag, dict(attrs).get("id")))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop()[0] != tag:
            raise ValueError(f"{tag} is closed at {self.getpos()}, but was not open")

    def handle_data(self, data):
        if ("script", "data") in self.open:
            self.data += data


def view(program, *words):
    """The data of the page of a program."""
    done = coop("view", program, "-o", "-", *words)
    if done.returncode != 0:
        raise ValueError(done.stderr)
    return json.loads(Page(done.stdout).data)


def text_of(value):
    """A value of a trace as pages show it."""
    if isinstance(value, dict):
        return f"task {value['task']}"
    return str(value) if not isinstance(value, bool) and abs(value) > 2**53 else value


def replay(data):
    """Gives for each step what the page knows after it."""
    active, queue, look, rest, awaits, c = -1, [], {}, {}, {}, 0
    state = [0] * len(data["globals"])
    for step in data["steps"]:
        for f, index in step.get("q", []):
            if f in queue:
                queue.remove(f)
            if index >= 0:
                queue.insert(index, f)
        for f, now, instruction, awaited in step.get("t", []):
            look[f], rest[f], awaits[f] = now, instruction, awaited
        for variable, value in step.get("u", []):
            state += [None] * (variable + 1 - len(state))
            state[variable] = value
        active, c = step.get("a", active), step.get("c", c)
        yield step, active, queue, look, rest, awaits, state, c


CALLED, BLOCKED, ACTIVE = 1, 3, 4
ROTATING = ["10", "21", "SCHEDULEAWAITWAIT", "SCHEDULEGUARDWAIT"]


class Mutants(unittest.TestCase):
    EXAMPLE_1 = PROGRAMS / "02_quiescent.cw"

    def test_a_broken_scheduler_can_be_run_checked_and_shown(self):
        self.assertIn("j = 2\n", coop("run", self.EXAMPLE_1).stdout)
        done = coop("run", self.EXAMPLE_1, "--mutant", "newest-first")
        self.assertIn("j = 0\n", done.stdout)
        self.assertEqual(done.returncode, 5)
        done = coop("check", self.EXAMPLE_1, "--mutant", "newest-first")
        self.assertEqual(done.returncode, 6)
        self.assertIn("quiescent fair      no, starving: task 0 at 9:3\n", done.stdout)
        page = coop("view", self.EXAMPLE_1, "-o", "-", "--mutant", "newest-first").stdout
        self.assertIn("by the mutant newest-first", Page(page).data)
        one = json.loads(coop("run", self.EXAMPLE_1, "--mutant", "newest-first", "--json").stdout)
        self.assertEqual((one["mutant"], one["state"]["j"]), ("newest-first", 0))

    def test_all_of_them_at_once(self):
        done = coop("check", PROGRAMS / "04_place_in_queue.cw", "--mutants")
        self.assertEqual(done.returncode, 0)
        self.assertIn("wake-to-rear      fails distance at step 17\n", done.stdout)
        self.assertIn("guard-early       is not noticed\n", done.stdout)
        rows = json.loads(coop("check", self.EXAMPLE_1, "--mutants", "--json").stdout)
        self.assertIn({"mutant": "newest-first", "fails": ["distance", "overtaking", "fairness"]}, rows)
        done = coop("check", "-", "--mutants", text="language while; { skip }")
        self.assertEqual((done.returncode, done.stdout), (0, "-: nothing is scheduled, so there are no mutants\n"))

    def test_one_that_does_not_exist_is_wrong_usage(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "trace"
            file.write_text("kept")
            for words in [["run", "-", "--mutant", "x", "--trace", file], ["check", "-", "--mutant", "x"],
                          ["view", "-", "-o", file, "--mutant", "x"],
                          ["run", "-", "--semantics", "lagc", "--mutant", "push-to-front"],
                          ["check", "-", "--mutants", "--mutant", "push-to-front"]]:
                done = coop(*words, text="{ skip }")
                self.assertEqual((done.returncode, done.stdout), (1, ""), words)
                self.assertIn("--mutant", done.stderr)
            self.assertEqual(file.read_text(), "kept")

    def test_help_lists_them(self):
        text = coop("run", "--help").stdout
        for name in ["newest-first", "forget-done", "end-at-once"]:
            self.assertIn(name, text)


class View(unittest.TestCase):
    def same_as_trace(self, program, *words):
        data = view(program, *words)
        trace = [json.loads(line) for line in
                 coop("run", program, "--trace", "-", *words).stdout.splitlines()]
        self.assertEqual(len(data["steps"]), len(trace) - 2)
        # Parameters are numbered after the globals; main has none.
        names = data["globals"] + [f"{data['procedures'][t[0]][1]}#{f}" if t else None
                                   for f, t in enumerate(data["tasks"])]

        def element(f, look, rest):
            if look[f] == CALLED and data["semantics"] == "lagc-sched":
                return {"f": f, "marker": data["procedures"][data["tasks"][f][0]][0]}
            head, place = data["code"][rest[f]][:2]
            return {"f": f, "head": head} | ({"at": data["at"][place]} if place >= 0 else {})

        before = {}
        for line, known in zip(trace[1:-1], replay(data)):
            step, active, queue, look, rest, awaits, state, c = known
            self.assertEqual(line["active"], None if active < 0 else element(active, look, rest))
            self.assertEqual(line["queue"], [element(f, look, rest) for f in queue])
            self.assertEqual([f for f, now in look.items() if now == ACTIVE],
                             [] if active < 0 else [active])
            if "c" in line.get("dist", {}):
                self.assertEqual(line["dist"]["c"], c)
            if line["n"] == 0:
                continue
            if line["rule"] in ROTATING:
                self.assertEqual(before[line["f"]], BLOCKED)
            elif line["f"] in before:
                self.assertNotEqual(before[line["f"]], BLOCKED)
            before = dict(look)
            self.assertEqual(line["rule"], data["rules"][step["r"]])
            self.assertEqual(line["f"], step["f"])
            self.assertEqual(line.get("at"), data["at"][step["p"]] if "p" in step else None)
            self.assertEqual(line.get("pick"), step.get("k"))
            self.assertEqual([e["ev"] for e in line.get("ev", [])],
                             [["callEv", "callREv", "compEv", "compREv", "doneEv"][e[0]]
                              for e in step.get("e", [])])
            self.assertEqual([[name, text_of(value)] for name, value in line.get("set", [])],
                             [[names[variable], value] for variable, value in step.get("u", [])])
        end = trace[-1]
        self.assertEqual({name: text_of(value) for name, value in end["state"].items()},
                         {names[i]: value for i, value in enumerate(state) if value is not None})
        self.assertEqual(data["end"], end | {"state": {}})
        self.assertEqual("".join(data["text"]), pathlib.Path(program).read_text())
        if end["end"] == "deadlock":
            self.assertEqual({b["f"]: b.get("on", -1) for b in end["blocked"]},
                             {f: awaits[f] for f, now in look.items() if now == BLOCKED})

    def test_the_page_knows_what_the_trace_says(self):
        for program in sorted(PROGRAMS.glob("*.cw")):
            cooperative = "language" not in program.read_text() or \
                "language coopwhile" in program.read_text()
            for words in [["lagc-sched"], ["lagc", "--seed", 3], ["lagc", "--seed", 4],
                          *([["sos-sched"], ["sos", "--seed", 5]] if cooperative else [])]:
                with self.subTest(program=program.name, words=words):
                    self.same_as_trace(program, "--semantics", *words, "--limit", 150)

    def test_the_file_is_written_and_needs_no_other(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.html"
            done = coop("view", PROGRAMS / "06_deadlock.cw", "-o", page)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("deadlock after 30 steps", done.stdout)
            text = page.read_text()
            self.assertEqual(Page(text).elsewhere, [])
            self.assertIsNone(re.search(r"https?:|@import|url\(|fetch\(|import\(", text))
            self.assertEqual(json.loads(Page(text).data)["end"]["end"], "deadlock")

    def test_text_of_a_program_stays_text(self):
        comment = "// </script><script>alert(1)</script><!-- ü\n"
        page = Page(coop("view", "-", "-o", "-", text=comment + "{ skip }").stdout)
        self.assertTrue("".join(json.loads(page.data)["text"]).startswith(comment))

    def test_twenty_tasks_and_two_thousand_steps_are_small(self):
        source = ("tick(x) { while true { n := n + x; suspend } }\n"
                  "{ n := 0; i := 0; while i < 20 { spawn(tick, i); i := i + 1 } }")
        page = coop("view", "-", "-o", "-", "--limit", 2000, text=source).stdout
        self.assertEqual(len(json.loads(Page(page).data)["steps"]), 2001)
        self.assertLess(len(page), 400_000)

    def test_exit_status_says_whether_the_page_is_written(self):
        for status, words, source in [(0, ["-", "-o", "-"], "{ x := 1 / 0 }"),
                                      (2, ["-", "-o", "-"], "{ skip "),
                                      (1, ["-"], "{ skip }"),
                                      (1, ["-", "-o", "/does/not/exist/page.html"], "{ skip }"),
                                      (1, ["-", "-o", "-", "--semantics", "best"], "{ skip }"),
                                      (1, ["/does/not/exist", "-o", "-"], "")]:
            done = coop("view", *words, text=source)
            self.assertEqual(done.returncode, status, words)
            self.assertEqual(bool(done.stderr), status != 0, words)
            self.assertEqual(bool(done.stdout), status == 0, words)

    def test_help_tells_the_keys(self):
        text = coop("view", "--help").stdout
        for word in ["FILE", "-o", "--semantics", "--seed", "--limit", "left, right", "Exit status"]:
            self.assertIn(word, text)


class Fuzz(unittest.TestCase):
    def test_finds_nothing_and_says_what_it_did(self):
        done = coop("fuzz", "--seeds", "1..40")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout.startswith("160 programs, "), done.stdout)
        self.assertTrue(done.stdout.endswith("nothing found\n"))

    def test_the_same_seeds_do_the_same(self):
        words = ["fuzz", "--seeds", "7..20", "--language", "coopwhile", "--language", "guard", "--json"]
        first = coop(*words).stdout
        self.assertEqual(coop(*words).stdout, first)
        told = json.loads(first)
        self.assertEqual((told["seeds"], told["programs"], told["findings"], told["stopped"]),
                         ([7, 20], 28, [], False))
        self.assertGreater(told["agreed"], 0)
        self.assertEqual(sum(told["ends"].values()), 42)

    def test_a_mode_does_its_part_alone(self):
        runs = {mode: json.loads(coop("fuzz", "--seeds", "5", "--language", "coopwhile", "--mode", mode,
                                      "--json").stdout)["runs"]
                for mode in ["text", "fast", "agree", "check", "random", "all"]}
        self.assertEqual(runs, {"text": 0, "fast": 4, "agree": 2, "check": 4, "random": 2, "all": 8})

    def test_wrong_usage_is_1(self):
        for words in [["--seeds", ""], ["--seeds", "x"], ["--seeds", "5..4"], ["--seeds", "1..2..3"],
                      ["--seeds", "-1"], ["--seeds", "1.."], ["--seeds", "99999999999999999999"],
                      ["--language", "go"], ["--mode", "fats"], ["--mode", "all", "--mode", "fats"],
                      ["--save", "/dev/null/folder"], ["word"]]:
            done = coop("fuzz", *words)
            self.assertEqual((done.returncode, done.stdout), (1, ""), words)
            self.assertTrue(done.stderr, words)

    def test_what_is_found_is_printed_small_and_saved(self):
        with tempfile.TemporaryDirectory() as folder:
            words = ["fuzz", "--seeds", "1..50", "--language", "coopwhile", "--mode", "check",
                     "--mutant", "wake-to-rear"]
            done = coop(*words, "--save", pathlib.Path(folder) / "found")
            self.assertEqual(done.returncode, 6)
            self.assertIn("seed 18, check, lagc-sched, distance: step 7", done.stdout)
            name = "coopwhile-18-check-lagc-sched-distance"
            saved = pathlib.Path(folder) / "found" / f"{name}.cw"
            # It can be run, shows the mistake, and the real scheduler does not.
            self.assertEqual(coop("run", saved).returncode, 0)
            self.assertEqual(coop("check", saved, "--mutant", "wake-to-rear").returncode, 6)
            self.assertEqual(coop("check", saved).returncode, 0)
            self.assertTrue((pathlib.Path(folder) / "found" / f"{name}.whole.cw").exists())
            again = re.search(r"again: rota coop (.*)", done.stdout)[1].split()
            self.assertEqual(coop(*again).returncode, 6)
            self.assertEqual(len(json.loads(coop(*words, "--json").stdout)["findings"]), 1)
            self.assertEqual(coop("fuzz", "--mutant", "nobody").returncode, 1)

    def test_the_last_seed_there_is(self):
        done = coop("fuzz", "--seeds", f"{2**64 - 1}", "--language", "spawn")
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout.startswith("1 program, "))

    def test_help_tells_the_modes_and_the_exit_status(self):
        text = coop("fuzz", "--help").stdout
        for word in ["--seeds", "--language", "--mode", "--save", "--json", "text", "fast", "agree",
                     "check", "random", "Exit status"]:
            self.assertIn(word, text)


if __name__ == "__main__":
    ROTA = sys.argv.pop(1)
    unittest.main()
