// All jobs: found by words, narrowed by state, sorted by what is asked.

import * as actions from "./actions.js";
import { h, hidden, icon, lazy, name } from "./dom.js";
import { tabindex } from "./keys.js";
import { changed, state } from "./state.js";
import { parse, span, today, zone } from "./time.js";
import * as words from "./words.js";

// Rows beyond these come on demand: to lay out thousands takes a browser longer than to type the next letter.
const FIRST = 300;

const view = { text: "", show: "all", sort: "name", down: false, all: false };

const filters = {
  all: ["All", () => true],
  failing: ["Failing", (job) => job.failing || job.absent],
  running: ["Running", (job) => job.running > 0 || job.waiting > 0],
  paused: ["Paused", (job) => job.paused],
};

const last = (job) => parse(job.last_run?.finished ?? job.last_run?.started ?? job.last_run?.scheduled);
const worst = (job) => (job.failing ? 4 : 0) + (job.absent ? 2 : 0) + (job.running ? 1 : 0) + (job.waiting ? 0.5 : 0);
const far = Number.MAX_SAFE_INTEGER;
const sorts = {
  name: (a, b) => a.name.localeCompare(b.name, "en", { numeric: true }),
  next: (a, b) => (parse(a.next) ?? far) - (parse(b.next) ?? far),
  last: (a, b) => (last(b) ?? 0) - (last(a) ?? 0),
  state: (a, b) => worst(b) - worst(a),
};

// As one would type it: words of argv that need it are quoted.
export function commandText(job) {
  const { shell, argv } = job.command ?? {};
  if (typeof shell === "string") return shell;
  return (argv ?? [])
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(" ");
}

function matches(job, text) {
  const hay = [job.name, job.owner, job.schedule, job.explain, job.rules?.group, job.source, commandText(job)]
    .join("\n")
    .toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => hay.includes(word));
}

export function shownJobs() {
  const chosen = [...state.jobs.values()].filter((job) => filters[view.show][1](job) && matches(job, view.text));
  chosen.sort((a, b) => (view.down ? -1 : 1) * sorts[view.sort](a, b) || sorts.name(a, b));
  return chosen;
}

// The address may ask for a filter: #/jobs?show=failing.
export function openJobs(parameters) {
  const show = parameters.get("show");
  if (show && filters[show]) view.show = show;
}

export function jobsView() {
  const chosen = shownJobs();
  const rows = view.all ? chosen : chosen.slice(0, FIRST);
  return [
    h(
      "div",
      { class: "title-row", key: "title" },
      h("h1", {}, "Jobs"),
      h("a", { class: "button primary", href: "#/new" }, icon("plus"), h("span", {}, "Add a job")),
    ),
    tools(chosen.length),
    !state.jobs.size
      ? noJobs()
      : !chosen.length
        ? words.empty("No job is like that.", h("p", {}, words.button("Show all", showAll)))
        : h("div", { class: "panel flush", key: "list" }, table(rows)),
    rows.length < chosen.length &&
      h(
        "p",
        { key: "more" },
        words.button(`Show all ${chosen.length}`, () => {
          view.all = true;
          changed();
        }),
      ),
  ];
}

function showAll() {
  Object.assign(view, { text: "", show: "all" });
  document.getElementById("search").value = "";
  changed();
}

const noJobs = () =>
  words.empty(
    "There are no jobs yet.",
    h(
      "p",
      {},
      "Give the daemon a table, ",
      h("code", {}, "rota serve --crontab FILE"),
      ", or ",
      h("a", { href: "#/new" }, "add a job here"),
      ".",
    ),
  );

function tools(found) {
  return h(
    "div",
    { class: "tools", key: "tools", role: "search" },
    h(
      "label",
      { class: "search" },
      icon("search"),
      hidden("Search jobs"),
      h("input", {
        id: "search",
        type: "search",
        placeholder: "Name, command, schedule ...",
        autocomplete: "off",
        spellcheck: "false",
        value: view.text,
        on: {
          input: (e) => {
            view.text = e.target.value;
            changed();
          },
        },
      }),
    ),
    h(
      "div",
      { class: "choice", role: "group", "aria-label": "Show" },
      Object.entries(filters).map(([key, [label, test]]) =>
        h(
          "button",
          {
            type: "button",
            key,
            "aria-pressed": String(view.show === key),
            on: {
              click: () => {
                view.show = key;
                changed();
              },
            },
          },
          label,
          " ",
          h("span", { class: "count" }, [...state.jobs.values()].filter(test).length),
        ),
      ),
    ),
    h("span", { class: "dim found", "aria-live": "polite" }, `${found} shown`),
  );
}

function heading(key, label) {
  const on = view.sort === key;
  const sort = () => {
    Object.assign(view, { sort: key, down: on && !view.down });
    changed();
  };
  return h(
    "th",
    {
      scope: "col",
      role: "columnheader",
      class: `col-${key}`,
      "aria-sort": on ? (view.down ? "descending" : "ascending") : "none",
    },
    h(
      "button",
      { type: "button", class: "sort", on: { click: sort } },
      label,
      h("span", { class: "arrow", "aria-hidden": "true" }, on ? (view.down ? "▼" : "▲") : ""),
    ),
  );
}

function table(rows) {
  return h(
    "table",
    { class: "jobs cards", role: "table", "aria-label": "Jobs" },
    h(
      "thead",
      { role: "rowgroup" },
      h(
        "tr",
        { role: "row" },
        heading("name", "Job"),
        h("th", { scope: "col", role: "columnheader", class: "col-when" }, "When"),
        heading("next", "Next"),
        heading("last", "Last run"),
        heading("state", "State"),
        h("th", { scope: "col", role: "columnheader" }, hidden("Actions")),
      ),
    ),
    h("tbody", { role: "rowgroup", "data-list": "jobs" }, rows.map(lazyRow)),
  );
}

// A job that has changed is another object; times tick by themselves, but their words depend on zone and day.
function lazyRow(job, i) {
  const tab = tabindex("jobs", job.name, i);
  return lazy("tr", job.name, [job, tab, zone(), today()], () => row(job, tab));
}

function row(job, tab) {
  const cell = (label, props, ...content) => h("td", { role: "cell", "data-label": label, ...props }, content);
  return h(
    "tr",
    {
      role: "row",
      key: job.name,
      "data-row": job.name,
      class: job.failing ? "is-failing" : job.paused ? "is-paused" : "",
    },
    h(
      "th",
      { scope: "row", role: "rowheader" },
      words.jobLink(job.name, { tabindex: tab }),
      h("span", { class: "sub", title: commandText(job) }, name(commandText(job))),
    ),
    cell(
      "When",
      { class: "col-when" },
      h("span", { title: job.explain }, job.explain || job.schedule),
      job.warnings?.length
        ? h("span", { class: "warned", title: job.warnings.join("\n") }, icon("warn"), hidden(job.warnings.join("; ")))
        : null,
      h("span", { class: "sub mono" }, job.schedule),
    ),
    cell("Next", {}, job.paused ? h("span", { class: "dim" }, "paused") : words.when(job.next)),
    cell("Last run", {}, lastRun(job)),
    cell(
      "State",
      {},
      h(
        "span",
        { class: "badges" },
        words.jobStates(job).map(([kind, text]) => words.badge(kind, text)),
      ),
    ),
    cell(
      "Actions",
      { class: "row-actions" },
      words.iconButton(`Run ${job.name} now`, "run", () => actions.run(job.name), { tabindex: tab }),
      job.paused
        ? words.iconButton(`Resume ${job.name}`, "resume", () => actions.resume(job.name), { tabindex: tab })
        : words.iconButton(`Pause ${job.name}`, "paused", () => actions.pause(job.name), { tabindex: tab }),
    ),
  );
}

function lastRun(job) {
  const run = job.last_run;
  if (!run) return h("span", { class: "dim" }, "never");
  const took = words.duration(run);
  return [
    words.outcome(run),
    h(
      "span",
      { class: "sub" },
      words.ago(run.finished ?? run.started ?? run.scheduled),
      run.phase !== "over" || took === null ? "" : `, took ${span(took)}`,
    ),
  ];
}
