#!/usr/bin/env python3
"""Where options come from: flags beat the file, the file beats the environment.

  config_test.py ROTA

A broken promise shows as a wrong number of lines, or as a message without its place.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROTA = ""


class Configuration(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "config.toml"

    def rota(self, *words, file=None, **environment):
        """Runs a command with nothing but this file and these variables."""
        if file is not None:
            self.file.write_text(file)
            self.file.chmod(0o600)
            environment["ROTA_CONFIG"] = str(self.file)
        clean = {k: v for k, v in os.environ.items() if not k.startswith("ROTA_")}
        clean.update({"ROTA_CONFIG": "none", "TZ": "UTC", **environment})
        return subprocess.run([ROTA, *map(str, words)], env=clean, capture_output=True, text=True, timeout=60)

    def lines(self, *words, **where):
        """How many times `rota cron next` says, which is its --count."""
        done = self.rota("cron", "next", "* * * * *", "--from", "2026-01-01T00:00:00Z", *words, **where)
        self.assertEqual(done.returncode, 0, done.stderr)
        return len(done.stdout.splitlines())

    def refused(self, *words, status=2, **where):
        done = self.rota(*words, **where)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        return done.stderr.rstrip("\n")

    # --- strength ---------------------------------------------------------------------------------

    def test_without_anything_the_default_holds(self):
        self.assertEqual(self.lines(), 10)

    def test_the_environment_beats_the_default(self):
        self.assertEqual(self.lines(ROTA_CRON_NEXT_COUNT="3"), 3)

    def test_the_file_beats_the_environment(self):
        self.assertEqual(self.lines(file="[cron.next]\ncount = 4\n", ROTA_CRON_NEXT_COUNT="3"), 4)

    def test_a_flag_beats_the_file(self):
        self.assertEqual(self.lines("--count", 5, file="[cron.next]\ncount = 4\n", ROTA_CRON_NEXT_COUNT="3"), 5)

    def test_a_flag_beats_the_environment(self):
        self.assertEqual(self.lines("--count", 5, ROTA_CRON_NEXT_COUNT="3"), 5)

    def test_the_nearer_section_comes_first_and_all_of_the_file_before_the_environment(self):
        self.assertEqual(self.lines(file="[cron]\ncount = 6\n"), 6)
        self.assertEqual(self.lines(file="[cron]\ncount = 6\n[cron.next]\ncount = 7\n"), 7)
        self.assertEqual(self.lines(file="[cron]\ncount = 6\n", ROTA_CRON_NEXT_COUNT="3"), 6)
        self.assertEqual(self.lines(ROTA_CRON_COUNT="2", ROTA_CRON_NEXT_COUNT="3"), 3)
        self.assertEqual(self.lines(ROTA_CRON_COUNT="2"), 2)

    def test_a_variable_that_is_empty_is_not_set(self):
        self.assertEqual(self.lines(ROTA_CRON_NEXT_COUNT=""), 10)

    # --- the file ---------------------------------------------------------------------------------

    def test_config_names_the_file_and_none_is_no_file(self):
        other = self.folder / "other.toml"
        other.write_text("[cron]\ncount = 2\n")
        other.chmod(0o600)
        self.assertEqual(self.lines("--config", other, file="[cron]\ncount = 6\n"), 2)
        self.assertEqual(self.lines("--config", "none", file="[cron]\ncount = 6\n"), 10)
        self.assertIn(f"{self.folder}/absent.toml: ", self.refused("tour", "--config", self.folder / "absent.toml"))

    @unittest.skipIf(os.geteuid() == 0, "root's is in /etc")
    def test_the_users_own_file_is_found(self):
        place = self.folder / "rota"
        place.mkdir()
        (place / "config.toml").write_text("[cron]\ncount = 2\n")
        (place / "config.toml").chmod(0o600)
        self.assertEqual(self.lines(ROTA_CONFIG="", XDG_CONFIG_HOME=str(self.folder)), 2)

    def test_texts_numbers_flags_and_lists(self):
        done = self.rota("cron", "next", "0 0 * * *", "--from", "2026-01-01T00:00:00Z",
                         file='[cron]\ncount = "1"\njson = true\ntz = "Europe/Paris"\n')
        self.assertEqual(done.stdout, '["2026-01-01T23:00:00Z"]\n', done.stderr)
        done = self.rota("check", "event_notifier", file='[check]\nproperty = ["TypeOK"]\nmax-memory = "1GB"\n')
        self.assertIn("TypeOK", done.stdout)
        several = self.rota("check", "event_notifier", "--json", ROTA_CHECK_PROPERTY="TypeOK;RequestNotLost")
        self.assertEqual(several.stdout.count('"verdict"'), 2, several.stdout + several.stderr)

    def test_a_setting_for_other_occasions_may_stand_in_the_file(self):
        done = self.rota("check", "event_notifier", "--property", "TypeOK", file="[check]\nwalks = 5\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("--walks needs --simulate", self.refused("check", "event_notifier", "--walks", 5))

    def test_the_door_of_a_program_may_stand_above_all_sections(self):
        self.assertIn("there is no socket /nowhere/a", self.refused("graph", file='socket = "/nowhere/a"\n'))
        self.assertIn("there is no socket /nowhere/b", self.refused("top", ROTA_SOCKET="/nowhere/b"))
        self.assertIn("/nowhere/c", self.refused("job", "list", ROTA_JOB_SOCKET="/nowhere/c"))
        self.assertIn("/nowhere/c", self.refused("job", "list", ROTA_JOB_SOCKET="/nowhere/c", ROTA_SOCKET="/nowhere/b"))

    # --- what is wrong ----------------------------------------------------------------------------

    def test_a_wrong_value_names_its_place(self):
        self.assertEqual(self.refused("cron", "next", "* * * * *", file="[cron.next]\ncount = 0\n"),
                         f"{self.file}:2:1: count: expected a number from 1 to 10000000, not 0")
        self.assertEqual(self.refused("cron", "next", "* * * * *", ROTA_CRON_NEXT_COUNT="many"),
                         "rota cron next: ROTA_CRON_NEXT_COUNT: expected a number from 1 to 10000000, not many")
        self.assertEqual(self.refused("cron", "next", "* * * * *", file="[cron]\njson = 7\n"),
                         f"{self.file}:2:1: json: expected true or false, not 7")
        self.assertEqual(self.refused("cron", "next", "* * * * *", file="[cron]\ncount = [1, 2]\n"),
                         f"{self.file}:2:1: count: expected one value, not a list")

    def test_so_does_what_the_command_itself_refuses(self):
        said = self.refused("serve", file='\n[serve]\nlisten = "x"\n')
        self.assertEqual(said, f"{self.file}:3:1: listen: expected an address such as 127.0.0.1:8420, or none, not x")
        said = self.refused("serve", ROTA_SERVE_LISTEN="x")
        self.assertTrue(said.startswith("rota serve: ROTA_SERVE_LISTEN: expected an address"), said)
        said = self.refused("serve", "--listen", "x", ROTA_SERVE_LISTEN="127.0.0.1:0")
        self.assertTrue(said.startswith("rota serve: --listen: expected an address"), said)
        said = self.refused("cron", "next", "* * * * *", ROTA_CRON_TZ="Mars/Base")
        self.assertTrue(said.startswith("rota cron next: ROTA_CRON_TZ: there is no time zone"), said)

    def test_unknown_sections_and_keys_are_refused_with_the_nearest_right_one(self):
        for text, message in [
                ("[serve]\nmax-activ = 4\n", "2:1: [serve] has no `max-activ`; did you mean `max-active`?"),
                ("[serve]\nmax_active = 4\n", "2:1: [serve] has no `max_active`; did you mean `max-active`?"),
                ("[serv]\nmax-active = 4\n", "1:2: there is no command `serv`; did you mean `serve`?"),
                ("[job.lst]\njson = true\n", "1:6: there is no command `lst` of `rota job`; did you mean `list`?"),
                ("max-active = 4\n", "1:1: `max-active` is in no section; write [serve], say, above it"),
                ("[serve]\nconfig = 'a'\n", "2:1: [serve] has no `config`"),
                ("[serve\n", "this is no TOML"),
                ("[cron]\ncount = 1979-05-27\n", "2:9: a value is a text in quotes")]:
            with self.subTest(text=text):
                said = self.refused("tour", file=text)
                self.assertTrue(said.startswith(f"{self.file}:"), said)
                self.assertIn(message, said)

    def test_a_file_that_others_can_write_is_refused(self):
        self.file.write_text("[cron]\ncount = 2\n")
        self.file.chmod(0o666)
        self.assertIn("others can write the file", self.refused("tour", ROTA_CONFIG=str(self.file)))
        self.file.chmod(0o600)
        link = self.folder / "link.toml"
        link.symlink_to(self.file)
        self.assertIn("is a symbolic link", self.refused("tour", ROTA_CONFIG=str(link)))

    @unittest.skipUnless(os.geteuid() == 0, "needs two users")
    def test_root_takes_no_file_of_another_user(self):
        self.file.write_text("[cron]\ncount = 2\n")
        os.chown(self.file, 65534, 65534)
        self.assertIn("it must be root's", self.refused("tour", ROTA_CONFIG=str(self.file)))

    def test_coop_keeps_its_status_for_wrong_usage(self):
        self.refused("coop", "run", "/dev/null", file="[coop]\nlimit = -1\n", status=1)

    def test_help_says_the_rule_and_a_variable(self):
        done = self.rota("serve", "--help")
        self.assertIn("ROTA_SERVE_", done.stdout)
        self.assertIn("Flags beat the file, the file beats the environment", " ".join(done.stdout.split()))
        self.assertIn("--config FILE", done.stdout)


if __name__ == "__main__":
    ROTA = sys.argv.pop(1)
    unittest.main()
