#!/usr/bin/env python3
"""Every command line on a page is run, and prints what the page shows.

  pages_test.py ROTA EXAMPLES [PAGE...]    the program, the folder of the built examples, and pages (all)

Blocks of a page, by the word behind their ```:

  console   "$ " begins a command, "> " goes on with it; the other lines are what it prints, errors first.
            "..." as a line stands for any lines, within a line for any text.
  sh        commands that end with 0, or with N if their comment begins with "ends with N". What they print is not
            shown. A comment with the word "stays" says that the command goes on until the page is over.
  others    no commands. After a line  <!-- file NAME -->  the block is written to that file; after
            <!-- from FILE -->  it stands in FILE (tools/check_docs), and if it is a whole example it becomes the
            program of a tutorial (Setting.programs).

All commands of a page are given to one shell, in a folder that looks like the tree. Its home is in there, its
daemons listen on free ports, and "./run WORDS" is the built "rota WORDS". What is not run is in NOT_RUN, with
the reason. Commands of rota in the text between blocks are not run: their words and flags have to exist.
"""

import concurrent.futures
import dataclasses
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SECONDS = 30  # for one command; far more than any takes
PATIENCE = 15  # how long what a page shows may take to become true

TIME = r"\d\d:\d\d:\d\d"
DAY = r"\d{4}-\d\d-\d\d"


@dataclasses.dataclass
class Setting:
    """What a page takes for granted."""
    files: str = ""  # copied to where the commands are run
    before: str = ""  # run before the first command; what stays in the background is ended with the page
    programs: tuple = ()  # (how an example's name begins, where a tutorial has it once it has shown all of it)
    varies: tuple = ()  # what differs from run to run: where the page has one of these, any other may be


SETTINGS = {
    "README.md": Setting(before="inspected robot.sock >robot.log & export ROTA_SOCKET=$PWD/robot.sock"),
    "docs/coop.md": Setting(files="tests/coop/programs/*.cw"),
    "docs/coop_tutorial.md": Setting(files="tests/coop/programs/*.cw"),
    "docs/events.md": Setting(before="inspected robot.sock >robot.log &"),
    "docs/looking_inside.md": Setting(before="traced - traced.sock >traced.log &"),
    "docs/tutorial_library.md": Setting(
        programs=(("station_race", "~/station/build/station_test"), ("station_", "~/station/build/station")),
        varies=(r"\b(?:sleeps|searches|runs)(?= +\d)", r"\d+\.\d s",
                r"\d+ (?:published|handled|records|wait\b|scheduling)", r"(?<= )\d+(?= +\d)", r"^\d+$")),
    "docs/tutorial_operator.md": Setting(
        varies=(rf"{DAY} {TIME}", rf"{DAY}T{TIME}(?:\.\d+)?\+00:00", r"\b[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d "
                + TIME + r" UTC \d{4}", r"\d+\.\d+ s\b", r"pid \d+", r"127\.0\.0\.1:\d+", r"token=[0-9a-f]+")),
    "docs/tutorial_researcher.md": Setting(
        programs=(("turns", "~/turns/build/turns"), ("handover", "~/turns/build/handover")),
        varies=(r"\d+\.\d\d s\b", r"\d+\.\d MiB")),
}
SETTINGS["docs/jobs.md"] = SETTINGS["docs/tutorial_operator.md"]

# How a command begins that is not run, and why not. Its words are looked at all the same (check_words).
NOT_RUN = (
    (r"\./run( build| package| docs| bench\b.*)?$", "builds for minutes; the tour is the test app_tour"),
    (r"\./test\b", "is what runs this test"),
    (r"(sudo |apt-get |apt |dpkg |systemctl |journalctl |systemd-analyze )", "changes or asks the whole machine"),
    (r"git clone ", "needs a network"),
    (r"tools/setup\b", "installs packages"),
    (r"packaging/", "builds for minutes; packages have tests of their own"),
    (r"node specs/check\.mjs|ROTA_PAGE_URL=", "are the tests specs_tla and of the page of `rota serve`"),
    (r"(cmake|ctest|ninja|ASAN_OPTIONS=\S+) ", "builds; ./test builds those trees, package_* the projects"),
    (r"(mkdir -p build/fuzz\S*|build/fuzz\S*) ", "fuzzes for minutes, in a build of its own"),
    (r"(bench/|build/bench/)", "measures for minutes, in a build of its own"),
    (r"(firefox|xdg-open|crontab|ssh|man) ", "is a program or a table of the user's own"),
)

# Asked again until the answer is as shown: somebody else, who was just started, has to get that far.
PATIENT = re.compile(r"(?:rota|\./run) (job (list|logs|history|show|status|page|next|reload)|graph|topic|service|top|"
                     r"trace)\b|cat |ls |sqlite3 ")


# --- reading pages --------------------------------------------------------------------------------

def pages():
    """All pages that have commands for users and developers."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for folder in ("specs", "bench", "apps", "examples", "packaging", "tests"):
        found += sorted((ROOT / folder).rglob("*.md"))
    return [page for page in found if "node_modules" not in page.parts]


@dataclasses.dataclass
class Block:
    line: int
    kind: str
    above: str
    lines: list


def blocks(text):
    lines = text.splitlines()
    start = None
    for i, line in enumerate(lines):
        if not line.startswith("```"):
            continue
        if start is None:
            start = i
        else:
            yield Block(start + 1, lines[start][3:].strip(), lines[start - 1] if start else "", lines[start + 1:i])
            start = None


@dataclasses.dataclass
class Command:
    line: int
    text: str
    shown: list = dataclasses.field(default_factory=list)

    @property
    def comment(self):
        found = re.search(r"(?:^|\s)#\s(.*)", self.text)
        return found[1] if found else ""

    @property
    def bare(self):
        """Without its comment."""
        return re.sub(r"\s+#\s.*", "", self.text)


def is_whole(text):
    """Whether a shell would take it as it is, rather than wait for more lines."""
    if text.endswith("\\"):
        return False
    asked = subprocess.run(["bash", "-n"], input=text + "\n", capture_output=True, text=True, check=False)
    return asked.returncode == 0 and "here-document" not in asked.stderr


def commands(block):
    found = []
    if block.kind == "console":
        for number, line in enumerate(block.lines, block.line + 1):
            if line.startswith("$ "):
                found.append(Command(number, line[2:]))
            elif line.startswith("> ") and found and not found[-1].shown:
                found[-1].text += "\n" + line[2:]
            elif found:
                found[-1].shown.append(line)
    elif block.kind == "sh":
        text = ""
        for number, line in enumerate(block.lines, block.line + 1):
            text = f"{text}\n{line}" if text else line
            if not text.strip():
                text = ""
            elif is_whole(text):
                if not text.startswith("#"):
                    found.append(Command(number, text))
                text = ""
    return found


# --- comparing ------------------------------------------------------------------------------------

def pattern_of(line, varies):
    """What a line that a page shows may look like."""
    pattern, at = "", 0
    choices = (r"\.\.\.", *varies)
    for place in re.finditer("|".join(f"({choice})" for choice in choices), line):
        pattern += re.escape(line[at:place.start()])
        pattern += ".*" if place.lastindex == 1 else choices[place.lastindex - 1].strip("^$")
        at = place.end()
    pattern += re.escape(line[at:])
    if varies:  # what varies may be longer or shorter, and moves what is right of it
        pattern = re.sub(r"(?:\\ ){2,}", r"\\ +", pattern)
    return pattern


def matches(shown, found, varies):
    pattern = "".join(r"(?:.*\n)*" if line == "..." else pattern_of(line, varies) + r" *\n" for line in shown)
    return re.fullmatch(pattern, found + ("" if not found or found.endswith("\n") else "\n")) is not None


# --- running --------------------------------------------------------------------------------------

RUN = """#!/bin/sh
# Stands for ./run of the tree, with what is built already.
[ "$*" = serve ] && set -- serve --jobs examples/first_jobs
exec rota "$@"
"""

PROGRAM = """#!/bin/bash
# The program, whose daemons keep everything in this folder and take a port that is free.
if [ "$1" = serve ] && [[ "$*" != *--help* ]]; then
  shift
  set -- serve --state "$HOME/.local/state/rota" --listen 127.0.0.1:0 "$@"
fi
exec {rota} "$@"
"""


class Shell:
    """A bash in a folder of its own; what one command leaves there, the next one finds."""

    def __init__(self, rota, examples, setting):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rota_page_"))
        self.tree = self.folder / "tree"
        self.home = self.folder / "home"
        self.bin = self.folder / "bin"
        self.names = {}  # of examples: their files without .cpp, as the page calls them
        for folder in (self.tree / "build/release/bin", self.home, self.bin):
            folder.mkdir(parents=True)
        for entry in ROOT.iterdir():
            if entry.name not in ("build", "run", ".git"):
                (self.tree / entry.name).symlink_to(entry)
        self.script(self.tree / "run", RUN)
        self.script(self.bin / "rota", PROGRAM.format(rota=rota))
        (self.tree / "build/release/bin/rota").symlink_to(self.bin / "rota")
        (self.tree / "build/release/examples").symlink_to(examples)
        for program in ROOT.glob(setting.files) if setting.files else ():
            shutil.copy(program, self.tree)
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("ROTA_", "XDG_"))}
        environment.update(HOME=str(self.home), TZ="UTC", LC_ALL="C.UTF-8", NO_COLOR="1", USER="you",
                           PATH=f"{self.bin}:{examples}:{os.environ['PATH']}",
                           ROTA_JOB_SOCKET=str(self.home / ".local/state/rota/rota.sock"))
        self.bash = subprocess.Popen(["bash", "--norc"], cwd=self.tree, env=environment, stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        self.run("umask 022")

    @staticmethod
    def script(path, text):
        path.write_text(text)
        path.chmod(0o755)

    def place(self, name):
        """A file here, in a folder that there is now; ~ is the home."""
        path = self.tree / name.replace("~", str(self.home))
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def put(self, name, program):
        """Puts a built example to where the page has it, compiled from a file beside the folder `build`."""
        path = self.place(name)
        path.unlink(missing_ok=True)
        path.symlink_to(program)
        self.names[program.name] = path.parent.parent / path.name

    def run(self, text):
        """Gives the status and all that was printed."""
        mark = f"end-of-command-{time.monotonic_ns()}"
        end = time.monotonic() + SECONDS
        self.bash.stdin.write(f"{{ {text}\n}} </dev/null\nprintf '\\n%s %d\\n' {mark} $?\n".encode())
        self.bash.stdin.flush()
        found = b""
        while not (over := re.search(rb"\n" + mark.encode() + rb" (\d+)\n", found)):
            ready, _, _ = select.select([self.bash.stdout], [], [], max(0, end - time.monotonic()))
            piece = os.read(self.bash.stdout.fileno(), 65536) if ready else b""
            if not piece:
                raise TimeoutError(f"{text}\n  has not ended within {SECONDS} s, or has ended the shell; it printed\n"
                                   + found.decode(errors="replace"))
            found += piece
        return int(over[1]), self.as_shown(found[:over.start()].decode(errors="replace"))

    def as_shown(self, printed):
        """With the names of files as a reader has them, and without the shell's remarks on what was killed."""
        printed = re.sub(r"(?m)^bash: line \d+: +\d+ Killed .*(?:\n|$)", "", printed)
        for example, place in self.names.items():
            printed = re.sub(rf"/\S*/{example}\.cpp", f"{place}.cpp", printed)
            printed = re.sub(rf"\b{example}\.cpp", f"{place.name}.cpp", printed)
        return printed.replace(str(self.home), "~").replace(str(self.tree), "~/tree")

    def end(self):
        try:
            self.run("kill $(jobs -p) 2>/dev/null; true")
        except (OSError, TimeoutError):
            pass
        finally:
            os.killpg(self.bash.pid, signal.SIGKILL)  # the shell has a session of its own, and is not waited for yet
            self.bash.wait()
            self.bash.stdin.close()
            self.bash.stdout.close()
            shutil.rmtree(self.folder, ignore_errors=True)


def is_right(command, status, printed, varies):
    said = [line for line in command.shown if line != "..."]
    if said:
        return matches(command.shown, printed, varies) and status not in (126, 127)
    wanted = re.match(r"ends with (\d+)", command.comment)
    return status == (int(wanted[1]) if wanted else 0)


def try_out(shell, command, varies):
    text = command.text
    if re.search(r"\bstays\b", command.comment):
        text = command.bare + " >stays.log 2>&1 &"
    end = time.monotonic() + (PATIENCE if PATIENT.match(command.text) else 0)
    while True:
        status, printed = shell.run(text)
        if is_right(command, status, printed, varies):
            return None
        if time.monotonic() >= end:
            return f"{command.bare}\n  ended with {status} and printed\n{printed}"
        time.sleep(0.2)


def whole_example(block):
    """The example that a block of code is all of."""
    source = re.match(r"<!-- from (examples/\S+\.cpp) -->", block.above)
    if not source or not (ROOT / source[1]).exists():
        return None
    code = (ROOT / source[1]).read_text()
    return pathlib.Path(source[1]).stem if code == "\n".join(block.lines) + "\n" else None


def check(rota, examples, page):
    """How many commands of the page were run, how many were not, and what is wrong with it."""
    name = str(page.relative_to(ROOT)) if page.is_relative_to(ROOT) else page.name
    setting = SETTINGS.get(name, Setting())
    all_blocks = list(blocks(page.read_text()))
    if not any(commands(b) for b in all_blocks):
        return 0, 0, []
    ran, left, wrong = 0, 0, []
    shell = Shell(rota, examples, setting)
    try:
        if setting.before:
            shell.run(setting.before)
        for block in all_blocks:
            if file := re.match(r"<!-- file (\S+) -->", block.above):
                shell.place(file[1]).write_text("\n".join(block.lines) + "\n")
            elif example := whole_example(block):
                for begin, place in setting.programs:
                    if example.startswith(begin):
                        shell.put(place, examples / example)
                        break
            for command in commands(block):
                if any(re.match(p, command.bare) for p, _ in NOT_RUN):
                    left += 1
                    wrong += [f"{name}:{command.line}: {w}" for w in check_words(command.bare)]
                    continue
                ran += 1
                try:
                    trouble = try_out(shell, command, setting.varies)
                except TimeoutError as late:
                    return ran, left, [*wrong, f"{name}:{command.line}: {late}"]
                if trouble:
                    wrong.append(f"{name}:{command.line}: {trouble}")
    finally:
        shell.end()
    return ran, left, wrong


# --- what is not run ------------------------------------------------------------------------------

def in_tree(pattern, *files):
    return any(re.search(pattern, f.read_text()) for pat in files for f in ROOT.glob(pat))


def check_words(text):
    """What is wrong with a command that is not run: files, flags, presets and options have to exist."""
    wrong = []
    for command in re.split(r"&&|\|\|?|;", re.sub(r"\$\([^)]*\)", "", text)):
        words = command.split()
        while words and (words[0] in ("sudo", "node") or re.match(r"[A-Z_]+=", words[0])):
            words = words[1:]
        if not words:
            continue
        file = ROOT / words[0]
        if "/" in words[0] and not words[0].startswith(("/", "~", "build/")) and not file.exists():
            wrong.append(f"{words[0]} does not exist")
        elif file.is_file() and os.access(file, os.X_OK) and words[0] not in ("./run", "tools/setup"):
            told = subprocess.run([file, "--help"], capture_output=True, text=True, check=False, timeout=SECONDS)
            wrong += [f"{words[0]} --help does not know {flag}" for flag in words[1:]
                      if flag.startswith("--") and flag.split("=")[0] not in told.stdout + told.stderr]
        wrong += [f"there is no preset {preset}" for preset in re.findall(r"--preset (\S+)", command)
                  if not in_tree(rf'"name": "{preset}"', "CMakePresets.json")]
        wrong += [f"there is no option {option}" for option in re.findall(r"-D ?(ROTA_\w+)=", command)
                  if not in_tree(rf"\b{option}\b", "CMakeLists.txt", "cmake/*.cmake")]
        wrong += [f"there is no example {name}" for name in re.findall(r"--target example_(\S+)", command)
                  if not list(ROOT.glob(f"examples/**/{name}.cpp"))]
    return wrong


class Help:
    """What the program says about its commands."""

    def __init__(self, rota):
        self.rota = rota
        self.told = {}

    def of(self, words):
        if words not in self.told:
            asked = subprocess.run([self.rota, *words, "--help"], capture_output=True, text=True, check=False,
                                   timeout=SECONDS)
            self.told[words] = asked.stdout
        return self.told[words]

    def commands(self, words):
        """Those below "Subcommands:", or below headings of groups."""
        found, heading = set(), ""
        for line in self.of(words).splitlines():
            if re.match(r"\S.*:$", line):
                heading = line
            elif not line:
                heading = ""
            elif heading and heading not in ("Options:", "Positionals:"):
                found |= set(re.findall(r"^  ([a-z][\w-]*)\s", line))
        return found

    def wrong(self, span):
        """What is wrong with a command that a sentence names: the first word of rota's that there is not."""
        path, words = (), span.split()[1:]
        while words and self.commands(path):
            word = words[0].rstrip(",")
            if not re.fullmatch(r"[a-z][\w-]*", word):
                break
            if word not in self.commands(path):
                return f"there is no `rota {' '.join((*path, word))}`"
            more = words[0].endswith(",")  # "rota job add, list, show": all of these
            if not more:
                path += (word,)
            words = words[1:]
        if path == ("check",) and words[:1] == ["MODEL"]:
            path += ("scheduler",)
        for flag in (w.split("=")[0] for w in words if re.match(r"--[a-z]", w)):
            if not re.search(rf"{flag}\b", self.of(path)):
                return f"`rota {' '.join(path)}` has no {flag}"
        return None


def check_text(helper, page):
    """Commands of rota in sentences: (how many, what is wrong)."""
    count, wrong, within = 0, [], False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            within = not within
        if within:
            continue
        for span in re.findall(r"`((?:rota|\./run) [a-z][^`]*)`", line):
            if re.match(r"\./run (build|bench|package|docs)\b", span):
                continue
            count += 1
            if trouble := helper.wrong(span.split(" -- ")[0]):
                wrong.append(f"{page.relative_to(ROOT)}:{number}: {trouble}")
    return count, wrong


# A page on which every command is wrong, each in its own way.
WRONG_PAGE = """
```console
$ rota cron explain '@daily' --loud
$ rota corn explain '@daily'
$ there-is-no-such-program
$ rota cron explain '@daily'
at 01:00 every day, UTC
$ rota cron next '@daily' --from 2026-03-28T00:00:00Z --count 2
2026-03-29T00:00:00Z
$ head nowhere.txt
...
$ ./test --shorter
$ bench/run --faster
$ cmake --preset nowhere
$ cmake --build build/release --target example_of_nothing
```

```sh
rota cron check '0 0 * * fri-mon'
rota cron check '* * * * *'   # ends with 2
```
"""
WRONG_SPANS = ("rota corn next", "rota job lst", "rota job list --loud", "rota check MODEL --mutant-s")


def self_test(rota, examples, helper):
    """Which mistakes are not noticed."""
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "wrong.md"
        page.write_text(WRONG_PAGE)
        told = "\n".join(check(rota, examples, page)[2])
        every = [c for b in blocks(WRONG_PAGE) for c in commands(b)]
        missed = [c.text for c in every if f"wrong.md:{c.line}:" not in told]
    missed += [span for span in WRONG_SPANS if not helper.wrong(span)]
    return [f"this is wrong, and was not noticed: {text}" for text in missed]


def main():
    rota, examples = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    chosen = [pathlib.Path(word).resolve() for word in sys.argv[3:]] or pages()
    ran, left, named, wrong = 0, 0, 0, []
    helper = Help(rota)
    wrong += self_test(rota, examples, helper)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for one in pool.map(lambda page: check(rota, examples, page), chosen):
            ran, left, wrong = ran + one[0], left + one[1], wrong + one[2]
    for page in chosen:
        if page.is_relative_to(ROOT):
            count, trouble = check_text(helper, page)
            named, wrong = named + count, wrong + trouble
    print("\n".join(wrong + [f"{ran} commands run, {left} looked at, {named} named in sentences; "
                             f"{len(wrong)} wrong"]))
    return 1 if wrong or ran == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
