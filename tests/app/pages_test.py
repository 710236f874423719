#!/usr/bin/env python3
"""What a page shows of the program rota is what it prints.

  pages_test.py ROTA PAGE...    the program, and the pages to hold it against

In a block of a page that starts with "$ ", each line "$ rota ..." is run, up to a comment, in a
folder with the reference programs of tests/coop/programs and the files of the page: a block after a
line  <!-- file NAME -->. The lines below a command are its output, errors first; "..." stands for
any lines.
"""

import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

WRONG_USAGE = 1  # in `rota coop`
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def blocks(text):
    """Each block of a page, as (line number, the line above it, its lines)."""
    lines = text.splitlines()
    start = None
    for i, line in enumerate(lines):
        if not line.startswith("```"):
            continue
        if start is None:
            start = i
        else:
            yield start + 1, lines[start - 1], lines[start + 1:i]
            start = None


def commands(lines):
    """Each command of a block with the output that is shown for it."""
    shown = []
    for line in lines:
        if line.startswith("$ "):
            shown.append((re.sub(r"\s+#.*", "", line[2:]), []))
        else:
            shown[-1][1].append(line)
    return shown


def matches(expected, found):
    pattern = "".join(r"(?:.*\n)*" if line == "..." else re.escape(line) + r"\n" for line in expected)
    return re.fullmatch(pattern, found)


def run(rota, command, folder):
    words = shlex.split(command)
    if words[0] != "rota":
        raise ValueError(f"'{command}' is no command of rota")
    done = subprocess.run([rota, *words[1:]], cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, timeout=60,
                          check=False)
    return done.returncode, done.stdout


def check(rota, page):
    """How many commands of the page were run, and what is wrong with it."""
    count, wrong = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for program in (ROOT / "tests/coop/programs").glob("*.cw"):
            shutil.copy(program, folder)
        for number, above, lines in blocks(page.read_text()):
            if name := re.match(r"<!-- file (\S+) -->", above):
                (pathlib.Path(folder) / name[1]).write_text("\n".join(lines) + "\n")
            elif lines and lines[0].startswith("$ "):
                for command, expected in commands(lines):
                    count += 1
                    status, found = run(rota, command, folder)
                    # A page that only shows how to call something may leave out what it prints.
                    if status == WRONG_USAGE or (expected and not matches(expected, found)):
                        wrong.append(f"{page}:{number}: {command} prints\n{found}")
    return count, wrong


def main():
    rota = pathlib.Path(sys.argv[1]).resolve()
    count, wrong = 0, []
    for page in sys.argv[2:]:
        one = check(rota, pathlib.Path(page))
        count += one[0]
        wrong += one[1]
    print("\n".join(wrong + [f"{count} commands, {len(wrong)} wrong"]))
    return 1 if wrong or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
