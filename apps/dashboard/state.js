// What the page knows of the daemon, and how it stays true: a snapshot, then events on top of it.
//
// The stream is opened before the snapshot is read, so that nothing falls between them. A snapshot may be older than an
// event that was seen meanwhile; hence a run never goes back (rule F1: due < launched < over, newest wins). After a
// break of the stream everything is read anew.

import * as api from "./api.js";
import { parse, setDaemonClock } from "./time.js";

export const state = {
  connection: "connecting", // "live", "lost", "refused", "no token"
  retryAt: 0,
  trouble: "", // why there is no connection
  loaded: false,
  status: null,
  jobs: new Map(), // by name
  active: new Map(), // runs that are due or launched, by id
  upcoming: null,
  seen: 0, // grows with each event and each snapshot
  epoch: 0, // `seen` of the last snapshot
  ended: 0, // `seen` when a run was last over
  touched: new Map(), // "job NAME", "run ID" -> `seen` when an event last named it
};

const watchers = new Set();
const news = new Set();

export const watch = (f) => watchers.add(f);
export const onNews = (f) => news.add(f); // f(change): what a person should hear of
export const changed = () => watchers.forEach((f) => f());

// --- runs ------------------------------------------------------------------------------------------------------------

const order = { due: 0, launched: 1, over: 2 };
const over = new Set(); // ids that are over, kept against late snapshots (F1)

function takeRun(run) {
  if (run.phase === "over") {
    state.active.delete(run.id);
    over.add(run.id);
    if (over.size > 5000) over.delete(over.values().next().value);
    return;
  }
  const known = state.active.get(run.id);
  if (over.has(run.id) || (known && order[known.phase] > order[run.phase])) return;
  if (known && known.started && !run.started) return;
  state.active.set(run.id, run);
}

const byTime = (a, b) => parse(a.scheduled) - parse(b.scheduled) || a.id - b.id;
export const running = () => [...state.active.values()].filter((r) => r.phase === "launched").sort(byTime);
export const waiting = () => [...state.active.values()].filter((r) => r.phase === "due").sort(byTime);

// --- reading ---------------------------------------------------------------------------------------------------------

async function readStatus() {
  const status = await api.get("status");
  setDaemonClock(status.now, status.zone);
  state.status = status;
}

async function readJobs() {
  const { jobs } = await api.get("jobs");
  state.jobs = new Map(jobs.map((job) => [job.name, job]));
}

async function readActive() {
  const [due, launched] = await Promise.all(
    ["due", "launched"].map((phase) => api.get("runs", { phase, limit: 1000 })),
  );
  for (const run of [...due.runs, ...launched.runs]) takeRun(run);
}

export async function readUpcoming() {
  state.upcoming = await api.get("upcoming", { hours: 24, limit: 20000 });
  changed();
}

async function readAll() {
  state.active.clear();
  await Promise.all([readStatus(), readJobs(), readActive()]);
  state.loaded = true;
  state.seen += 1;
  state.epoch = state.seen;
  state.touched.clear();
  changed();
  await readUpcoming();
}

// --- events ----------------------------------------------------------------------------------------------------------

const dirty = { jobs: new Set(), all: false, upcoming: false, status: false, timer: 0 };
const told = new Set([
  "job_failed",
  "job_recovered",
  "job_absent",
  "clock_back",
  "clock_forward",
  "ledger_failed",
  "ledger_works",
  "reloaded",
]);
const planChanges = new Set([
  "job_added",
  "job_changed",
  "job_removed",
  "job_paused",
  "job_resumed",
  "reloaded",
  "clock_back",
  "clock_forward",
]);

function touch(key) {
  state.touched.delete(key);
  state.touched.set(key, state.seen);
  if (state.touched.size > 5000) state.touched.delete(state.touched.keys().next().value);
}

function take(change) {
  state.seen += 1;
  if (change.run) {
    takeRun(change.run);
    touch(`run ${change.run.id}`);
  }
  if (change.job) {
    touch(`job ${change.job}`);
    if (change.kind === "job_removed") state.jobs.delete(change.job);
    else dirty.jobs.add(change.job);
  }
  if (change.kind === "reloaded") dirty.all = true;
  if (planChanges.has(change.kind)) dirty.upcoming = true;
  dirty.status = true;
  if (change.kind === "run_over") state.ended = state.seen;
  if (told.has(change.kind)) news.forEach((f) => f(change));
  settle();
  changed();
}

// Events come in bursts; what they make stale is read once, shortly after. Where that takes long, it is done less often:
// a page spends at most a tenth of the time on it.
let took = 0; // ms, the last time
function settle() {
  dirty.timer ||= setTimeout(
    async () => {
      const began = performance.now();
      const { all, jobs, upcoming, status } = dirty;
      Object.assign(dirty, { all: false, jobs: new Set(), upcoming: false, status: false, timer: 0 });
      try {
        if (all || jobs.size > 20) await readJobs();
        else await Promise.all([...jobs].map(refreshJob));
        if (status) await readStatus();
        changed();
        if (upcoming) await readUpcoming();
      } catch (error) {
        // The stream tells when the daemon is gone, and everything is read anew then.
        console.warn(error.message);
      }
      took = performance.now() - began;
    },
    Math.max(250, 9 * took),
  );
}

export async function refreshJob(name) {
  try {
    state.jobs.set(name, await api.get(`jobs/${api.part(name)}`));
  } catch (error) {
    if (error.status !== 404) throw error;
    state.jobs.delete(name);
  }
}

export function putJob(job) {
  state.jobs.set(job.name, job);
  changed();
}

// --- what single views read --------------------------------------------------------------------------------------------

const resources = new Map();

// {data, error}: what load() gave last. It is read anew when `version` has changed, at most once in `gap` ms; until then the
// old data stay. `changed()` follows.
export function resource(key, version, load, gap = 500) {
  const r = resources.get(key) ?? { data: null, error: null, version: null, busy: false, read: 0 };
  resources.delete(key);
  resources.set(key, r);
  if (resources.size > 30) resources.delete(resources.keys().next().value);
  if (r.version === version || r.busy || state.connection !== "live") return r;
  const early = r.read + gap - Date.now();
  if (early > 0) {
    r.timer ||= setTimeout(() => {
      r.timer = 0;
      changed();
    }, early);
    return r;
  }
  Object.assign(r, { busy: true, version, read: Date.now() });
  load()
    .then(
      (data) => Object.assign(r, { data, error: null }),
      (error) => {
        r.error = error;
      },
    )
    .finally(() => {
      r.busy = false;
      changed();
    });
  return r;
}

export const versionOf = (key) => Math.max(state.epoch, state.touched.get(key) ?? 0);

// --- the connection --------------------------------------------------------------------------------------------------

let aborter = null;
let retry = 0;
let wake = () => {};
let loops = 0; // counts connect() and disconnect(): a loop that is not the last one ends

export function connect() {
  aborter?.abort();
  wake();
  retry = 0;
  state.connection = "connecting";
  changed();
  loop((loops += 1));
}

export function disconnect(why) {
  loops += 1;
  aborter?.abort();
  wake();
  state.connection = why;
  changed();
}

export const retryNow = () => wake();

async function loop(me) {
  while (me === loops) {
    aborter = new AbortController();
    const mine = aborter;
    try {
      await api.events({ signal: mine.signal, opened: () => opened(mine), onEvent: (e) => onEvent(e, mine) });
    } catch (error) {
      if (error.name !== "AbortError") state.trouble = error.message;
    }
    mine.abort();
    if (me !== loops) return;
    await backOff();
  }
}

async function opened(mine) {
  try {
    await readAll();
    if (mine.signal.aborted) return;
    retry = 0;
    state.connection = "live";
    state.trouble = "";
    changed();
  } catch (error) {
    state.trouble = error.message;
    mine.abort();
  }
}

function onEvent({ event, data }, mine) {
  if (event === "lost") {
    readAll().catch(() => mine.abort());
  } else if (event === "change") {
    try {
      take(JSON.parse(data));
    } catch (error) {
      console.warn(`an event that is no JSON: ${error.message}`);
    }
  }
}

// 0.5, 1, 2 ... 15 s, give or take a fifth, so that many pages do not come back at one moment.
async function backOff() {
  const delay = Math.min(15000, 500 * 2 ** retry) * (0.8 + 0.4 * Math.random());
  retry += 1;
  state.connection = "lost";
  state.retryAt = Date.now() + delay;
  changed();
  await new Promise((resolve) => {
    wake = resolve;
    setTimeout(resolve, delay);
  });
}

// A line that hangs without an end is found by asking; the answer also sets the clock.
setInterval(async () => {
  if (state.connection !== "live") return;
  try {
    await readStatus();
    changed();
  } catch {
    aborter?.abort();
  }
}, 15000);

setInterval(() => {
  if (state.connection === "live") readUpcoming().catch(() => {});
}, 60000);

// A browser opens few connections to one address, and each page holds one. Hidden pages let go of theirs.
let hiddenTimer = 0;
document.addEventListener("visibilitychange", () => {
  clearTimeout(hiddenTimer);
  if (document.hidden) {
    hiddenTimer = setTimeout(() => {
      if (state.connection === "live") disconnect("asleep");
    }, 60000);
  } else if (state.connection === "asleep") {
    connect();
  }
});
