// The last twelve weeks, a cell a day: how much ran, and on which days something failed.
//
// A table, so that it can be read out and walked through with arrow keys. Darker means more runs; a day with failures
// has another colour and a cross, a day on which all was skipped is hatched.

import { get } from "./api.js";
import { h, hidden } from "./dom.js";
import { tabindex } from "./keys.js";
import { changed, resource, state, versionOf } from "./state.js";
import { section } from "./words.js";

let told = null; // the date under the pointer or the focus
const weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

export function heatPanel(job) {
  const version = job ? versionOf(`job ${job}`) : Math.max(state.epoch, state.ended);
  const { data } = resource(`heat ${job}`, version, () => get("heat", { job, days: 84 }), 5000);
  const all = data?.days;
  return section(
    "heat",
    job ? "Last twelve weeks" : "Last twelve weeks, all jobs",
    legend(),
    !all
      ? h("p", { class: "dim" }, "Reading ...")
      : [heatTable(all, job), h("p", { class: "heat-detail dim", id: "heat-detail" }, detail(all))],
  );
}

function legend() {
  const sample = (kind, text) => h("span", { class: "legend-item" }, h("span", { class: `heat-cell ${kind}` }), text);
  return h(
    "div",
    { class: "legend", "aria-hidden": "true" },
    sample("ran l1", "few"),
    sample("ran l4", "many"),
    sample("bad l3", "with failures"),
    sample("skipped", "all skipped"),
    sample("none", "none"),
  );
}

function detail(all) {
  const day = all.find((one) => one.date === told);
  return day ? `${spoken(day.date)}: ${dayWords(day)}` : summary(all);
}

function tell(date) {
  told = date;
  changed();
}

function summary(all) {
  const sum = (field) => all.reduce((n, day) => n + day[field], 0);
  return `${sum("success")} succeeded, ${sum("failed")} failed, ${sum("skipped")} skipped, ${sum("other")} other`;
}

export const dayWords = (day) => {
  const parts = [
    ["success", "succeeded"],
    ["failed", "failed"],
    ["skipped", "skipped"],
    ["other", "other"],
  ]
    .filter(([field]) => day[field])
    .map(([field, word]) => `${day[field]} ${word}`);
  return parts.join(", ") || "no runs";
};

// A date is a day of the daemon's zone; as a date alone it has no zone to get wrong.
const parts = (date) => new Date(`${date}T00:00:00Z`);
const weekday = (date) => (parts(date).getUTCDay() + 6) % 7;
const dayFormat = new Intl.DateTimeFormat("en-GB", {
  weekday: "short",
  day: "numeric",
  month: "short",
  timeZone: "UTC",
});
const monthFormat = new Intl.DateTimeFormat("en-GB", { month: "short", timeZone: "UTC" });
const spoken = (date) => dayFormat.format(parts(date));
const month = (date) => monthFormat.format(parts(date));

function heatTable(all, job) {
  const most = Math.max(1, ...all.map((day) => day.success + day.failed + day.other));
  const weeks = [];
  for (const day of all) {
    if (!weeks.length || weekday(day.date) === 0) weeks.push(Array(7).fill(null));
    weeks.at(-1)[weekday(day.date)] = day;
  }
  const firstOf = (week) => week.find((day) => day);
  let before = "";
  const heads = weeks.map((week) => {
    const shown = month(firstOf(week).date);
    const text = shown === before ? "" : shown;
    before = shown;
    return h("th", { scope: "col", role: "columnheader" }, text || hidden(`week of ${spoken(firstOf(week).date)}`));
  });
  const lastDate = all.at(-1)?.date;
  return h(
    "div",
    { class: "heat-scroll" },
    h(
      "table",
      {
        class: "heat",
        role: "grid",
        "data-list": "heat",
        "data-columns": weeks.length,
        "aria-label": `Runs a day${job ? ` of ${job}` : ""}`,
        "aria-describedby": "heat-detail",
      },
      h(
        "thead",
        { role: "rowgroup" },
        h("tr", { role: "row" }, h("th", { role: "columnheader" }, hidden("day of the week")), heads),
      ),
      h(
        "tbody",
        { role: "rowgroup" },
        weekdays.map((label, row) =>
          h(
            "tr",
            { role: "row" },
            h("th", { scope: "row", role: "rowheader" }, row % 2 ? hidden(label) : label),
            weeks.map((week) => heatCell(week[row], most, lastDate)),
          ),
        ),
      ),
    ),
  );
}

function heatCell(day, most, lastDate) {
  if (!day) return h("td", { role: "gridcell", class: "heat-none" });
  const text = `${spoken(day.date)}: ${dayWords(day)}`;
  return h(
    "td",
    {
      role: "gridcell",
      class: `heat-cell ${kind(day, most)}`,
      title: text,
      "data-row": day.date,
      "data-item": true,
      "data-date": day.date,
      tabindex: tabindex("heat", day.date, day.date === lastDate ? 0 : 1),
      on: {
        focus: () => tell(day.date),
        mouseenter: () => tell(day.date),
        blur: () => tell(null),
        mouseleave: () => tell(null),
      },
    },
    hidden(text),
  );
}

// Four levels; a quarter of the busiest day each, on a scale of roots, so that one busy day does not bleach the rest.
export function kind(day, most) {
  const ran = day.success + day.failed + day.other;
  if (!ran) return day.skipped ? "skipped" : "none";
  const level = Math.max(1, Math.ceil(4 * Math.sqrt(ran / most)));
  return `${day.failed ? "bad" : "ran"} l${level}`;
}
