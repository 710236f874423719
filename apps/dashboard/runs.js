// Runs, newest first, as a table; and the view of all of them.

import * as actions from "./actions.js";
import { get } from "./api.js";
import { h, hidden, lazy } from "./dom.js";
import { tabindex } from "./keys.js";
import { changed, resource, state, versionOf } from "./state.js";
import { bytes, span, today, zone } from "./time.js";
import * as words from "./words.js";

const PAGE = 100;
const OUTCOMES = [
  "success",
  "failed",
  "signalled",
  "timed_out",
  "cancelled",
  "replaced",
  "skipped",
  "not_started",
  "lost",
  "unknown",
];
const view = { job: "", outcome: "", older: [], more: false, busy: false, error: "" };

export function openRuns(parameters) {
  Object.assign(view, {
    job: parameters.get("job") ?? "",
    outcome: parameters.get("outcome") ?? "",
    older: [],
    more: false,
    error: "",
  });
}

export function runsView() {
  const key = `runs ${view.job}\n${view.outcome}`;
  const version = view.job ? versionOf(`job ${view.job}`) : state.seen;
  const { data, error } = resource(
    key,
    version,
    () => get("runs", { job: view.job, outcome: view.outcome, limit: PAGE }),
    2000,
  );
  const newest = data?.runs ?? [];
  const known = new Set(newest.map((run) => run.id));
  const runs = [...newest, ...view.older.filter((run) => !known.has(run.id))];
  const more = view.older.length ? view.more : data?.more;
  return [
    h("div", { class: "title-row", key: "title" }, h("h1", {}, "Runs")),
    tools(),
    error
      ? words.empty(error.message)
      : !data
        ? h("p", { class: "dim" }, "Reading ...")
        : !runs.length
          ? words.empty("No run is like that.")
          : h("div", { class: "panel flush", key: "list" }, runTable(runs, { list: "runs", withJob: true })),
    view.error && h("p", { class: "note warn", key: "error" }, view.error),
    more &&
      h(
        "p",
        { key: "more" },
        words.button(view.busy ? "Reading ..." : "Older runs", () => readOlder(runs.at(-1).id), {
          disabled: view.busy,
        }),
      ),
  ];
}

async function readOlder(before) {
  view.busy = true;
  view.error = "";
  changed();
  try {
    const { runs, more } = await get("runs", { job: view.job, outcome: view.outcome, before, limit: PAGE });
    view.older.push(...runs);
    view.more = more;
  } catch (error) {
    view.error = error.message;
  }
  view.busy = false;
  changed();
}

function go(change) {
  const wanted = { job: view.job, outcome: view.outcome, ...change };
  const asked = new URLSearchParams(Object.entries(wanted).filter(([, v]) => v)).toString();
  location.hash = asked ? `#/runs?${asked}` : "#/runs";
}

function tools() {
  const names = [...state.jobs.keys()].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  if (view.job && !state.jobs.has(view.job)) names.unshift(view.job);
  const option = (value, text) => h("option", { value, key: value }, text);
  return h(
    "div",
    { class: "tools", key: "tools", role: "search" },
    h(
      "label",
      { class: "inline" },
      "Job ",
      h(
        "select",
        { id: "run-job", value: view.job, on: { change: (e) => go({ job: e.target.value }) } },
        option("", "all"),
        names.map((n) => option(n, n)),
      ),
    ),
    h(
      "label",
      { class: "inline" },
      "Outcome ",
      h(
        "select",
        { id: "run-outcome", value: view.outcome, on: { change: (e) => go({ outcome: e.target.value }) } },
        option("", "any"),
        OUTCOMES.map((o) => option(o, o.replace("_", " "))),
      ),
    ),
  );
}

export function runTable(runs, { list, withJob }) {
  const head = (text) => h("th", { scope: "col", role: "columnheader" }, text);
  return h(
    "table",
    { class: "runs cards", role: "table", "aria-label": "Runs" },
    h(
      "thead",
      { role: "rowgroup" },
      h(
        "tr",
        { role: "row" },
        head("Run"),
        withJob && head("Job"),
        head("Outcome"),
        head("Due"),
        head("Took"),
        withJob && head("Why"),
        head("Output"),
        head(hidden("Actions")),
      ),
    ),
    h(
      "tbody",
      { role: "rowgroup", "data-list": list },
      runs.map((run, i) => {
        const tab = tabindex(list, run.id, i);
        return lazy("tr", run.id, [run, tab, zone(), today()], () => row(run, tab, withJob));
      }),
    ),
  );
}

function row(run, tab, withJob) {
  const cell = (label, ...content) => h("td", { role: "cell", "data-label": label }, content);
  const took = words.duration(run);
  return h(
    "tr",
    { role: "row", key: run.id, "data-row": run.id },
    h("th", { scope: "row", role: "rowheader" }, h("a", { href: words.runHref(run.id), tabindex: tab }, run.id)),
    withJob && cell("Job", words.jobLink(run.job, { tabindex: tab })),
    cell("Outcome", words.outcome(run), run.note ? h("span", { class: "sub", title: run.note }, run.note) : null),
    cell("Due", words.at(run.scheduled)),
    cell(
      "Took",
      run.phase === "launched"
        ? words.elapsed(run.started ?? run.launched)
        : took === null
          ? h("span", { class: "dim" }, "none")
          : span(took),
    ),
    withJob && cell("Why", words.causeWord(run)),
    cell("Output", run.log_size ? bytes(run.log_size) : h("span", { class: "dim" }, "none")),
    h(
      "td",
      { role: "cell", class: "row-actions" },
      run.phase !== "over" &&
        words.iconButton(`Cancel run ${run.id} of ${run.job}`, "cancel", () => actions.cancel(run), { tabindex: tab }),
    ),
  );
}
