// Adds or changes a job that no file defines: its TOML as text, and what the daemon says of it.

import * as actions from "./actions.js";
import { get, part } from "./api.js";
import { h, icon, name } from "./dom.js";
import { changed, resource, state, versionOf } from "./state.js";
import { button, empty, jobHref } from "./words.js";

const EXAMPLE = `schedule = "30 2 * * *"
shell = "echo hello"

# zone = "Europe/Berlin"
# overlap = "skip"        # skip, queue, allow, replace
# timeout = "10m"
`;

const fresh = () => ({ job: null, name: "", toml: EXAMPLE, error: "", place: null, busy: false });
let draft = fresh();

// Called when the view is opened: another job, another draft.
export function openEdit(job) {
  if (draft.job !== job || job === null) draft = { ...fresh(), job, toml: job === null ? EXAMPLE : null };
}

export function editView(job) {
  if (job !== null) {
    const shown = state.jobs.get(job);
    if (shown && !shown.removable)
      return [
        h("h1", {}, name(job)),
        empty("This job stands in a file; change it there.", h("code", {}, shown.source)),
      ];
    const { data, error } = resource(`text of ${job}`, versionOf(`job ${job}`), () => get(`jobs/${part(job)}`));
    if (error) return [h("h1", {}, name(job)), empty(error.message)];
    if (draft.toml === null && data) draft.toml = data.toml ?? "";
    if (draft.toml === null) return h("p", { class: "dim" }, "Reading ...");
    draft.name = job;
    draft.textless = data && !data.toml;
  }
  return [
    h(
      "p",
      { class: "crumb", key: "crumb" },
      h("a", { href: job === null ? "#/jobs" : jobHref(job) }, icon("back"), job === null ? "Jobs" : name(job)),
    ),
    h("h1", {}, job === null ? "Add a job" : ["Change ", name(job)]),
    h(
      "form",
      { class: "panel edit", key: "form", on: { submit } },
      job === null &&
        h(
          "label",
          { class: "field" },
          "Name",
          h("input", {
            id: "job-name",
            required: true,
            autocomplete: "off",
            spellcheck: "false",
            maxlength: "200",
            value: draft.name,
            on: {
              input: (e) => {
                draft.name = e.target.value;
              },
            },
          }),
        ),
      draft.textless &&
        h(
          "p",
          { class: "note warn" },
          icon("warn"),
          "The daemon does not give the text of this job: what is saved here replaces all of it.",
        ),
      h(
        "label",
        { class: "field" },
        "Definition (TOML)",
        h("textarea", {
          id: "job-toml",
          rows: "16",
          spellcheck: "false",
          autocapitalize: "off",
          value: draft.toml,
          "aria-invalid": draft.error ? "true" : "false",
          "aria-describedby": "edit-error",
          on: {
            input: (e) => {
              draft.toml = e.target.value;
            },
            keydown: indent,
          },
        }),
      ),
      h("div", { id: "edit-error", role: "alert" }, draft.error && errorBox()),
      h(
        "div",
        { class: "buttons" },
        button(draft.busy ? "Saving ..." : "Save", () => {}, { kind: "primary", type: "submit", disabled: draft.busy }),
        h("a", { class: "button", href: job === null ? "#/jobs" : jobHref(job) }, "Leave it"),
      ),
    ),
  ];
}

function errorBox() {
  const line = draft.place && draft.toml.split("\n")[draft.place.line - 1];
  return h(
    "div",
    { class: "note error" },
    icon("failed"),
    h(
      "div",
      {},
      h("span", { class: "lines" }, draft.error),
      line !== undefined && line !== null && h("pre", { class: "excerpt" }, `${draft.place.line} | ${line}`),
      draft.place && button("Go there", goThere),
    ),
  );
}

// "file:3:12: what is wrong"
export function placeOf(message) {
  const found = /:(\d+):(\d+):/.exec(message);
  return found ? { line: Number(found[1]), column: Number(found[2]) } : null;
}

function goThere() {
  const area = document.getElementById("job-toml");
  const lines = draft.toml.split("\n");
  const start = lines.slice(0, draft.place.line - 1).reduce((n, line) => n + line.length + 1, 0);
  area.focus();
  area.setSelectionRange(start + draft.place.column - 1, start + (lines[draft.place.line - 1] ?? "").length);
}

// Ctrl+Enter saves. Tab stays the way out of the text, since who uses keys alone needs one.
function indent(event) {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.target.form.requestSubmit();
}

async function submit(event) {
  event.preventDefault();
  if (draft.busy) return;
  const mine = draft;
  Object.assign(mine, { busy: true, error: "", place: null });
  changed();
  try {
    const wanted = mine.name.trim();
    if (mine.job === null && state.jobs.has(wanted)) throw new Error(`there is a job named ${wanted} already`);
    await actions.save(wanted, mine.toml);
    draft = fresh();
  } catch (error) {
    Object.assign(mine, { busy: false, error: error.message, place: placeOf(error.message) });
    changed();
  }
}
