// The page of `rota serve`: which view is shown, the bar above it, and what is said to everybody.

import * as actions from "./actions.js";
import * as api from "./api.js";
import { h, icon, name, render, s } from "./dom.js";
import { editView, openEdit } from "./edit.js";
import { jobView } from "./job.js";
import { jobsView, openJobs } from "./jobs.js";
import { mendLists, setShortcuts, showHelp } from "./keys.js";
import { closeLog } from "./log_view.js";
import { nowView } from "./now.js";
import { runView } from "./run.js";
import { openRuns, runsView } from "./runs.js";
import { changed, connect, disconnect, onNews, retryNow, state, watch } from "./state.js";
import { clockSeconds, full, now, toggleZone, zone, zoneMode } from "./time.js";
import { button, tick } from "./words.js";

// --- where we are ------------------------------------------------------------------------------------------------------

const routes = [
  { match: /^\/?$/, tab: "now", title: () => "Now", view: nowView },
  { match: /^\/jobs$/, tab: "jobs", title: () => "Jobs", open: (_, asked) => openJobs(asked), view: jobsView },
  { match: /^\/jobs\/(.+)$/, tab: "jobs", title: (job) => job, view: jobView },
  { match: /^\/new$/, tab: "jobs", title: () => "Add a job", open: () => openEdit(null), view: () => editView(null) },
  {
    match: /^\/edit\/(.+)$/,
    tab: "jobs",
    title: (job) => `Change ${job}`,
    open: (job) => openEdit(job),
    view: editView,
  },
  { match: /^\/runs$/, tab: "runs", title: () => "Runs", open: (_, asked) => openRuns(asked), view: runsView },
  { match: /^\/runs\/(\d+)$/, tab: "runs", title: (id) => `Run ${id}`, view: runView },
];

let place = null;

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // "%" in an address that somebody typed
  }
}

function navigate() {
  if (location.hash.startsWith("#token=")) {
    api.takeToken();
    connect();
  }
  if (location.hash === "#main") return; // the skip link
  const [path, asked = ""] = location.hash.slice(1).split("?");
  const route = routes.find((one) => one.match.test(path)) ?? routes[0];
  const argument = decode(route.match.exec(path)?.[1] ?? "");
  const first = place === null;
  closeLog();
  place = { route, argument, key: location.hash };
  route.open?.(argument, new URLSearchParams(asked));
  document.title = `${route.title(argument)} - Rota`;
  draw();
  if (!first) {
    scrollTo(0, 0);
    document.getElementById("main").focus({ preventScroll: true });
  }
}

// --- the whole page ----------------------------------------------------------------------------------------------------

let queued = false;
watch(() => {
  if (queued) return;
  queued = true;
  requestAnimationFrame(() => {
    queued = false;
    draw();
  });
});

function draw() {
  if (!place) return;
  const main = document.getElementById("main");
  render(document.getElementById("bar"), bar());
  render(document.getElementById("banners"), banners());
  if (!api.token() || state.connection === "refused") render(main, tokenForm());
  else if (!state.loaded)
    render(
      main,
      h("p", { class: "dim loading" }, state.connection === "lost" ? "The daemon does not answer." : "Reading ..."),
    );
  else render(main, h("div", { class: "view", key: place.key }, place.route.view(place.argument)));
  mendLists();
}

function mark() {
  return s(
    "svg",
    { class: "mark", viewBox: "0 0 32 32", "aria-hidden": "true" },
    s("circle", { class: "mark-ring", cx: 16, cy: 16, r: 11 }),
    s("path", { class: "mark-duty", d: "M16 5a11 11 0 0 1 6.4 2.05" }),
    s("path", { class: "mark-hand", d: "M16 10.5V16l3.8 2.6" }),
  );
}

const lights = {
  live: ["live", "Live"],
  connecting: ["waiting", "Connecting"],
  lost: ["failed", "Not connected"],
  asleep: ["paused", "Asleep"],
  refused: ["failed", "Token refused"],
  "no token": ["paused", "No token"],
};

function bar() {
  const tab = (key, label, href, count) =>
    h(
      "a",
      { href, key, "aria-current": place.route.tab === key ? "page" : null },
      label,
      count ? h("span", { class: "count" }, count) : null,
    );
  const [kind, word] = lights[state.connection] ?? lights.connecting;
  return [
    h("a", { class: "brand", href: "#/" }, mark(), h("span", {}, "Rota")),
    h(
      "nav",
      { "aria-label": "Views" },
      tab("now", "Now", "#/", state.active.size),
      tab("jobs", "Jobs", "#/jobs", state.jobs.size),
      tab("runs", "Runs", "#/runs"),
    ),
    h(
      "div",
      { class: "bar-side" },
      state.status &&
        h(
          "button",
          {
            type: "button",
            class: "clock",
            title: `${full(now())}. Press to show times in the ${zoneMode() === "daemon" ? "browser" : "daemon"}'s zone`,
            on: { click: switchZone },
          },
          h("span", { id: "clock" }, clockSeconds(now())),
          " ",
          h("span", { class: "dim", id: "zone" }, `${zone()} (${zoneMode()})`),
        ),
      h("span", { class: `light ${kind}`, id: "light" }, h("span", { class: "dot", "aria-hidden": "true" }), word),
      h(
        "button",
        {
          type: "button",
          class: "button icon-only",
          id: "theme",
          "aria-label": `Switch to ${theme() === "dark" ? "light" : "dark"} colours`,
          on: { click: switchTheme },
        },
        icon(theme() === "dark" ? "sun" : "moon"),
      ),
      h(
        "button",
        { type: "button", class: "button icon-only", "aria-label": "Keys and signs", on: { click: showHelp } },
        "?",
      ),
    ),
  ];
}

function switchZone() {
  toggleZone();
  changed();
}

// --- banners -----------------------------------------------------------------------------------------------------------

function banners() {
  const found = [];
  const banner = (key, kind, ...content) =>
    found.push(
      h("div", { class: `banner ${kind}`, key, role: kind === "error" ? "alert" : "status" }, icon("warn"), content),
    );
  if (state.connection === "lost") {
    banner(
      "lost",
      "error",
      h(
        "span",
        {},
        "The connection to the daemon is lost",
        state.loaded ? "; what is shown may be old" : "",
        state.trouble ? `: ${state.trouble}` : "",
        ". Trying again ",
        h("span", { id: "retry", "aria-hidden": "true" }, retryWords()),
        ".",
      ),
      button("Try now", retryNow),
    );
  }
  const { status } = state;
  if (status?.ledger && !status.ledger.ok) {
    banner(
      "ledger",
      "error",
      h(
        "span",
        {},
        h("strong", {}, "The ledger cannot be written. "),
        name(status.ledger.error ?? ""),
        ". Nothing new is started until it can.",
      ),
    );
  }
  for (const table of status?.tables ?? []) {
    if (table.ok) continue;
    banner(
      `table ${table.file}`,
      "error",
      h(
        "span",
        {},
        h("strong", {}, name(table.file), " is broken. "),
        h("span", { class: "lines" }, name(firstLines(table.error ?? ""))),
        table.loaded ? ". Its last good version is used." : "",
      ),
      button("Read it again", actions.reload),
    );
  }
  if (status?.draining)
    banner("draining", "info", h("span", {}, "The daemon is about to stop: nothing new is started."));
  return found;
}

// A table may be wrong in a thousand places.
function firstLines(text) {
  const lines = text.trim().split("\n");
  return lines.length <= 3 ? lines.join("\n") : `${lines.slice(0, 3).join("\n")}\n... and ${lines.length - 3} more`;
}

const retryWords = () => {
  const left = Math.ceil((state.retryAt - Date.now()) / 1000);
  return left > 0 ? `in ${left} s` : "now";
};

onNews((change) => {
  const words = {
    job_failed: "has failed",
    job_recovered: "works again",
    job_absent: "has had no success for too long",
  };
  const kind = ["job_failed", "job_absent", "ledger_failed", "clock_back"].includes(change.kind) ? "error" : "info";
  const text = words[change.kind]
    ? `${change.job} ${words[change.kind]}`
    : change.text || change.kind.replace("_", " ");
  actions.toast(text, {
    kind,
    link: change.run ? { href: `#/runs/${change.run.id}`, text: `run ${change.run.id}` } : undefined,
  });
});

// --- the token ---------------------------------------------------------------------------------------------------------

function tokenForm() {
  const enter = (event) => {
    event.preventDefault();
    const field = document.getElementById("token");
    api.setToken(field.value);
    field.value = ""; // A refusal may come before the form was ever taken away.
    connect();
  };
  return h(
    "form",
    { class: "panel token", key: "token-form", on: { submit: enter } },
    h("h1", {}, "This page needs the daemon's token"),
    state.connection === "refused" &&
      h(
        "p",
        { class: "note error", role: "alert" },
        icon("failed"),
        "The daemon does not know that token. It may have been made anew.",
      ),
    h(
      "p",
      {},
      "It stands in the file ",
      h("code", {}, "token"),
      " of the daemon's state directory, which only the daemon's user can read. ",
      h("code", {}, "rota job page"),
      " prints an address that has the token in it.",
    ),
    h(
      "label",
      { class: "field" },
      "Token",
      h("input", { id: "token", type: "password", autocomplete: "off", required: true }),
    ),
    h("p", { class: "dim" }, "It is kept for this tab and forgotten when the tab is closed."),
    h("div", { class: "buttons" }, h("button", { type: "submit", class: "button primary" }, "Open")),
  );
}

api.whenRefused(() => {
  api.setToken("");
  disconnect("refused");
});

// --- light and dark ------------------------------------------------------------------------------------------------------

const systemDark = matchMedia("(prefers-color-scheme: dark)");
const theme = () => localStorage.getItem("rota.theme") ?? (systemDark.matches ? "dark" : "light");
const applyTheme = () => {
  document.documentElement.dataset.theme = theme();
};
systemDark.addEventListener("change", () => {
  applyTheme();
  changed();
});

function switchTheme() {
  localStorage.setItem("rota.theme", theme() === "dark" ? "light" : "dark");
  applyTheme();
  changed();
}

// --- start -------------------------------------------------------------------------------------------------------------

const go = (hash) => () => {
  location.hash = hash;
};
const focusSearch = () => {
  const field = document.querySelector("#log-search, #search");
  if (field) field.focus();
  else location.hash = "#/jobs";
};
const focusedJob = () =>
  document.activeElement?.closest("[data-row]")?.querySelector(".job-name")?.title ??
  (place.route.match.test("/jobs/x") ? place.argument : null);
const onJob = (act) => () => {
  const job = focusedJob();
  if (job) act(job);
};

setShortcuts([
  { keys: ["?"], text: "this help", act: showHelp },
  { keys: ["g n"], text: "now", act: go("#/") },
  { keys: ["g j"], text: "jobs", act: go("#/jobs") },
  { keys: ["g r"], text: "runs", act: go("#/runs") },
  { keys: ["/"], text: "search", act: focusSearch },
  { keys: ["n"], text: "add a job", act: go("#/new") },
  { keys: ["r"], text: "run the job that has the focus or is shown", act: onJob(actions.run) },
  {
    keys: ["p"],
    text: "pause or resume it",
    act: onJob((job) => (state.jobs.get(job)?.paused ? actions.resume(job) : actions.pause(job))),
  },
  { keys: ["t"], text: "light or dark", act: switchTheme },
  { keys: ["z"], text: "times in the daemon's zone or the browser's", act: switchZone },
]);

applyTheme();
api.takeToken();
addEventListener("hashchange", navigate);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main").focus();
});
setInterval(() => {
  tick();
  const clock = document.getElementById("clock");
  if (clock) clock.textContent = clockSeconds(now());
  const retry = document.getElementById("retry");
  if (retry) retry.textContent = retryWords();
}, 1000);
setInterval(changed, 10000); // progress, the line of now, words like "due in"
navigate();
if (api.token()) connect();
else disconnect("no token");
