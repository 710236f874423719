// What stands around the lanes of the timeline: hours, now, where clocks change; and the same firings as a table.

import { h, hidden, icon, s } from "./dom.js";
import { state } from "./state.js";
import { HOUR, clock, date, hourOf, nextFullHour, now, parse, relative, span } from "./time.js";
import { at, jobLink } from "./words.js";

export const LANE = 26; // px
const ROWS = 200; // of the table

function hours(data) {
  const found = [];
  for (let t = nextFullHour(data.t0); t < data.t1; t += HOUR) found.push(t);
  return found;
}

const inWindow = (change, data) => parse(change.at) > data.t0 && parse(change.at) < data.t1;

export function grid(x, data) {
  const line = (t) => `M${x(t).toFixed(1)} 0V${LANE}`;
  const cut = state.upcoming.cut ? x(parse(state.upcoming.firings.at(-1)?.at) ?? data.t1) : null;
  return [
    cut !== null &&
      s("rect", { class: "unknown", x: cut + 2, y: 0, width: Math.max(0, x(data.t1) - cut), height: LANE }),
    s("path", {
      class: "grid",
      d: hours(data)
        .filter((t) => hourOf(t) % 3 === 0)
        .map(line)
        .join(""),
    }),
    state.upcoming.clock_changes
      .filter((c) => inWindow(c, data))
      .map((c) => s("path", { class: "clock-line", d: line(parse(c.at)) })),
    s("path", { class: "now-line", d: line(now()) }),
  ];
}

export function drawAxis(x, data, width) {
  const every = width > 700 ? 2 : width > 350 ? 4 : 6;
  const label = (t) =>
    s(
      "text",
      { class: hourOf(t) === 0 ? "midnight" : "", x: x(t), y: 14, "text-anchor": "middle" },
      hourOf(t) === 0 ? date(t) : clock(t),
    );
  const flags = state.upcoming.clock_changes.filter((c) => inWindow(c, data)).map((c) => x(parse(c.at)));
  const free = (t) => x(t) > 50 && x(t) < width - 16 && flags.every((f) => Math.abs(f - x(t)) > 40);
  const shown = hours(data).filter((t) => hourOf(t) % every === 0 && free(t));
  return s(
    "svg",
    { width: "100%", height: 22 },
    shown.map(label),
    s("text", { class: "now-text", x: x(now()) - 4, y: 14, "text-anchor": "start" }, "now"),
    flags.map((f) => s("path", { class: "clock-flag", d: `M${f.toFixed(1)} 4l6.5 12h-13z` })),
  );
}

function clockWords(change) {
  const t = parse(change.at);
  const by = change.after_s - change.before_s;
  const wall = (offset) => new Date(t + offset * 1000).toISOString().slice(11, 16);
  return `${change.zone}: clocks go ${by > 0 ? "forward" : "back"} by ${span(Math.abs(by))}, from ${wall(change.before_s)} to ${wall(change.after_s)}, ${relative(t)}`;
}

export function clockNotes(upcoming) {
  if (!upcoming.clock_changes.length) return null;
  return h(
    "ul",
    { class: "clock-notes" },
    upcoming.clock_changes.map((change) =>
      h(
        "li",
        { class: "note warn" },
        icon("warn"),
        hidden("Warning: "),
        h(
          "span",
          {},
          clockWords(change),
          change.after_s > change.before_s
            ? ". Fixed times that fall into the gap fire once, right after it."
            : ". Fixed times in the doubled hour fire in its first pass only.",
        ),
      ),
    ),
  );
}

export function cutNote(upcoming) {
  if (!upcoming.cut) return null;
  const end = upcoming.firings.at(-1);
  return h(
    "p",
    { class: "note", key: "cut" },
    icon("other"),
    h(
      "span",
      {},
      `Only the first ${upcoming.firings.length} firings are shown`,
      end ? [", until ", at(end.at)] : "",
      ".",
    ),
  );
}

export function firingTable(upcoming) {
  const rows = upcoming.firings.slice(0, ROWS);
  return [
    h(
      "table",
      { class: "plain", role: "table", "aria-label": "Firings by time" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col" }, "Time"),
          h("th", { scope: "col" }, "In"),
          h("th", { scope: "col" }, "Job"),
        ),
      ),
      h(
        "tbody",
        {},
        rows.map((f) =>
          h("tr", {}, h("td", {}, at(f.at)), h("td", {}, relative(parse(f.at))), h("td", {}, jobLink(f.job))),
        ),
      ),
    ),
    upcoming.firings.length > ROWS && h("p", { class: "dim" }, `and ${upcoming.firings.length - ROWS} more`),
  ];
}
