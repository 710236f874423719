// What happens now: the slots, who runs, who waits, what needs a look; then the day ahead and the weeks behind.

import * as actions from "./actions.js";
import { get } from "./api.js";
import { h, icon, name, slot } from "./dom.js";
import { heatPanel } from "./heat.js";
import { tabindex } from "./keys.js";
import { resource, running, state, waiting } from "./state.js";
import { now, parse, span } from "./time.js";
import { makeTimeline } from "./timeline.js";
import * as words from "./words.js";

export function nowView() {
  const { status } = state;
  return [
    h("h1", { class: "vh" }, "Now"),
    topRow(status),
    h("div", { class: "now-middle", key: "middle" }, attention(), ended(), heatPanel("")),
    h(
      "section",
      { class: "panel timeline-panel", key: "timeline", "aria-labelledby": "timeline-title" },
      slot("timeline", makeTimeline),
    ),
  ];
}

function topRow(status) {
  const runs = running();
  const queue = waiting();
  return h(
    "div",
    { class: "now-top", key: "now" },
    h(
      "section",
      { class: "panel slots", "aria-labelledby": "slots-title" },
      h("div", { class: "panel-head" }, h("h2", { id: "slots-title" }, "Slots")),
      meter("All jobs", runs.length, status.max_active),
      status.groups.map((group) => meter(group.name, group.active, group.cap)),
      facts(status),
    ),
    words.section(
      "running",
      `Running (${runs.length})`,
      null,
      runs.length ? runList("running", runs, runningRow) : words.empty("Nothing runs."),
    ),
    words.section(
      "waiting",
      `Waiting for a slot (${queue.length})`,
      null,
      queue.length ? runList("waiting", queue.slice(0, 50), waitingRow) : words.empty("Nobody waits."),
      queue.length > 50 && h("p", { class: "dim" }, `and ${queue.length - 50} more`),
    ),
  );
}

// As many cells as there are slots, or a bar where there are too many to count by eye.
function meter(label, used, cap) {
  const full = used >= cap;
  const shown = h(
    "div",
    { class: `meter ${full ? "full" : ""}`, key: `meter ${label}` },
    h(
      "div",
      { class: "meter-text" },
      h("span", { class: "meter-name", title: label }, name(label)),
      h("span", {}, h("strong", {}, used), ` of ${cap}`, used > cap ? " (past the cap)" : full ? " (full)" : ""),
    ),
  );
  const props = {
    role: "meter",
    "aria-label": `${label}: slots in use`,
    "aria-valuenow": Math.min(used, cap),
    "aria-valuemin": 0,
    "aria-valuemax": cap,
    "aria-valuetext": `${used} of ${cap}`,
  };
  if (cap <= 32) {
    shown.append(
      h(
        "div",
        { class: "cells", ...props },
        Array.from({ length: cap }, (_, i) => h("span", { class: i < used ? "cell on" : "cell" })),
      ),
    );
  } else {
    shown.append(
      h(
        "div",
        { class: "bar-meter", ...props },
        h("span", { style: { width: `${Math.min(100, (100 * used) / cap)}%` } }),
      ),
    );
  }
  return shown;
}

function facts(status) {
  const jobs = [...state.jobs.values()];
  const count = (test) => jobs.filter(test).length;
  const fact = (n, word, filter) =>
    h("a", { class: "fact", href: `#/jobs?show=${filter}` }, h("strong", {}, n), ` ${word}`);
  return h(
    "p",
    { class: "facts" },
    fact(status.jobs, status.jobs === 1 ? "job" : "jobs", "all"),
    fact(
      count((j) => j.failing || j.absent),
      "failing",
      "failing",
    ),
    fact(
      count((j) => j.paused),
      "paused",
      "paused",
    ),
  );
}

const runList = (list, runs, row) =>
  h(
    "ul",
    { class: "rows", "data-list": list },
    runs.map((run, i) => row(run, list, i)),
  );

function runningRow(run, list, i) {
  const timeout = state.jobs.get(run.job)?.rules?.timeout_s;
  const took = words.duration(run);
  const tab = tabindex(list, run.id, i);
  return h(
    "li",
    { class: "row run-row", key: run.id, "data-row": run.id },
    h(
      "div",
      { class: "row-main" },
      words.jobLink(run.job, { tabindex: tab }),
      h("span", { class: "dim" }, ` ${words.causeWord(run)}, since `, words.at(run.started ?? run.launched)),
    ),
    h(
      "div",
      { class: "row-side" },
      words.elapsed(run.started ?? run.launched),
      timeout ? h("span", { class: "dim" }, ` of at most ${span(timeout)}`) : null,
    ),
    progress(run, took, timeout),
    h(
      "div",
      { class: "row-actions" },
      h("a", { class: "button", href: words.runHref(run.id), tabindex: tab }, "Log"),
      words.iconButton(`Cancel run ${run.id} of ${run.job}`, "cancel", () => actions.cancel(run), { tabindex: tab }),
    ),
  );
}

function progress(run, took, timeout) {
  const label = `${run.job}: time used`;
  if (!timeout) return h("div", { class: "progress endless", role: "progressbar", "aria-label": label }, h("span", {}));
  const share = Math.min(1, took / timeout);
  return h(
    "div",
    {
      class: `progress ${share > 0.8 ? "late" : ""}`,
      role: "progressbar",
      "aria-label": label,
      "aria-valuenow": Math.round(share * 100),
      "aria-valuemin": 0,
      "aria-valuemax": 100,
    },
    h("span", { style: { width: `${share * 100}%` } }),
  );
}

function waitingRow(run, list, i) {
  const tab = tabindex(list, run.id, i);
  const retry = parse(run.not_before) > now();
  return h(
    "li",
    { class: "row", key: run.id, "data-row": run.id },
    h(
      "div",
      { class: "row-main" },
      h("span", { class: "place", title: "place in the queue" }, i + 1),
      words.jobLink(run.job, { tabindex: tab }),
      h("span", { class: "dim" }, ` ${words.causeWord(run)}`),
    ),
    h(
      "div",
      { class: "row-side dim" },
      retry ? ["not before ", words.when(run.not_before)] : ["due ", words.ago(run.scheduled)],
    ),
    h(
      "div",
      { class: "row-actions" },
      words.iconButton(`Take run ${run.id} of ${run.job} out of the queue`, "cancel", () => actions.cancel(run), {
        tabindex: tab,
      }),
    ),
  );
}

function attention() {
  const bad = [...state.jobs.values()]
    .filter((job) => job.failing || job.absent)
    .sort((a, b) => (parse(b.last_run?.finished) ?? 0) - (parse(a.last_run?.finished) ?? 0));
  return words.section(
    "attention",
    `Needs a look (${bad.length})`,
    bad.length > 5 && h("a", { href: "#/jobs?show=failing" }, "all of them"),
    bad.length
      ? h(
          "ul",
          { class: "rows", "data-list": "attention" },
          bad.slice(0, 5).map((job, i) => attentionRow(job, i)),
        )
      : words.empty(
          state.jobs.size ? "No job is failing." : "There are no jobs yet.",
          !state.jobs.size && h("p", {}, h("a", { href: "#/new" }, "Add the first one"), "."),
        ),
  );
}

function attentionRow(job, i) {
  const tab = tabindex("attention", job.name, i);
  return h(
    "li",
    { class: "row", key: job.name, "data-row": job.name },
    h(
      "div",
      { class: "row-main" },
      h("span", { class: "failed-mark" }, icon(job.failing ? "failed" : "warn")),
      words.jobLink(job.name, { tabindex: tab }),
      " ",
      job.last_run && words.outcome(job.last_run),
      job.absent && words.badge("warn", "no success for too long"),
    ),
    h("div", { class: "row-side dim" }, "last success ", words.ago(job.last_success)),
    h(
      "div",
      { class: "row-actions" },
      job.last_run && h("a", { class: "button", href: words.runHref(job.last_run.id), tabindex: tab }, "Log"),
      words.iconButton(`Run ${job.name} now`, "run", () => actions.run(job.name), { tabindex: tab }),
    ),
  );
}

const overAt = (run) => parse(run.finished ?? run.recorded) ?? 0;

function ended() {
  const version = Math.max(state.epoch, state.ended);
  // They come by their number, and one that took long is over after those behind it: after up to 24 of them, here.
  const { data } = resource("ended", version, () => get("runs", { phase: "over", limit: 30 }), 2000);
  const runs = [...(data?.runs ?? [])].sort((a, b) => overAt(b) - overAt(a)).slice(0, 6);
  return words.section(
    "ended",
    "Over last",
    h("a", { href: "#/runs" }, "all runs"),
    runs.length
      ? h("ul", { class: "rows", "data-list": "ended" }, runs.map(endedRow))
      : words.empty(data ? "Nothing has run yet." : "Reading ..."),
  );
}

function endedRow(run, i) {
  const tab = tabindex("ended", run.id, i);
  return h(
    "li",
    { class: "row", key: run.id, "data-row": run.id },
    h("div", { class: "row-main" }, words.jobLink(run.job, { tabindex: tab }), " ", words.outcome(run)),
    h("div", { class: "row-side dim" }, words.ago(run.finished ?? run.recorded)),
    h("div", { class: "row-actions" }, h("a", { class: "button", href: words.runHref(run.id), tabindex: tab }, "Log")),
  );
}
