// The parts of the page that need no browser: a log's text, and the stream of events. Both come in pieces of any size, so
// the promise is that the pieces do not matter; chance picks them, and a failure prints its seed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { eventParser } from "../../apps/dashboard/api.js";
import { LogText } from "../../apps/dashboard/log.js";

const bytes = (text) => new TextEncoder().encode(text);

function random(seed) {
  let x = seed;
  return (below) => {
    x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
    return Math.floor((x / 2 ** 32) * below);
  };
}

function logOf(text, next = null) {
  const log = new LogText();
  const all = bytes(text);
  for (let at = 0; at < all.length;) {
    const size = next ? 1 + next(7) : all.length;
    log.push(all.subarray(at, at + size));
    at += size;
  }
  return log;
}

const plain = (log) => log.lines.map((line) => line.plain);
// Where a style begins and ends, however many parts it is made of.
const styled = (log) =>
  log.lines.map((line) => line.parts.flatMap((p) => [...p.text].map((c) => `${c}:${p.style}`)).join(" "));

test("a log's lines are those of its text", () => {
  assert.deepEqual(plain(logOf("one\ntwo\r\n\nfour")), ["one", "two", "", "four"]);
});

test("a return starts the line anew", () => {
  assert.deepEqual(plain(logOf("10 %\r50 %\r100 %\ndone\n")), ["100 %", "done"]);
  const log = new LogText();
  for (const piece of ["10 %\r", "50 %\r", "100 %\r", "\n", "done\r\n"]) log.push(bytes(piece));
  assert.deepEqual(plain(log), ["100 %", "done"]);
});

test("colours are kept, other sequences are left out, control characters are shown", () => {
  const [line] = logOf(
    "\x1b[1;31mred\x1b[0m \x1b[38;5;2mgreen\x1b[38;2;1;2;3mtrue\x1b[39m \x1b]0;title\x07\x1b[2Kx\x07\u202ey",
  ).lines;
  assert.deepEqual(line.parts, [
    { text: "red", style: "a1 bold" },
    { text: " ", style: "" },
    { text: "green", style: "a2" },
    { text: "true", style: "a2" },
    { text: " ", style: "" },
    { text: "x\u2407\ufffdy", style: "" },
  ]);
});

test("the pieces that a log comes in do not matter", () => {
  const words = [
    "text ",
    "\n",
    "\r\n",
    "\r",
    "\x1b[31m",
    "\x1b[0m",
    "\x1b[1;4m",
    "\x1b]0;t\x07",
    "ä€😀",
    "\x1b[2K",
    "\x01",
  ];
  for (let seed = 1; seed <= 300; seed += 1) {
    const next = random(seed);
    const text = Array.from({ length: 30 }, () => words[next(words.length)]).join("");
    const [whole, pieces] = [logOf(text), logOf(text, next)];
    assert.deepEqual(plain(pieces), plain(whole), `seed ${seed}`);
    assert.deepEqual(styled(pieces), styled(whole), `seed ${seed}`);
    assert.equal(pieces.bytes, bytes(text).length);
  }
});

test("a log keeps its end, and a line without end is cut", () => {
  const log = new LogText();
  for (let i = 0; i < 60; i += 1) log.push(bytes(`${"x".repeat(99)}\n`.repeat(1000)));
  log.push(bytes("the end"));
  assert.equal(log.lines.at(-1).plain, "the end");
  assert.equal(log.dropped + log.lines.length, 60001);
  assert.ok(log.lines.length * 99 <= 4_000_099 && log.lines.length * 99 > 3_900_000, `${log.lines.length} lines`);
  assert.ok(logOf("y".repeat(35_000)).lines.every((line) => line.plain.length <= 10_000));
});

test("the pieces that events come in do not matter", () => {
  const text =
    ': hello\n\nid: 1\nevent: change\ndata: {"a":1}\n\nid: 2\r\nevent: lost\r\ndata: x\r\ndata:y\r\n\r\nevent: none\n\n';
  for (let seed = 1; seed <= 100; seed += 1) {
    const next = random(seed);
    const found = [];
    const push = eventParser((event) => found.push(event));
    for (let at = 0; at < text.length;) {
      const size = 1 + next(9);
      push(text.slice(at, at + size));
      at += size;
    }
    assert.deepEqual(
      found,
      [
        { id: "1", event: "change", data: '{"a":1}' },
        { id: "2", event: "lost", data: "x\ny" },
      ],
      `seed ${seed}`,
    );
  }
});
