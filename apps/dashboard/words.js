// The words, shapes and small parts that several views share.

import { h, hidden, icon, name } from "./dom.js";
import { clock, date, full, now, parse, relative, short, span } from "./time.js";

const outcomes = {
  success: ["success", "success"],
  failed: ["failed", "failed"],
  signalled: ["failed", "killed by a signal"],
  timed_out: ["failed", "timed out"],
  not_started: ["failed", "not started"],
  lost: ["failed", "lost"],
  unknown: ["other", "unknown"],
  cancelled: ["other", "cancelled"],
  replaced: ["other", "replaced"],
  skipped: ["skipped", "skipped"],
};
const reasons = {
  missed: "missed",
  too_old: "too old",
  overlap: "the last one still ran",
  queue_full: "its queue was full",
  paused: "paused",
  removed: "the job was removed",
};
const causes = {
  schedule: "schedule",
  catchup: "catch-up",
  retry: "retry",
  manual: "by hand",
  after: "after another job",
  reboot: "reboot",
};

export const causeWord = (run) => (causes[run.why] ?? run.why) + (run.attempt > 1 ? `, attempt ${run.attempt}` : "");

// "success", "failed", "skipped", "other", "running" or "waiting": what a run's colour and shape say.
export function runClass(run) {
  if (run.phase === "due") return "waiting";
  if (run.phase === "launched") return "running";
  return outcomes[run.outcome]?.[0] ?? "other";
}

export function runWord(run) {
  if (run.phase === "due") return parse(run.not_before) > now() ? "waits to retry" : "waiting";
  if (run.phase === "launched") return run.started ? "running" : "starting";
  const word = outcomes[run.outcome]?.[1] ?? String(run.outcome);
  if (run.outcome === "failed" && run.exit_code !== null) return `failed (exit ${run.exit_code})`;
  if (run.outcome === "signalled" && run.signal !== null) return `killed by signal ${run.signal}`;
  if (run.outcome === "skipped") {
    const many = run.count > 1 ? `${run.count} skipped` : word;
    return run.reason && run.reason !== "none" ? `${many}: ${reasons[run.reason] ?? run.reason}` : many;
  }
  return word;
}

export const badge = (kind, text) => h("span", { class: `badge ${kind}` }, icon(kind), h("span", {}, text));
export const outcome = (run) => badge(runClass(run), runWord(run));

export function jobStates(job) {
  const found = [];
  if (job.running) found.push(["running", job.running > 1 ? `${job.running} running` : "running"]);
  if (job.waiting) found.push(["waiting", job.waiting > 1 ? `${job.waiting} waiting` : "waiting"]);
  if (job.failing) found.push(["failed", "failing"]);
  if (job.absent) found.push(["warn", "no success for too long"]);
  if (job.paused) found.push(["paused", "paused"]);
  return found;
}

// How long a run took or takes, in seconds; nothing if it has not started.
export function duration(run) {
  const from = parse(run.started) ?? parse(run.launched);
  if (from === null) return null;
  return ((parse(run.finished) ?? now()) - from) / 1000;
}

// Texts that change with time carry `data-tick`; tick() sets them once a second without a render.
const ticks = {
  relative: (at) => relative(at),
  elapsed: (at) => span(Math.floor((now() - at) / 1000)),
};

export function tick() {
  for (const e of document.querySelectorAll("[data-tick]")) {
    const text = ticks[e.dataset.tick](Number(e.dataset.at));
    if (e.textContent !== text) e.textContent = text;
  }
}

const ticking = (kind, at, props = {}) =>
  h(
    "time",
    {
      datetime: new Date(at).toISOString(),
      title: full(at),
      "data-tick": kind,
      "data-at": at,
      ...props,
    },
    ticks[kind](at),
  );

// "in 4 min" with the time of day beside it.
export function when(text) {
  const at = parse(text);
  if (at === null) return h("span", { class: "dim" }, "none");
  return h("span", { class: "when" }, ticking("relative", at), " ", h("span", { class: "dim" }, short(at)));
}

export const ago = (text) => {
  const at = parse(text);
  return at === null ? h("span", { class: "dim" }, "never") : ticking("relative", at);
};

export const elapsed = (text) => ticking("elapsed", parse(text) ?? now());

export const at = (text, shown = short) => {
  const ms = parse(text);
  return ms === null
    ? h("span", { class: "dim" }, "none")
    : h("time", { datetime: new Date(ms).toISOString(), title: full(ms) }, shown(ms));
};

export const jobHref = (job) => `#/jobs/${encodeURIComponent(job)}`;
export const runHref = (id) => `#/runs/${id}`;
export const jobLink = (job, props = {}) =>
  h("a", { href: jobHref(job), class: "job-name", title: job, ...props }, name(job));

export function button(text, act, { kind = "", shape, ...props } = {}) {
  return h(
    "button",
    { type: "button", class: `button ${kind}`, on: { click: act }, ...props },
    shape && icon(shape),
    h("span", {}, text),
  );
}

// A button that is a drawing; its words are read out and shown on hover.
export function iconButton(text, shape, act, props = {}) {
  return h(
    "button",
    { type: "button", class: "button icon-only", title: text, on: { click: act }, ...props },
    icon(shape),
    hidden(text),
  );
}

export const empty = (title, ...rest) => h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), rest);

export const section = (id, title, extra, ...content) =>
  h(
    "section",
    { class: `panel panel-${id}`, key: id, "aria-labelledby": `${id}-title` },
    h("div", { class: "panel-head" }, h("h2", { id: `${id}-title` }, title), extra),
    content,
  );

export const dayAndClock = (ms) => `${date(ms)}, ${clock(ms)}`;
