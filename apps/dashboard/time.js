// Times and durations in words. All times are milliseconds since the epoch here; the daemon's clock rules.

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

let skew = 0; // the daemon's clock minus the browser's
let daemonZone = "UTC";
let mode = localStorage.getItem("rota.zone") === "browser" ? "browser" : "daemon";
const formats = new Map();

export const HOUR = hour;
export const DAY = day;

export function setDaemonClock(nowText, zone) {
  const at = parse(nowText);
  if (at !== null) skew = at - Date.now();
  daemonZone = zone || "UTC";
}

export const now = () => Date.now() + skew;
export const zoneMode = () => mode;

export function toggleZone() {
  mode = mode === "daemon" ? "browser" : "daemon";
  localStorage.setItem("rota.zone", mode);
}

const browserZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

export function zone() {
  const wanted = mode === "daemon" ? daemonZone : browserZone;
  return known(wanted) ? wanted : "UTC";
}

// A browser may not know a zone that the daemon's machine has.
function known(name) {
  try {
    formatter("known", name, {});
    return true;
  } catch {
    return false;
  }
}

function formatter(kind, zoneName, options) {
  const key = `${kind} ${zoneName}`;
  if (!formats.has(key)) {
    formats.set(key, new Intl.DateTimeFormat("en-GB", { timeZone: zoneName, hourCycle: "h23", ...options }));
  }
  return formats.get(key);
}

const kinds = {
  clock: { hour: "2-digit", minute: "2-digit" },
  seconds: { hour: "2-digit", minute: "2-digit", second: "2-digit" },
  date: { weekday: "short", day: "numeric", month: "short" },
  full: {
    weekday: "short",
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    timeZoneName: "short",
  },
  hour: { hour: "numeric" },
  far: { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" },
};

// Views say the same times again and again, and to format one takes microseconds.
const said = new Map();

function format(kind, at) {
  const key = `${kind} ${at} ${zone()}`;
  let text = said.get(key);
  if (text === undefined) {
    if (said.size > 20000) said.clear();
    text = formatter(kind, zone(), kinds[kind]).format(at);
    said.set(key, text);
  }
  return text;
}

export const today = () => format("date", Math.floor(now() / minute) * minute);

export function parse(text) {
  if (!text) return null;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : at;
}

export const clock = (at) => format("clock", at);
export const clockSeconds = (at) => format("seconds", at);
export const date = (at) => format("date", at);
export const full = (at) => `${format("full", at)}, ${zone()}`;

// "14:03" today, "Wed 18 Nov, 14:03" otherwise, "1 Jan 2030, 00:00" far away.
export function short(at) {
  if (Math.abs(at - now()) > 300 * day) return format("far", at);
  return date(at) === today() ? clock(at) : `${date(at)}, ${clock(at)}`;
}

// The first `step` of wall time at or after `at`: 14:00, 15:00 ... also where zones are off by half an hour.
export function nextFullHour(at) {
  const parts = formatter("minute", zone(), { minute: "numeric" }).format(at);
  const into = Number(parts) * minute + (at % minute);
  return into === 0 ? at : at - into + hour;
}

export const hourOf = (at) => Number(format("hour", at));

// Seconds as "850 ms", "3.2 s", "4 min 5 s", "1 h 20 min", "3 d 4 h".
export function span(seconds) {
  if (seconds === null || seconds === undefined) return "";
  const ms = Math.max(0, seconds * 1000);
  if (ms < second) return `${Math.round(ms)} ms`;
  if (ms < 10 * second) return `${(ms / second).toFixed(1)} s`;
  if (ms < minute) return `${Math.floor(ms / second)} s`;
  if (ms < hour) return two(Math.floor(ms / minute), "min", Math.floor((ms % minute) / second), "s");
  if (ms < day) return two(Math.floor(ms / hour), "h", Math.floor((ms % hour) / minute), "min");
  return two(Math.floor(ms / day), "d", Math.floor((ms % day) / hour), "h");
}

function two(a, unitA, b, unitB) {
  return b ? `${a} ${unitA} ${b} ${unitB}` : `${a} ${unitA}`;
}

// Rough, for what is read at a glance: "in 4 min", "2 h ago".
export function relative(at) {
  const off = at - now();
  const size = Math.abs(off);
  if (size < second) return "now";
  let text;
  if (size < minute) text = `${Math.round(size / second)} s`;
  else if (size < hour) text = `${Math.min(59, Math.round(size / minute))} min`;
  else if (size < 10 * hour) text = two(Math.floor(size / hour), "h", Math.round((size % hour) / minute) % 60, "min");
  else if (size < 2 * day) text = `${Math.round(size / hour)} h`;
  else text = `${Math.round(size / day)} d`;
  return off > 0 ? `in ${text}` : `${text} ago`;
}

export function bytes(n) {
  if (n < 1000) return `${n} B`;
  if (n < 1e6) return `${(n / 1e3).toFixed(1)} kB`;
  return `${(n / 1e6).toFixed(1)} MB`;
}
