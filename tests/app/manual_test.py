#!/usr/bin/env python3
"""`rota manual` and `rota completion`: pages and scripts have every command and option, and the programs that read
them understand them.

  manual_test.py ROTA    the program to test

What --help prints is the list of what there is. A shell that is not installed is left out.
"""

import functools
import os
import pathlib
import pty
import re
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROTA = ""


def rota(*words):
    return subprocess.run([ROTA, *words], capture_output=True, text=True, timeout=60, check=False)


def help_of(path):
    """The names below a command, and its options, as --help has them."""
    text = rota(*path, "--help").stdout
    parts = re.split(r"^([A-Z].*):\n(?=  )", text, flags=re.MULTILINE)
    found = {title: body.split("\n\n")[0] for title, body in zip(parts[1::2], parts[2::2])}
    below = []
    for title, body in found.items():  # "Subcommands", or headings of groups
        if title == "Subcommands" or (path == () and title not in ("Positionals", "Options")):
            below += re.findall(r"^  ([a-z][-_a-z0-9]*)", body, flags=re.MULTILINE)
    options = []
    for line in found.get("Options", "").splitlines():
        options += re.findall(r"^  ((?:-{1,2}[a-z][-a-z]*,?)+)", line)
    return below, [name for names in options for name in names.split(",")]


@functools.cache
def commands():
    """Every command as (words, names below, options)."""
    found, todo = [], [()]
    while todo:
        path = todo.pop()
        below, options = help_of(path)
        found.append((path, below, options))
        if path[:1] == ("check",) and len(below) > 3:
            below = below[:3]  # The models are alike; --help of each takes its time.
        todo += [(*path, name) for name in below]
    return found


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name) / "man" / "man1"
        cls.written = rota("manual", "--output", str(cls.folder))

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def plain(self, name):
        """A page as a reader sees it, without breaks."""
        shown = subprocess.run(["man", "-l", str(self.folder / name)], capture_output=True, text=True, check=True,
                               env={**os.environ, "MANWIDTH": "1000", "LC_ALL": "C.UTF-8", "MAN_KEEP_FORMATTING": ""})
        return re.sub(r".\x08", "", shown.stdout)

    def test_there_is_a_page_for_each_command(self):
        self.assertEqual((self.written.returncode, self.written.stderr), (0, ""))
        below, _ = help_of(())
        names = sorted(page.name for page in self.folder.iterdir())
        self.assertEqual(names, sorted(["rota.1"] + [f"rota-{name}.1" for name in below]))

    @unittest.skipUnless(shutil.which("groff"), "without groff")
    def test_the_formatter_has_no_complaint(self):
        runner = pathlib.Path(__file__).resolve().parents[2] / "packaging" / "rota-runner.8"
        for page in [*self.folder.iterdir(), runner]:
            done = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8", page], capture_output=True, text=True,
                                  check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), page.name)

    @unittest.skipUnless(shutil.which("man"), "without man-db")
    def test_every_command_and_option_is_on_its_page(self):
        pages = {}
        for path, below, options in commands():
            name = "rota-" + path[0] + ".1" if path else "rota.1"
            text = pages.setdefault(name, self.plain(name))
            for word in below:
                self.assertRegex(text, r"(?m)^ +(rota )?(\S+ )?" + re.escape(word) + r"\b", (name, path))
            for option in options:
                self.assertRegex(text, r"(?m)^ +(-\w, )?" + re.escape(option) + r"\b", (name, path))

    @unittest.skipUnless(shutil.which("man"), "without man-db")
    def test_a_page_says_what_the_help_does_not(self):
        serve = self.plain("rota-serve.1")
        self.assertIn("from 1 to 100000", serve)
        self.assertIn("/var/lib/rota", serve)
        for title in ("SYNOPSIS", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "FILES", "SEE ALSO"):
            self.assertRegex(serve, rf"(?m)^{title}$")
        self.assertIn("ROTA_JOB_SOCKET", self.plain("rota-job.1"))
        # Dots, dashes, quotes and backslashes come out as they went in.
        self.assertIn("""as rota topic pub /goal '{"x": 1, "y": 2}'""", self.plain("rota-topic.1"))

    def test_one_page_goes_to_standard_output(self):
        self.assertEqual(rota("manual", "serve").stdout, (self.folder / "rota-serve.1").read_text())
        self.assertEqual(rota("manual").stdout, (self.folder / "rota.1").read_text())

    def test_what_makes_no_sense_is_refused(self):
        for words in (["manual", "nonsense"], ["manual", "serve", "--output", self.scratch.name],
                      ["manual", "--output", "/proc/nowhere"], ["completion", "tcsh"], ["completion"]):
            done = rota(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertTrue(done.stderr.startswith("rota " + words[0]), done.stderr)

    def test_the_version_is_printed(self):
        self.assertRegex(rota("--version").stdout, r"\Arota \d+\.\d+\.\d+\n\Z")


class Shells(unittest.TestCase):
    """What each shell offers after these words; those of all shells are asked the same."""

    # (what is typed, what is offered among others, what is not)
    LINES = [
        ("rota ", ["serve", "job", "check", "completion"], ["add"]),
        ("rota jo", ["job"], ["serve"]),
        ("rota job ", ["add", "history", "import"], ["serve"]),
        ("rota --v", ["--version"], ["--help"]),
        ("rota job history --l", ["--limit"], ["--json"]),
        ("rota check event_n", ["event_notifier", "event_notifier_fix"], ["scheduler"]),
        ("rota check scheduler --sy", ["--symmetry"], ["--set"]),
        ("rota coop run --semantics ", ["lagc", "sos-sched"], ["--json"]),
        ("rota coop run --semantics=so", ["sos", "sos-sched"], ["lagc"]),
        ("rota cron next --dst ", ["wall", "vixie"], []),
        ("rota completion ", ["bash", "zsh", "fish"], []),
    ]

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.home = pathlib.Path(cls.scratch.name)
        for shell in ("bash", "zsh", "fish"):
            (cls.home / f"rota.{shell}").write_text(rota("completion", shell).stdout)
        (cls.home / "table.toml").write_text("")
        (cls.home / "tables").mkdir()
        # A rota that answers as if there were a daemon.
        bin_ = cls.home / "bin"
        bin_.mkdir()
        (bin_ / "rota").write_text("#!/bin/sh\n[ \"$*\" = 'job list --names' ] && printf 'backup\\nreport\\n'\n")
        (bin_ / "rota").chmod(0o755)
        cls.env = {**os.environ, "HOME": cls.scratch.name, "PATH": f"{bin_}:{os.environ['PATH']}"}

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def run_shell(self, *words):
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, env=self.env,
                              cwd=self.home)
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return done.stdout

    def bash(self, *lines):
        """What the function offers for each line, and with `compopt`, what it leaves to bash itself."""
        script = 'source ./rota.bash; compopt() { echo "compopt $*"; }\n'
        for line in lines:
            words = [word for word in re.split(r" +|(=)", line) if word]  # as bash does
            words += [""] if line.endswith(" ") else []
            script += (f"COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; _rota\n"
                       'printf "%s\\n" "${COMPREPLY[@]}" -end-\n')
        offers = [offer.split() for offer in self.run_shell("bash", "-c", script).split("-end-\n")]
        return offers[0] if len(lines) == 1 else offers[:-1]

    def fish(self, *lines):
        script = "source rota.fish\n" + "".join(f"complete -C '{line}'; echo ==\n" for line in lines)
        parts = self.run_shell("fish", "--no-config", "-c", script).split("==\n")
        offers = [[offer.split("\t")[0].split("=")[-1] for offer in part.splitlines()] for part in parts]
        return offers[0] if len(lines) == 1 else offers[:-1]

    def offers_what_fits(self, offers):
        for (line, offered, others), found in zip(self.LINES, offers, strict=True):
            self.assertLessEqual(set(offered), set(found), line)
            self.assertFalse(set(others) & set(found), line)

    def test_bash_offers_what_fits(self):
        self.offers_what_fits(self.bash(*[line for line, _, _ in self.LINES]))

    def test_bash_knows_files_folders_programs_and_jobs(self):
        self.assertIn("default", self.bash("rota serve --crontab "))
        self.assertIn("default", self.bash("rota coop run "))
        self.assertIn("dirnames", self.bash("rota serve --state="))
        self.assertIn("python3", self.bash("rota job add nightly -- pyth"))
        self.assertEqual(self.bash("rota job show ba"), ["backup"])
        self.assertEqual(self.bash("rota serve --max-active "), [])

    def test_bash_has_every_command_and_option(self):
        lines = [" ".join(("rota", *path, "")) for path, _, _ in commands()]
        every_below = self.bash(*lines)
        every_option = self.bash(*[line + "-" for line in lines])
        for i, (path, below, options) in enumerate(commands()):
            self.assertLessEqual(set(below), set(every_below[i]), path)
            self.assertLessEqual(set(options), set(every_option[i]), path)

    @unittest.skipUnless(shutil.which("fish"), "without fish")
    def test_fish_offers_what_fits(self):
        self.offers_what_fits(self.fish(*[line for line, _, _ in self.LINES]))
        self.assertLessEqual({"table.toml", "tables/"}, set(self.fish("rota serve --crontab ")))
        self.assertIn("tables/", self.fish("rota serve --state "))
        self.assertNotIn("table.toml", self.fish("rota serve --state "))
        self.assertNotIn("table.toml", self.fish("rota serve "))
        self.assertEqual(self.fish("rota job show "), ["backup", "report"])

    @unittest.skipUnless(shutil.which("zsh"), "without zsh")
    def test_zsh_completes(self):
        with Typist(["zsh", "-f", "-i"], self.env, self.home) as zsh:
            zsh.enter("PS1='ready> '; autoload -Uz compinit; compinit -u -D; source ./rota.zsh; "
                      "tell() { print -r -- \"[$BUFFER]\" }; zle -N tell; bindkey '^X' tell; echo $((6*7))", "42")
            for typed, shown in [("jo", "job "), ("job hi", "job history "), ("job history --li", "--limit="),
                                 ("check event_notifier_", "check event_notifier_fix "),
                                 ("check event_notifier_fix --sy", "--symmetry "),
                                 ("coop run --awaits ha", "--awaits handle "), ("completion fi", "completion fish "),
                                 ("serve --crontab table.", "table.toml "), ("serve --state tab", "--state tables/"),
                                 ("job show ba", "show backup "), ("--vers", "--version ")]:
                zsh.completes("rota " + typed, shown + "]")


class Typist:
    """A shell on a terminal of its own."""

    def __init__(self, words, env, folder):
        self.words, self.env, self.folder = words, env, folder

    def __enter__(self):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(self.folder)
            os.execvpe(self.words[0], self.words, {**self.env, "TERM": "dumb", "COLUMNS": "200"})
        return self

    def __exit__(self, *_):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)

    def read_until(self, shown):
        seen, end = "", time.monotonic() + 20
        while shown not in seen:
            ready, _, _ = select.select([self.terminal], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise AssertionError(f"waited for {shown!r}, saw {seen!r}")
            seen += os.read(self.terminal, 4096).decode(errors="replace")
        return seen

    def enter(self, line, shown):
        os.write(self.terminal, (line + "\n").encode())
        self.read_until(shown + "\r\n")

    def completes(self, typed, shown):
        """Tab, then ^X shows the line, and ^U throws it away."""
        os.write(self.terminal, typed.encode() + b"\t\x18")
        self.read_until(shown)
        os.write(self.terminal, b"\x15")


if __name__ == "__main__":
    ROTA = sys.argv.pop(1)
    unittest.main()
