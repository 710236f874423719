// What the page asks the daemon: docs/jobs_api.md. The token goes along in a header, never in an address.
//
// Streams are read with fetch, since EventSource sends no headers. stream() ends by itself, by an error, or by abort();
// to come back is the caller's business.

const STORED = "rota.token";
let onRefused = () => {};

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// The token of the fragment (#token=...) is kept for this tab, and the fragment is taken off the address.
export function takeToken() {
  const found = /^#(?:.*&)?token=([^&]+)/.exec(location.hash);
  if (!found) return;
  setToken(decodeURIComponent(found[1]));
  history.replaceState(null, "", `${location.pathname}${location.search}#/`);
}

export const token = () => sessionStorage.getItem(STORED);

export function setToken(text) {
  if (text) sessionStorage.setItem(STORED, text.trim());
  else sessionStorage.removeItem(STORED);
}

export function whenRefused(f) {
  onRefused = f;
}

// A name as part of a path. A browser takes "." and ".." for folders even when they are escaped.
export function part(name) {
  if (name === "." || name === "..") throw new ApiError(400, `a job named '${name}' has no address`);
  return encodeURIComponent(name);
}

async function ask(method, path, { body, signal, accept } = {}) {
  const headers = { Authorization: `Bearer ${token() ?? ""}` };
  if (accept) headers.Accept = accept;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, {
      method,
      headers,
      signal,
      cache: "no-store",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "the daemon does not answer");
  }
  if (answer.ok) return answer;
  let message = `the daemon answers with ${answer.status}`;
  try {
    message = (await answer.json()).error ?? message;
  } catch {
    // Not JSON: whatever answers there, its status is all that we can tell.
  }
  if (answer.status === 401) onRefused();
  throw new ApiError(answer.status, message);
}

const api = (path) => `/api/v1/${path}`;
const query = (values) =>
  new URLSearchParams(Object.entries(values).filter(([, v]) => v !== undefined && v !== null && v !== "")).toString();

export const get = async (path, values = {}, options = {}) => {
  const asked = query(values);
  return (await ask("GET", api(asked ? `${path}?${asked}` : path), options)).json();
};
const send = async (method, path, body) => (await ask(method, api(path), { body })).json();

export const runJob = (job, atOnce) => send("POST", `jobs/${part(job)}/run`, { at_once: atOnce });
export const pauseJob = (job) => send("POST", `jobs/${part(job)}/pause`, {});
export const resumeJob = (job) => send("POST", `jobs/${part(job)}/resume`, {});
export const removeJob = (job) => send("DELETE", `jobs/${part(job)}`);
export const putJob = (job, toml) => send("PUT", `jobs/${part(job)}`, { toml });
export const cancelRun = (id) => send("POST", `runs/${id}/cancel`, {});
export const reload = () => send("POST", "reload", {});

// Calls onEvent({id, event, data}) for each event until the stream ends; opened() once it is there.
export async function events({ signal, opened, onEvent }) {
  const answer = await ask("GET", api("events"), { signal, accept: "text/event-stream" });
  opened();
  const decoder = new TextDecoder();
  const parser = eventParser(onEvent);
  for await (const chunk of chunks(answer.body)) parser(decoder.decode(chunk, { stream: true }));
}

// Lines into events: those end with an empty line, and a line may come in pieces.
export function eventParser(onEvent) {
  let rest = "";
  let event = { id: "", event: "message", data: [] };
  return (text) => {
    const lines = (rest + text).split(/\r\n|\n/);
    rest = lines.pop();
    for (const line of lines) {
      if (line === "") {
        if (event.data.length) onEvent({ ...event, data: event.data.join("\n") });
        event = { id: event.id, event: "message", data: [] };
        continue;
      }
      const colon = line.indexOf(":");
      if (colon === 0) continue; // a comment, which keeps the line open
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (field === "data") event.data.push(value);
      else if (field === "id" || field === "event") event[field] = value;
    }
  };
}

// Calls onBytes(chunk) for the run's output from `offset` on, until the run is over.
export async function followLog(id, { offset, signal, onBytes }) {
  const answer = await ask("GET", api(`runs/${id}/log?offset=${offset}&follow=1`), { signal });
  for await (const chunk of chunks(answer.body)) onBytes(chunk);
}

async function* chunks(body) {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.releaseLock();
  }
}
