// What a person can do to jobs and runs: asks first where it matters, sends it, says what came of it.

import * as api from "./api.js";
import { h, icon, name, render } from "./dom.js";
import { changed, putJob, refreshJob } from "./state.js";
import { button, jobHref, runHref } from "./words.js";

// --- short messages --------------------------------------------------------------------------------------------------

let toasts = [];

// Read out by readers of the screen, too: #toasts is a live region.
export function toast(text, { kind = "info", link } = {}) {
  const one = { text, kind, link, key: Math.random() };
  toasts = [...toasts.slice(-3), one];
  showToasts();
  setTimeout(() => drop(one), kind === "error" ? 12000 : 6000);
}

function drop(one) {
  toasts = toasts.filter((other) => other !== one);
  showToasts();
}

function showToasts() {
  render(
    document.getElementById("toasts"),
    toasts.map((one) =>
      h(
        "div",
        { class: `toast ${one.kind}`, key: one.key },
        h("span", {}, name(one.text)),
        one.link && h("a", { href: one.link.href }, one.link.text),
        h(
          "button",
          { type: "button", class: "close", "aria-label": "Close this message", on: { click: () => drop(one) } },
          "×",
        ),
      ),
    ),
  );
}

// --- questions -------------------------------------------------------------------------------------------------------

// Resolves to true if the person says yes. The safe answer has the focus.
export function confirm({ title, text, yes, danger = false }) {
  return new Promise((resolve) => {
    const finish = (answer) => {
      dialog.close();
      dialog.remove();
      resolve(answer);
    };
    const no = button("Leave it", () => finish(false), { autofocus: true });
    const dialog = h(
      "dialog",
      {
        class: "dialog",
        "aria-labelledby": "question",
        on: {
          cancel: (event) => {
            event.preventDefault();
            finish(false);
          },
        },
      },
      h("h2", { id: "question" }, danger && icon("warn"), name(title)),
      h("p", {}, text),
      h(
        "div",
        { class: "buttons" },
        no,
        button(yes, () => finish(true), { kind: danger ? "danger" : "primary" }),
      ),
    );
    document.body.append(dialog);
    dialog.showModal();
    no.focus();
  });
}

// --- what is done ----------------------------------------------------------------------------------------------------

async function attempt(what, act) {
  try {
    return await act();
  } catch (error) {
    toast(`${what}: ${error.message}`, { kind: "error" });
    return null;
  }
}

export async function run(job) {
  const done = await attempt(`${job} was not run`, () => api.runJob(job, false));
  if (done) toast(`${job} is in the queue`, { link: { href: runHref(done.run), text: `run ${done.run}` } });
}

export async function runPastCap(job) {
  const sure = await confirm({
    title: `Run ${job} past the cap?`,
    yes: "Run it now",
    text: "It starts at once, even if all slots are taken, and counts beyond the cap until it ends.",
  });
  if (!sure) return;
  const done = await attempt(`${job} was not run`, () => api.runJob(job, true));
  if (done) toast(`${job} starts now`, { link: { href: runHref(done.run), text: `run ${done.run}` } });
}

export async function pause(job) {
  const done = await attempt(`${job} was not paused`, () => api.pauseJob(job));
  if (!done) return;
  putJob(done);
  toast(`${job} is paused: what is due meanwhile is recorded as skipped`);
}

export async function resume(job) {
  const done = await attempt(`${job} was not resumed`, () => api.resumeJob(job));
  if (!done) return;
  putJob(done);
  toast(`${job} goes on`);
}

export async function cancel(one) {
  const launched = one.phase === "launched";
  const sure =
    !launched ||
    (await confirm({
      title: `Cancel run ${one.id} of ${one.job}?`,
      yes: "Cancel the run",
      danger: true,
      text: "Its whole process group gets TERM, and KILL after the job's grace period.",
    }));
  if (!sure) return;
  const done = await attempt(`run ${one.id} was not cancelled`, () => api.cancelRun(one.id));
  if (done) toast(launched ? `run ${one.id} is told to stop` : `run ${one.id} is out of the queue`);
}

export async function remove(job) {
  const sure = await confirm({
    title: `Remove ${job}?`,
    yes: "Remove the job",
    danger: true,
    text: "Runs that wait are dropped, one that is under way goes on to its end. No file defines this job: its text is gone afterwards.",
  });
  if (!sure) return;
  const done = await attempt(`${job} was not removed`, () => api.removeJob(job));
  if (!done) return;
  await refreshJob(job).catch(() => {});
  changed();
  toast(`${job} is removed`);
  location.hash = "#/jobs";
}

// Throws what the daemon says, for the editor to show beside the text.
export async function save(job, toml) {
  const saved = await api.putJob(job, toml);
  putJob(saved);
  toast(`${job} is saved`);
  location.hash = jobHref(job);
}

export async function reload() {
  const done = await attempt("the tables were not read", () => api.reload());
  if (!done) return;
  const broken = done.tables.filter((table) => !table.ok).length;
  toast(broken ? `read anew: ${broken} of ${done.tables.length} tables broken` : "the tables were read anew", {
    kind: broken ? "error" : "info",
  });
}
