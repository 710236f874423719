// One job: when it is due and why, by which rules it runs, what became of its runs.

import * as actions from "./actions.js";
import { get, part } from "./api.js";
import { h, hidden, icon, name, s } from "./dom.js";
import { heatPanel } from "./heat.js";
import { commandText } from "./jobs.js";
import { runTable } from "./runs.js";
import { resource, state, versionOf } from "./state.js";
import { span } from "./time.js";
import * as words from "./words.js";

const CHART = 40; // runs in the chart

export function jobView(jobName) {
  const job = state.jobs.get(jobName);
  if (!job) {
    return [
      h("h1", {}, name(jobName)),
      words.empty(
        "There is no such job.",
        h(
          "p",
          {},
          h("a", { href: "#/jobs" }, "All jobs"),
          " · ",
          h("a", { href: `#/runs?job=${encodeURIComponent(jobName)}` }, "its past runs"),
        ),
      ),
    ];
  }
  const version = versionOf(`job ${jobName}`);
  const runs = resource(`runs of ${jobName}`, version, () => get("runs", { job: jobName, limit: CHART }));
  const next = resource(`next of ${jobName}`, `${version} ${job.next}`, () =>
    get(`jobs/${part(jobName)}/next`, { count: 8 }),
  );
  return [
    h("p", { class: "crumb", key: "crumb" }, h("a", { href: "#/jobs" }, icon("back"), "Jobs")),
    h(
      "div",
      { class: "title-row", key: "title" },
      h("h1", { class: "long" }, name(jobName)),
      h(
        "span",
        { class: "badges" },
        words.jobStates(job).map(([kind, text]) => words.badge(kind, text)),
      ),
      h("div", { class: "buttons" }, buttons(job)),
    ),
    warnings(job),
    h(
      "div",
      { class: "columns", key: "columns" },
      h("div", { class: "column" }, schedule(job), nextFirings(job, next), heatPanel(jobName)),
      h("div", { class: "column" }, recent(job, runs), whatRuns(job), rules(job)),
    ),
  ];
}

function buttons(job) {
  return [
    words.button("Run", () => actions.run(job.name), { kind: "primary", shape: "run", title: "joins the queue" }),
    words.button("Run past the cap", () => actions.runPastCap(job.name)),
    job.paused
      ? words.button("Resume", () => actions.resume(job.name), { shape: "resume" })
      : words.button("Pause", () => actions.pause(job.name), { shape: "paused" }),
    job.removable &&
      h("a", { class: "button", href: `#/edit/${encodeURIComponent(job.name)}` }, icon("edit"), h("span", {}, "Edit")),
    job.removable && words.button("Remove", () => actions.remove(job.name), { kind: "danger" }),
  ];
}

function warnings(job) {
  if (!job.warnings?.length) return null;
  return h(
    "ul",
    { class: "warnings", key: "warnings" },
    job.warnings.map((text) => h("li", { class: "note warn" }, icon("warn"), hidden("Warning: "), h("span", {}, text))),
  );
}

const pairs = (rows) =>
  h(
    "dl",
    { class: "pairs" },
    rows.filter((row) => row).map(([term, ...what]) => [h("dt", {}, term), h("dd", {}, what)]),
  );

function schedule(job) {
  return words.section(
    "schedule",
    "When",
    null,
    h("p", { class: "in-words" }, job.explain || job.schedule),
    pairs([
      ["Written as", h("code", {}, job.schedule)],
      job.zone && ["Zone", job.zone, job.dst ? h("span", { class: "dim" }, ` clock changes: ${job.dst}`) : ""],
      ["Next", job.paused ? "paused" : words.when(job.next)],
      ["Last success", words.ago(job.last_success)],
      job.rules.after?.length
        ? ["After", job.rules.after.map((d, i) => [i ? ", " : "", words.jobLink(d.job), ` (${d.on})`])]
        : null,
    ]),
  );
}

function nextFirings(job, { data, error }) {
  return words.section(
    "firings",
    "Next firings",
    null,
    error
      ? h("p", { class: "dim" }, error.message)
      : !data
        ? h("p", { class: "dim" }, "Reading ...")
        : !data.next.length
          ? h("p", { class: "dim" }, "None.")
          : h(
              "ol",
              { class: "firings" },
              data.next.map((f) =>
                h(
                  "li",
                  {},
                  words.when(f.utc),
                  " ",
                  h("span", { class: "dim mono", title: `${f.local}: wall time in the job's zone` }, f.local.slice(11)),
                ),
              ),
            ),
  );
}

function recent(job, { data, error }) {
  const all = data?.runs ?? [];
  return words.section(
    "recent",
    "Recent runs",
    h("a", { href: `#/runs?job=${encodeURIComponent(job.name)}` }, "all of them"),
    error
      ? h("p", { class: "dim" }, error.message)
      : !data
        ? h("p", { class: "dim" }, "Reading ...")
        : !all.length
          ? words.empty("It has never run.")
          : [chart(all), runTable(all.slice(0, 10), { list: "recent", withJob: false })],
  );
}

// Durations as bars, oldest first. What failed stands out by colour and by a cross above its bar.
function chart(runs) {
  const shown = runs.filter((run) => words.duration(run) !== null).reverse();
  if (shown.length < 2) return null;
  const took = shown.map((run) => words.duration(run));
  const most = Math.max(...took, 0.001);
  const failed = shown.filter((run) => words.runClass(run) === "failed").length;
  const mean = took.reduce((a, b) => a + b, 0) / took.length;
  const bar = (run, i) => {
    const height = Math.max(2, (took[i] / most) * 52);
    const kind = words.runClass(run);
    // For the mouse only: to others the chart is an image, and the links are in the table below it.
    return s(
      "g",
      { class: "bar", on: { click: () => (location.hash = words.runHref(run.id)) } },
      s(
        "rect",
        { class: `took ${kind}`, x: i * 10 + 1, y: 64 - height, width: 8, height, rx: 1 },
        s("title", {}, `run ${run.id}: ${words.runWord(run)}, ${span(took[i])}`),
      ),
      kind === "failed" && s("path", { class: "cross", d: `M${i * 10 + 2.5} ${57 - height}l5 5m0 -5l-5 5` }),
    );
  };
  return h(
    "figure",
    { class: "chart" },
    s(
      "svg",
      {
        viewBox: `0 0 ${CHART * 10} 66`,
        preserveAspectRatio: "xMinYMid meet",
        role: "img",
        "aria-label": `How long the last ${shown.length} runs took: ${span(Math.min(...took))} to ${span(most)}; ${failed} failed`,
      },
      s("path", { class: "grid", d: `M0 64.5H${CHART * 10}` }),
      shown.map(bar),
    ),
    h("figcaption", { class: "dim" }, `${shown.length} runs, mean ${span(mean)}, longest ${span(most)}`),
  );
}

function whatRuns(job) {
  return words.section(
    "command",
    "What runs",
    null,
    h(
      "pre",
      { class: "command", tabindex: "0", role: "region", "aria-label": "Command" },
      commandText(job) || "nothing",
    ),
    pairs([
      ["By", job.command?.shell ? "the shell" : "itself, without a shell"],
      ["As user", job.user || "the daemon's own"],
      ["Owner", name(job.owner ?? "")],
      ["Defined in", job.source ? h("code", { class: "long" }, job.source) : "no file: it was added by hand"],
    ]),
  );
}

function rules(job) {
  const r = job.rules;
  const retry = r.retry ?? { count: 0 };
  const overlap = {
    skip: "the new one is skipped",
    queue: `the new one waits, at most ${r.queue_length}`,
    allow: "both run",
    replace: "the old one is stopped first",
  };
  const catchup = {
    none: "they are skipped",
    one: "the last one runs",
    all: `all run, oldest first, at most ${r.catchup_most}`,
  };
  return words.section(
    "rules",
    "Rules",
    null,
    pairs([
      ["While one runs", overlap[r.overlap] ?? r.overlap],
      ["Missed", catchup[r.catchup] ?? r.catchup, r.deadline_s ? `, none older than ${span(r.deadline_s)}` : ""],
      ["Timeout", r.timeout_s ? `${span(r.timeout_s)}, then TERM, and KILL after ${span(r.grace_s)}` : "none"],
      [
        "Retries",
        retry.count
          ? `${retry.count}, after ${span(retry.delay_s)}, times ${retry.factor}, at most ${span(retry.most_s)}, ± ${Math.round(retry.jitter * 100)} %`
          : "none",
        retry.count && retry.codes?.length ? `; on exit codes ${retry.codes.join(", ")}` : "",
      ],
      ["Group", r.group ? name(r.group) : "none"],
      ["After a crash", r.on_unknown === "rerun" ? "it is run again (at least once)" : "it is reported (at most once)"],
      ["Alert on absence", r.absence_s ? `no success for ${span(r.absence_s)}` : "no"],
    ]),
  );
}
