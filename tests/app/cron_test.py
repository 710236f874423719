#!/usr/bin/env python3
"""`rota cron`: next, explain, check, simulate.

  cron_test.py ROTA    the program to test
"""

import datetime
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROTA = ""
REFERENCE = pathlib.Path(__file__).resolve().parent.parent / "cron" / "next.jsonl"


class Cron(unittest.TestCase):
    def rota(self, *words, env=None):
        return subprocess.run([ROTA, "cron", *map(str, words)], capture_output=True, text=True,
                              timeout=60, check=False, env=env)

    def fine(self, *words, **more):
        done = self.rota(*words, **more)
        self.assertEqual(done.returncode, 0, (words, done.stderr))
        return done.stdout

    def refused(self, *words):
        """Bad input: exit status 2, nothing printed, and what is wrong."""
        done = self.rota(*words)
        self.assertEqual(done.returncode, 2, (words, done.stdout, done.stderr))
        self.assertEqual(done.stdout, "", words)
        return done.stderr

    # --- next ---

    def test_next_prints_an_instant_a_line(self):
        out = self.fine("next", "30 2 * * *", "--tz", "Europe/Paris", "--from",
                        "2026-03-28T20:00:00Z", "--count", 3)
        self.assertEqual(out, "2026-03-29T01:00:00Z\n2026-03-30T00:30:00Z\n2026-03-31T00:30:00Z\n")

    def test_next_as_json_is_an_array_of_texts(self):
        out = self.fine("next", "0 0 31 2,4 *", "--json")
        self.assertEqual(json.loads(out), [])
        out = self.fine("next", "*/20 * * * * *", "--json", "--count", 2, "--from", "2026-01-01")
        self.assertEqual(json.loads(out), ["2026-01-01T00:00:20Z", "2026-01-01T00:00:40Z"])

    def test_next_begins_now(self):
        now = datetime.datetime.now(datetime.timezone.utc)
        first = self.fine("next", "* * * * * *", "--count", 1).strip()
        then = datetime.datetime.fromisoformat(first.replace("Z", "+00:00"))
        self.assertLess(abs((then - now).total_seconds()), 60)

    def test_next_gives_the_answers_of_the_reference(self):
        """A line in ten; all of them are a test of the library."""
        for line in REFERENCE.read_text().splitlines()[::10]:
            row = json.loads(line)
            words = ["next", row["expr"], "--tz", row["tz"], "--from", row["from"], "--count",
                     row["count"], "--json"]
            if row.get("rejected"):
                self.refused(*words)
                continue
            self.assertEqual(json.loads(self.fine(*words)), row["next"], line)
            if row.get("vixie") is not None:
                out = self.fine(*words, "--dst", "vixie")
                self.assertEqual(json.loads(out), row["vixie"], line)

    def test_dst_vixie_reads_as_debian_and_says_so(self):
        words = ["next", "0 0 * * 5#2", "--from", "2026-01-15", "--count", 2, "--dst", "vixie"]
        done = self.rota(*words)
        self.assertEqual(done.stdout, "2026-01-16T00:00:00Z\n2026-01-23T00:00:00Z\n")
        self.assertIn("Debian's cron takes it for: at 00:00 on Friday", done.stderr)
        self.assertEqual(self.fine(*words, "--compat", "strict"),
                         "2026-02-13T00:00:00Z\n2026-03-13T00:00:00Z\n")

    def test_compat_vixie_takes_what_debian_takes(self):
        self.refused("next", "1.5 * * * *")
        out = self.fine("next", "1.5 * * * *", "--compat", "vixie", "--from", "2026-01-01",
                        "--count", 1)
        self.assertEqual(out, "2026-01-01T00:01:00Z\n")

    def test_next_of_other_schedules(self):
        out = self.fine("next", "@every 90s", "--from", "2026-01-01", "--count", 2)
        self.assertEqual(out, "2026-01-01T00:01:30Z\n2026-01-01T00:03:00Z\n")
        out = self.fine("next", "@at 2030-01-01T12:00:00+01:00", "--from", "2026-01-01")
        self.assertEqual(out, "2030-01-01T11:00:00Z\n")
        out = self.fine("next", "CRON_TZ=Asia/Tokyo 0 4 * * *", "--from", "2026-01-01", "--count",
                        1)
        self.assertEqual(out, "2026-01-01T19:00:00Z\n")
        same = [self.fine("next", "H H * * *", "--name", "backup", "--from", "2026-01-01")
                for _ in range(2)]
        self.assertEqual(same[0], same[1])
        self.assertNotEqual(same[0], self.fine("next", "H H * * *", "--name", "report", "--from",
                                               "2026-01-01"))

    def test_bad_input_ends_with_2(self):
        self.assertIn("column 9: the range fri-mon is empty", self.refused("next", "0 0 * * fri-mon"))
        self.assertIn("@reboot is no calendar", self.refused("next", "@reboot"))
        self.assertIn("no time zone", self.refused("next", "* * * * *", "--tz", "Mars/Olympus"))
        self.assertIn("no time zone", self.refused("next", "* * * * *", "--tz", "../../etc/passwd"))
        self.assertIn("expected an instant", self.refused("next", "* * * * *", "--from", "yesterday"))
        self.assertIn("wall or vixie", self.refused("next", "* * * * *", "--dst", "summer"))
        self.assertIn("strict or vixie", self.refused("next", "* * * * *", "--compat", "bsd"))
        self.assertIn("expected a number", self.refused("next", "* * * * *", "--count", "-1"))
        self.refused("next")
        self.refused("next", "0", "0", "*", "*", "*")
        self.refused("next", "")
        self.refused("next", "* * * * * * *")

    # --- explain, check ---

    def test_explain(self):
        self.assertEqual(self.fine("explain", "30 2 * * mon-fri"),
                         "at 02:30 on Monday to Friday, UTC\n")
        out = self.fine("explain", "0 0 */2 * 1")
        self.assertIn("\nwarning: ", out)
        out = json.loads(self.fine("explain", "0 0 13 * 5", "--json"))
        self.assertEqual(out["explain"], "at 00:00 on the 13th of the month, and on Friday, UTC")
        self.assertEqual(len(out["warnings"]), 1)
        self.refused("explain", "x")

    def test_any_bytes_as_json(self):
        for command in (["explain"], ["check"],
                        ["simulate", "--from", "2026-01-01", "--to", "2026-01-01T01:02:00Z"]):
            done = subprocess.run([ROTA.encode(), b"cron", *[w.encode() for w in command],
                                   b"1\xff * * * *", b"--compat", b"vixie", b"--json"],
                                  capture_output=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            json.loads(done.stdout.decode().splitlines()[0] if command[0] == "simulate"
                       else done.stdout.decode())

    def test_check_says_where_with_a_caret(self):
        said = self.refused("check", "0 0 * * fri-mon").splitlines()
        self.assertTrue(said[0].startswith("rota cron check: column 9: "), said)
        self.assertEqual(said[1:], ["  0 0 * * fri-mon", "          ^"])

    def test_check_takes_many(self):
        out = self.fine("check", "@daily", "*/5 * * * *", "@reboot", "@every 5m")
        self.assertEqual(out.count("\n"), 4)
        done = self.rota("check", "@daily", "60 * * * *", "0 0 31 2 *", "--json")
        self.assertEqual(done.returncode, 2)
        rows = json.loads(done.stdout)
        self.assertEqual([r["ok"] for r in rows], [True, False, False])
        self.assertEqual(rows[1]["column"], 1)
        self.assertIn("never fires", rows[2]["error"])

    # --- simulate ---

    def test_simulate_shows_starts_and_clock_changes(self):
        out = self.fine("simulate", "30 2 * * *", "0 * * * *", "--tz", "Europe/Paris", "--from",
                        "2026-03-28T23:30:00Z", "--to", "2026-03-29T02:00:00Z")
        self.assertEqual(out.splitlines(), [
            "2026-03-29T00:00:00Z  2026-03-29T01:00:00+01:00  0 * * * *",
            "2026-03-29T01:00:00Z  2026-03-29T03:00:00+02:00  -- the clock is set forward by 60 "
            "minutes",
            "2026-03-29T01:00:00Z  2026-03-29T03:00:00+02:00  30 2 * * *",
            "2026-03-29T01:00:00Z  2026-03-29T03:00:00+02:00  0 * * * *",
            "2026-03-29T02:00:00Z  2026-03-29T04:00:00+02:00  0 * * * *"])

    def test_simulate_with_a_cap_runs_in_the_order_due(self):
        out = self.fine("simulate", "0 0 * * *", "0,1 0 * * *", "--from", "2025-12-31T23:59:00Z",
                        "--to", "2026-01-01T00:10:00Z", "--max-active", 1, "--takes", "90s",
                        "--json")
        rows = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([(r["start"], r["late_ms"], r["expression"]) for r in rows],
                         [("2026-01-01T00:00:00Z", 0, "0 0 * * *"),
                          ("2026-01-01T00:01:30Z", 90000, "0,1 0 * * *"),
                          ("2026-01-01T00:03:00Z", 120000, "0,1 0 * * *")])

    def files(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="rota_cron_"))
        self.addCleanup(shutil.rmtree, folder)
        for name, text in {"backup.toml": 'schedule = "30 2 * * *"\nzone = "Europe/Paris"\nrun = ["true"]\n',
                           "table": "# rota: name=hourly\n0 * * * * true\n",
                           "wrong.toml": 'schedule = "0 25 * * *"\nrun = ["true"]\n'}.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o600)
        return folder

    def test_simulate_takes_files_of_jobs(self):
        folder = self.files()
        span = ["--from", "2026-03-29T00:30:00Z", "--to", "2026-03-29T01:30:00Z"]
        out = self.fine("simulate", folder / "backup.toml", folder / "table", *span)
        self.assertEqual([line.split("  ")[2] for line in out.splitlines()], ["backup", "hourly"])
        self.assertIn("wrong.toml:1:", self.refused("simulate", folder, *span))

    def test_check_takes_files_of_jobs(self):
        folder = self.files()
        self.assertIn("backup.toml: 1 job\n", self.fine("check", folder / "backup.toml", "@daily"))
        done = self.rota("check", folder)
        self.assertEqual(done.returncode, 2)
        self.assertIn("wrong.toml:1:", done.stderr)
        self.assertIn("backup.toml: 1 job\n", done.stdout)
        done = self.rota("check", folder, "--json")
        self.assertEqual([row["ok"] for row in json.loads(done.stdout)], [True, False])

    def test_a_file_that_is_not_there(self):
        for word in ("/nonexistent/table", "none.toml", "some folder/none.crontab", "jobs/backup"):
            self.assertEqual(self.refused("check", word), f"{word}: no such file\n")
            self.assertIn("no such file", self.refused("simulate", word, "--to", "2099-01-01"))
        rows = json.loads(self.rota("check", "--json", "none.toml", "@daily").stdout)
        self.assertEqual([row["ok"] for row in rows], [False, True])
        for word in ("*/5", "*/5 * * * x", "@every/5"):
            self.assertIn("column", self.refused("check", word))

    def test_simulate_refuses(self):
        self.assertIn("--to is required", self.refused("simulate", "* * * * *"))
        self.assertIn("expected an instant after --from", self.refused("simulate", "* * * * *", "--from", "2026-01-02",
                                                   "--to", "2026-01-01"))
        self.assertIn("column 1", self.refused("simulate", "99 * * * *", "--to", "2099-01-01"))
        self.assertIn("period", self.refused("simulate", "* * * * *", "--to", "2099-01-01",
                                             "--takes", "5 minutes"))


if __name__ == "__main__":
    ROTA = sys.argv.pop(1)
    unittest.main()
