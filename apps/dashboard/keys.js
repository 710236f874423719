// Keys: shortcuts, moving in lists, and the page that explains them.
//
// A list is [data-list], its rows are [data-row]; only one row of a list can be reached with Tab, the arrows move to the
// others (left and right move within a row). Shortcuts are single letters, so they can be switched off (WCAG 2.1.4).

import { h, icon } from "./dom.js";
import { changed } from "./state.js";

const STORED = "rota.keys";
const current = new Map(); // list -> row that Tab reaches
let shortcuts = [];

export const keysOn = () => localStorage.getItem(STORED) !== "off";

// 0 for the row that had the focus last, or for the first one (index 0).
export function tabindex(list, row, index) {
  const known = current.get(list);
  return (known === undefined ? index === 0 : known === String(row)) ? 0 : -1;
}

// A row that is no longer there must not take the way into its list along.
export function mendLists() {
  for (const list of document.querySelectorAll("[data-list]")) {
    const known = current.get(list.dataset.list);
    if (known === undefined || list.querySelector(`[data-row="${CSS.escape(known)}"]`)) continue;
    current.delete(list.dataset.list);
    letIn(list.querySelector("[data-row]"), "0");
  }
}

function letIn(row, tabindex) {
  for (const e of row ? reachable(row) : []) e.setAttribute("tabindex", tabindex);
}

const reachable = (row) => (row.hasAttribute("data-item") ? [row] : [...row.querySelectorAll("a, button")]);

function move(event) {
  const row = event.target.closest?.("[data-row]");
  const list = row?.closest("[data-list]");
  if (!list || event.ctrlKey || event.metaKey || event.altKey) return false;
  const rows = [...list.querySelectorAll("[data-row]")];
  const columns = Number(list.dataset.columns ?? 0);
  const at = rows.indexOf(row);
  let to = null;
  if (columns) to = moveInGrid(list, row, event.key);
  else if (event.key === "ArrowDown") to = rows[at + 1];
  else if (event.key === "ArrowUp") to = rows[at - 1];
  else if (event.key === "Home") [to] = rows;
  else if (event.key === "End") to = rows.at(-1);
  else if ((event.key === "ArrowRight" || event.key === "ArrowLeft") && !row.hasAttribute("data-own-arrows")) {
    const items = reachable(row);
    items[items.indexOf(event.target) + (event.key === "ArrowRight" ? 1 : -1)]?.focus();
    event.preventDefault();
    return true;
  }
  if (!to) return false;
  event.preventDefault();
  reachable(to)[0]?.focus();
  to.scrollIntoView({ block: "nearest", inline: "nearest" });
  return true;
}

function moveInGrid(list, cell, key) {
  const step = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[key];
  if (!step) return null;
  const row = cell.parentElement;
  const next = step[0] > 0 ? row.nextElementSibling : step[0] < 0 ? row.previousElementSibling : row;
  const found = next?.children[[...row.children].indexOf(cell) + step[1]];
  return found?.matches("[data-row]") ? found : null;
}

document.addEventListener("focusin", (event) => {
  const row = event.target.closest?.("[data-row]");
  const list = row?.closest("[data-list]");
  const known = list && current.get(list.dataset.list);
  if (!list || known === row.dataset.row) return;
  // At once, not with the next drawing: the next key may be a Tab.
  const before = list.querySelector(known === undefined ? "[data-row]" : `[data-row="${CSS.escape(known)}"]`);
  letIn(before, "-1");
  letIn(row, "0");
  current.set(list.dataset.list, row.dataset.row);
  changed();
});

// each: {keys: ["g n"], text, act(event)}; a key may be two, one after the other.
export function setShortcuts(all) {
  shortcuts = all;
}

let before = "";
document.addEventListener("keydown", (event) => {
  if (move(event)) return;
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.matches?.("input, textarea, select")) return;
  if (!keysOn() && event.key !== "?") return;
  const both = `${before} ${event.key}`;
  const found =
    shortcuts.find((one) => one.keys.includes(both)) ?? shortcuts.find((one) => one.keys.includes(event.key));
  before = found ? "" : event.key;
  if (!found) return;
  event.preventDefault();
  found.act(event);
});

export function showHelp() {
  const toggle = h("input", {
    type: "checkbox",
    id: "keys-on",
    checked: keysOn(),
    on: {
      change: (event) => localStorage.setItem(STORED, event.target.checked ? "on" : "off"),
    },
  });
  const close = () => {
    dialog.close();
    dialog.remove();
  };
  const row = (keys, text) =>
    h(
      "tr",
      {},
      h(
        "th",
        { scope: "row" },
        keys.map((key, i) => [i ? " or " : "", key.split(" ").map((k, n) => [n ? " then " : "", h("kbd", {}, k)])]),
      ),
      h("td", {}, text),
    );
  const dialog = h(
    "dialog",
    {
      class: "dialog help",
      "aria-labelledby": "help-title",
      on: {
        cancel: (e) => {
          e.preventDefault();
          close();
        },
      },
    },
    h("h2", { id: "help-title" }, "Keys"),
    h(
      "table",
      {},
      h(
        "tbody",
        {},
        shortcuts.map((one) => row(one.keys, one.text)),
        row(["↑", "↓"], "the next or last row of a list, a lane, a day"),
        row(["←", "→"], "within a row: its buttons, the firings of a lane"),
        row(["Enter"], "open what has the focus"),
      ),
    ),
    h("h3", {}, "Signs"),
    h(
      "ul",
      { class: "signs" },
      [
        ["success", "success"],
        ["failed", "failed, timed out, lost"],
        ["running", "running"],
        ["waiting", "waits for a slot"],
        ["skipped", "skipped"],
        ["paused", "paused"],
        ["other", "cancelled, replaced, unknown"],
      ].map(([shape, text]) => h("li", {}, h("span", { class: `badge ${shape}` }, icon(shape), h("span", {}, text)))),
    ),
    h("p", {}, h("label", { for: "keys-on" }, toggle, " single keys are shortcuts")),
    h(
      "div",
      { class: "buttons" },
      h("button", { type: "button", class: "button primary", on: { click: close } }, "Close"),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
}
