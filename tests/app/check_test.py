"""The command `rota check` as its users meet it: what it prints, and with which exit status it ends.

  check_test.py PROGRAM [--large]     --large: also what takes an optimised program half a minute
"""

import json
import os
import pathlib
import pty
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM = ""
LARGE = False


def rota(*arguments, status=0):
    """What the command printed, on standard output and on standard error."""
    done = subprocess.run([PROGRAM, "check", *arguments], capture_output=True, text=True,
                          timeout=120, check=False)
    if done.returncode != status:
        raise AssertionError(f"rota check {' '.join(arguments)} ended with {done.returncode}, "
                             f"expected {status}:\n{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def answer(*arguments, status=0):
    return json.loads(rota(*arguments, "--json", status=status)[0])


def verdicts(result):
    return {p["name"]: p["verdict"] for p in result["properties"]}


class Answers(unittest.TestCase):
    def test_list_names_every_model(self):
        out, _ = rota("list")
        names = [line.split()[0] for line in out.splitlines()]
        self.assertIn("scheduler", names)
        self.assertIn("backpressure", names)
        self.assertEqual(names, [m["name"] for m in json.loads(rota("list", "--json")[0])])

    def test_json_has_what_the_design_names(self):
        result = answer("scheduler", "--set", "Workers=2")
        self.assertEqual(result["model"], "scheduler")
        self.assertEqual(result["constants"]["Workers"], 2)
        self.assertEqual((result["distinct_states"], result["states_generated"], result["depth"]),
                         (638, 3644, 13))
        self.assertGreater(result["seconds"], 0)
        for p in result["properties"]:
            self.assertLessEqual({"name", "kind", "verdict", "trace"}, p.keys())
        self.assertEqual(verdicts(result)["starvation_free"], "holds")

    def test_what_is_known_to_fail_does_not_make_the_answer_no(self):
        result = answer("scheduler")
        self.assertEqual(verdicts(result)["EventConsumed"], "violated")

    def test_unless_it_was_asked_for(self):
        result = answer("scheduler", "--property", "EventConsumed", status=1)
        self.assertEqual([p["name"] for p in result["properties"]], ["EventConsumed"])

    def test_a_trace_is_a_way_with_a_loop(self):
        result = answer("scheduler", "--property", "EventConsumed", status=1)
        trace = result["properties"][0]["trace"]
        states = trace["states"]
        self.assertIsNone(states[0]["action"])
        self.assertEqual(states[0]["changed"], list(states[0]["variables"]))
        for before, after in zip(states, states[1:]):
            changed = [n for n in after["variables"]
                       if after["variables"][n] != before["variables"][n]]
            self.assertEqual(after["changed"], changed)
            self.assertTrue(after["action"])
        self.assertEqual(states[trace["loop"] - 1]["variables"], states[-1]["variables"])

    def test_without_fairness_liveness_fails(self):
        result = answer("scheduler", "--fairness", "worker=none", status=1)
        self.assertEqual(verdicts(result)["starvation_free"], "violated")

    def test_workers_do_not_change_the_counts(self):
        counts = {json.dumps([answer("backpressure", "--workers", n)[k] for k in
                              ("distinct_states", "states_generated", "depth")])
                  for n in ("1", "2", "5")}
        self.assertEqual(counts, {"[20270, 58054, 17]"})

    def test_every_model_can_be_asked_for_help(self):
        for model in json.loads(rota("list", "--json")[0]):
            out, _ = rota(model["name"], "--help")
            for heading in ("Constants", "Properties", "fairness"):
                self.assertIn(heading, out)

    def test_help_lists_constants_properties_and_fairness(self):
        out, _ = rota("scheduler", "--help")
        for part in ("Subscribers=1", "1 to 4", "starvation_free", "leads_to", "known to fail",
                     "strong, group worker"):
            self.assertIn(part, out)

    def test_walks_are_the_same_from_the_same_seed(self):
        def steps(seed):
            result = answer("backpressure", "--simulate", "--walks", "50", "--seed", seed)
            return result["steps"], result["steps_taken"]
        self.assertEqual(steps("7"), steps("7"))
        self.assertNotEqual(steps("7"), steps("8"))


class TheSeedsOwnSize(unittest.TestCase):
    def setUp(self):
        if not LARGE:
            self.skipTest("for an optimised program")

    def test_backpressure_4_4_2_fits_into_two_gigabytes(self):
        result = answer("backpressure", "--set", "Cowns=4", "--set", "BehaviourLimit=4",
                        "--set", "OverloadThreshold=2", "--max-memory", "2GB")
        self.assertEqual((result["distinct_states"], result["states_generated"], result["depth"]),
                         (11589006, 43862780, 26))
        for p in result["properties"]:
            if not p["known_to_fail"]:
                self.assertEqual(p["verdict"], "holds", p["name"])

    def test_propagation_needs_eager_unmuting(self):
        if "ROTA_LONG_TESTS" not in os.environ:
            self.skipTest("for long tests")
        size = ("--set", "Cowns=4", "--set", "BehaviourLimit=4", "--property", "deadlock_free")
        naive = answer("backpressure_naive", *size, status=1)
        self.assertEqual(naive["deadlocked_states"], 506)
        eager = answer("backpressure_propagation", *size)
        self.assertEqual(eager["distinct_states"], 11567484)


class Mutants(unittest.TestCase):
    def test_one_that_is_planted_is_caught(self):
        for row in answer("parking", "--mutants"):
            self.assertTrue(row["violates"], row)

    def test_one_with_no_end_of_states_is_left_at_its_first_violation(self):
        rows = answer("fork_deque", "--mutants")
        self.assertTrue(all(row["violates"] for row in rows), rows)

    def test_every_one_of_every_model_is_caught(self):
        if not LARGE:
            self.skipTest("for an optimised program")
        for model in json.loads(rota("list", "--json")[0]):
            rows = answer(model["name"], "--mutants")
            self.assertTrue(rows, model)
            for row in rows:
                self.assertTrue(row.get("violates") or row.get("left_out"), (model["name"], row))


class Limits(unittest.TestCase):
    big = ("backpressure", "--set", "Cowns=4", "--set", "BehaviourLimit=6")

    def test_max_states_leaves_the_answer_open(self):
        result = answer(*self.big, "--max-states", "5000", status=1)
        self.assertEqual(result["outcome"], "max_states")
        self.assertEqual(set(verdicts(result).values()), {"unknown"})

    def test_max_memory_is_a_message(self):
        out, _ = rota(*self.big, "--max-memory", "20MB", status=1)
        self.assertIn("Stopped at --max-memory", out)
        self.assertIn("not violated so far", out)

    def interrupted(self):
        """Stops the search once it shows progress: its status, what it printed, its progress."""
        ours, theirs = pty.openpty()
        running = subprocess.Popen([PROGRAM, "check", *self.big], stdout=subprocess.PIPE,
                                   stderr=theirs, text=True)
        os.close(theirs)
        progress = b""
        while b"queued" not in progress:
            progress += os.read(ours, 1000)
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=60)
        os.close(ours)
        return running.returncode, out, progress.decode()

    def test_ctrl_c_tells_what_is_known_so_far(self):
        status, out, _ = self.interrupted()
        self.assertEqual(status, 130)
        self.assertIn("distinct states", out)
        self.assertIn("Stopped", out)

    def test_progress_is_shown_on_a_terminal_only(self):
        _, _, progress = self.interrupted()
        self.assertRegex(progress, r"[\d,]+ states.*, [\d,]+/s, [\d,]+ queued, depth \d+, \d+")
        _, errors = rota("scheduler")
        self.assertEqual(errors, "")


class BadInput(unittest.TestCase):
    def expect(self, *arguments, says):
        out, errors = rota(*arguments, status=2)
        self.assertEqual(out, "")
        for part in says:
            self.assertIn(part, errors)
        self.assertEqual(len(errors.splitlines()), 1, errors)

    def test_an_unknown_model_lists_the_models(self):
        self.expect("schedler", says=["'schedler'", "scheduler", "backpressure", "list"])

    def test_no_model_lists_them_too(self):
        self.expect(says=["scheduler", "backpressure"])

    def test_an_unknown_constant_lists_the_constants(self):
        self.expect("scheduler", "--set", "Worker=2", says=["'Worker'", "Workers", "Clients"])

    def test_a_constant_out_of_range_says_the_range(self):
        self.expect("scheduler", "--set", "Workers=99", says=["Workers=99", "1 to 4"])

    def test_a_setting_without_a_value_says_the_form(self):
        self.expect("scheduler", "--set", "Workers", says=["Workers", "NAME=VALUE"])

    def test_a_misspelt_property_lists_the_properties(self):
        self.expect("scheduler", "--property", "starvation",
                    says=["'starvation'", "starvation_free", "OneState"])

    def test_a_wrong_fairness_says_what_there_is(self):
        self.expect("scheduler", "--fairness", "worker=much", says=["none, weak or strong"])
        self.expect("scheduler", "--fairness", "wrker=weak", says=["'wrker'", "worker"])

    def test_an_unknown_option_points_to_the_help(self):
        self.expect("scheduler", "--prop", "x", says=["--prop", "rota check scheduler --help"])

    def test_a_number_that_is_none_says_what_would_be(self):
        self.expect("scheduler", "--workers", "0", says=["--workers", "1 to 256", "not 0"])
        self.expect("scheduler", "--max-states", "-4", says=["--max-states", "from 1 on", "not -4"])
        self.expect("scheduler", "--max-memory", "5QB", says=["--max-memory", "qb"])

    def test_liveness_is_not_for_walks(self):
        self.expect("scheduler", "--simulate", "--property", "starvation_free",
                    says=["starvation_free", "--simulate"])

    def test_options_that_would_be_ignored_are_refused(self):
        self.expect("scheduler", "--simulate", "--symmetry", says=["--symmetry", "--simulate"])
        self.expect("scheduler", "--simulate", "--max-states", "9", says=["--max-states"])
        self.expect("scheduler", "--mutants", "--property", "OneState",
                    says=["--property", "--mutants"])

    def test_too_many_states_are_not_drawn(self):
        self.expect("backpressure", "--dot", os.devnull, says=["2,000 states", "smaller"])

    def test_a_file_that_cannot_be_written_is_an_error(self):
        _, errors = rota("scheduler", "--html", "/nowhere/page.html", status=1)
        self.assertIn("/nowhere/page.html", errors)


class Files(unittest.TestCase):
    def test_the_page_shows_the_path_and_the_loop(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.html"
            rota("scheduler", "--property", "EventConsumed", "--html", str(page), status=1)
            text = page.read_text(encoding="utf-8")
        self.assertIn("EventConsumed", text)
        self.assertIn('class="loop"', text)
        self.assertIn("back to", text)
        self.assertNotIn("http", text)

    def test_the_drawing_has_every_state(self):
        with tempfile.TemporaryDirectory() as folder:
            drawing = pathlib.Path(folder) / "states.dot"
            rota("scheduler", "--dot", str(drawing))
            text = drawing.read_text(encoding="utf-8")
        self.assertEqual(text.count(" [label=") - text.count(" -> "), 152)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    if "--large" in sys.argv:
        sys.argv.remove("--large")
        LARGE = True
    unittest.main()
