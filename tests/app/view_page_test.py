#!/usr/bin/env python3
"""The page of `rota coop view` in a browser: what it shows at each step, and its keys.

  view_page_test.py ROTA CHROMIUM    the program, and a browser without a window

Each step that the page shows is held against the trace of the same run. The page is given one more
script that presses keys and notes what is shown; the browser prints what has become of the page.
"""

import html
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAMS = pathlib.Path(__file__).resolve().parent.parent / "coop" / "programs"
ROTA = CHROMIUM = ""

# Notes what the page shows after each key, and the errors of its script.
DRIVER = """<script>{
const shown = [], errors = [];
window.onerror = (what) => errors.push(String(what));
const text = (id) => document.getElementById(id).innerText.trim();
const note = (key) => shown.push({key, step: document.getElementById('number').value, rule: text('rule'), words: text('words'),
  finish: text('finish'), queue: [...document.querySelectorAll('#queue tbody tr')].map((row) =>
    [...row.children].map((cell) => cell.innerText.trim())),
  state: [...document.querySelectorAll('#state tbody tr')].map((row) =>
    [...row.children].map((cell) => cell.innerText.trim()))});
note('');
for (const key of KEYS) {
  document.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
  note(key);
}
const noted = document.createElement('pre');
noted.id = 'noted';
noted.textContent = JSON.stringify({shown, errors});
document.body.replaceChildren(noted);
}</script>"""


def seen(program, keys, *words, at=""):
    """What the page shows at first and after each key."""
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.html"
        subprocess.run([ROTA, "coop", "view", program, "-o", page, *map(str, words)], check=True,
                       stdout=subprocess.DEVNULL, timeout=60)
        driver = DRIVER.replace("KEYS", json.dumps(keys))
        page.write_text(page.read_text().replace("</body>", driver + "</body>"))
        done = subprocess.run(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-background-networking", f"--user-data-dir={folder}/user", "--dump-dom",
             f"file://{page}{at}"], capture_output=True, text=True, timeout=120, check=True)
    noted = re.search(r'<pre id="noted">(.*?)</pre>', done.stdout, re.DOTALL)
    if not noted:
        raise AssertionError("the page's script did not come to its end:\n" + done.stderr)
    found = json.loads(html.unescape(noted[1]))
    if found["errors"]:
        raise AssertionError(found["errors"])
    return found["shown"]


def trace(program, *words):
    lines = subprocess.run([ROTA, "coop", "run", program, "--trace", "-", *map(str, words)],
                           capture_output=True, text=True, timeout=60, check=False).stdout
    return [json.loads(line) for line in lines.splitlines()]


def shown_value(value):
    if isinstance(value, dict):
        return f"task {value['task']}"
    return json.dumps(value)


class Page(unittest.TestCase):
    def same_as_trace(self, program, *words):
        steps = trace(program, *words)[1:-1]
        shown = seen(program, ["ArrowRight"] * (len(steps) - 1), *words)
        state = {}
        for step, page in zip(steps, shown, strict=True):
            where = f"{program} step {step['n']}"
            if step["n"]:
                self.assertRegex(page["rule"], rf"\b{re.escape(step['rule'])}\b", where)
            for name, value in list(step.get("state", {}).items()) + step.get("set", []):
                state[name] = shown_value(value)
            self.assertEqual(dict((row[0], row[1]) for row in page["state"]), state, where)
            tasks = [step["active"]] if step["active"] else []
            tasks += step["queue"]
            # A row of one cell is a remark: nobody is active, nobody waits.
            rows = [row for row in page["queue"] if len(row) > 1]
            self.assertEqual([int(row[1].split()[0]) for row in rows],
                             [task["f"] for task in tasks], where)

    def test_every_step_is_that_of_the_trace(self):
        for name in ["04_place_in_queue", "05_nested", "07_bounded_buffer"]:
            self.same_as_trace(PROGRAMS / f"{name}.cw", "--limit", 120)

    def test_a_broken_scheduler_is_shown_as_it_is(self):
        self.same_as_trace(PROGRAMS / "02_quiescent.cw", "--limit", 40, "--mutant", "newest-first")

    def test_keys_go_forwards_and_backwards(self):
        program = PROGRAMS / "04_place_in_queue.cw"
        last = trace(program)[-1]["n"]
        keys = ["ArrowRight", "ArrowRight", "ArrowLeft", "PageDown", "PageUp", "End", "ArrowRight",
                "ArrowLeft", "Home", "ArrowLeft"]
        numbers = [int(page["step"]) for page in seen(program, keys)[1:]]
        self.assertEqual(numbers, [1, 2, 1, 11, 1, last, last, last - 1, 0, 0])

    def test_going_back_shows_what_was_shown(self):
        program = PROGRAMS / "07_bounded_buffer.cw"
        shown = seen(program, ["ArrowRight"] * 60 + ["ArrowLeft"] * 60)
        for n in range(1, 60):
            for part in ["rule", "words", "queue", "state"]:
                self.assertEqual(shown[n][part], shown[120 - n][part], f"step {n}: {part}")

    def test_an_address_names_a_step(self):
        shown = seen(PROGRAMS / "04_place_in_queue.cw", [], at="#step=17&task=2")
        self.assertIn("22", shown[0]["rule"])

    def test_the_end_is_told(self):
        for name, word in [("06_deadlock", "deadlock"), ("12_division", "division"),
                           ("03_await_finished", "done")]:
            shown = seen(PROGRAMS / f"{name}.cw", ["End"])
            self.assertIn(word, (shown[-1]["finish"] + shown[-1]["words"]).lower())


if __name__ == "__main__":
    ROTA, CHROMIUM = str(pathlib.Path(sys.argv.pop(1)).resolve()), sys.argv.pop(1)
    unittest.main()
