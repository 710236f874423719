// Elements from data, and a tree brought up to date in place.
//
//   morph(old, h("ul", {}, jobs.map((j) => h("li", {key: j.name}, j.name))));
//
// Views are functions from the state to a fresh tree; morph() changes the tree on the page as little as possible, so
// that focus, selection and scrolling stay. Text becomes text nodes and nothing else: there is no way from a job's
// name to markup. Styles are set by CSSOM, since the page's policy forbids style attributes.

const SVG = "http://www.w3.org/2000/svg";
const asProperty = new Set(["value", "checked", "disabled", "selected", "open"]);

// Children: nodes, texts, numbers, arrays of them; null and false are left out.
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

export function s(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

// A place for an element that looks after itself. It is made once, and morph() leaves it alone.
export function slot(key, make) {
  const place = document.createElement("div");
  place._slot = key;
  place._make = make;
  return place;
}

// An element that is built only if one of the `inputs` is another than last time; for rows, of which there are many.
export function lazy(tag, key, inputs, make) {
  const place = document.createElement(tag);
  place._key = String(key);
  place._inputs = inputs;
  place._build = make;
  return place;
}

function fill(e, props, children) {
  for (const [name, value] of Object.entries(props)) set(e, name, value);
  append(e, children);
  // A select takes its value from its options, which are there only now.
  if (props.value !== undefined) e.value = props.value;
  return e;
}

function set(e, name, value) {
  if (value === null || value === undefined || value === false) {
    if (asProperty.has(name)) remember(e, name, value ?? "");
  } else if (name === "key") {
    e._key = String(value);
  } else if (name === "on") {
    for (const [type, f] of Object.entries(value)) listen(e, type, f);
  } else if (name === "style") {
    for (const [property, v] of Object.entries(value)) e.style.setProperty(property, v);
    e._styled = true; // to ask for the text of a style costs more than all the rest of morph()
  } else if (asProperty.has(name)) {
    remember(e, name, value);
  } else {
    e.setAttribute(name, value === true ? "" : value);
  }
}

function remember(e, name, value) {
  (e._props ??= {})[name] = value;
  e[name] = value;
}

// One listener for a type, whose function morph() can change.
function listen(e, type, f) {
  if (!(e._on ??= {})[type]) e.addEventListener(type, (event) => e._on[type]?.(event));
  e._on[type] = f;
}

function append(e, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false || child === "") continue;
    if (Array.isArray(child)) append(e, child);
    else if (child instanceof Node) e.append(child);
    else e.append(document.createTextNode(String(child)));
  }
}

// Makes the children of `parent` look like `children`.
function morphChildren(parent, ...children) {
  const wanted = document.createDocumentFragment();
  append(wanted, children);
  reconcile(parent, [...wanted.childNodes]);
}

function sameKind(a, b) {
  if (a.nodeType !== b.nodeType || a._slot !== b._slot) return false;
  if (a._slot) return true;
  return a.nodeName === b.nodeName && a._key === b._key;
}

function reconcile(parent, wanted) {
  const keys = new Set(wanted.map((next) => next._key).filter(Boolean));
  const keyed = new Map();
  for (const child of [...parent.childNodes]) {
    if (!child._key) continue;
    if (keys.has(child._key)) keyed.set(child._key, child);
    else child.remove(); // first, so that what stays need not move: that would cost its scrolling
  }
  let at = parent.firstChild;
  for (const next of wanted) {
    const found = next._key ? keyed.get(next._key) : unkeyed(at, next);
    if (!found || !sameKind(found, next)) {
      parent.insertBefore(real(next), at);
      continue;
    }
    if (found === at) at = at.nextSibling;
    else parent.insertBefore(found, at);
    if (!next._build) morph(found, next);
    else if (!sameInputs(found._inputs, next._inputs)) morph(found, built(next));
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

// The first one from `at` on that can become `next`. Those that it passes over are not wanted.
function unkeyed(at, next) {
  let look = at;
  while (look && !sameKind(look, next)) look = look.nextSibling;
  return look;
}

const sameInputs = (a, b) => a !== undefined && a.length === b.length && a.every((one, i) => one === b[i]);

function built(place) {
  const e = place._build();
  e._key = place._key;
  e._inputs = place._inputs;
  return e;
}

// What comes to the page for the first time: places become what they stand for.
function real(e) {
  if (e._make) {
    const own = e._make();
    own._slot = e._slot;
    return own;
  }
  const whole = e._build ? built(e) : e;
  for (const child of [...whole.childNodes]) {
    const own = real(child);
    if (own !== child) child.replaceWith(own);
  }
  return whole;
}

function morph(old, next) {
  if (old._slot) return;
  old._inputs = next._inputs;
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== next.data) old.data = next.data;
    return;
  }
  for (const name of old.getAttributeNames()) {
    if (name !== "style" && !next.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const name of next.getAttributeNames()) {
    const value = next.getAttribute(name);
    if (name !== "style" && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  if ((old._styled || next._styled) && old.style.cssText !== next.style.cssText) {
    old.style.cssText = next.style.cssText;
    old._styled = true;
  }
  if (next._on || old._on) {
    for (const type of Object.keys(old._on ?? {})) old._on[type] = next._on?.[type];
    for (const [type, f] of Object.entries(next._on ?? {})) listen(old, type, f);
  }
  reconcile(old, [...next.childNodes]);
  // After the children, for a select's sake. What somebody types is theirs.
  for (const [name, value] of Object.entries(next._props ?? {})) {
    if (name === "value" && old === document.activeElement && old.tagName !== "SELECT") continue;
    if (old[name] !== value) old[name] = value;
  }
}

// What had to move keeps the focus.
export function render(parent, ...children) {
  const focused = document.activeElement;
  morphChildren(parent, ...children);
  if (focused !== document.activeElement && focused?.isConnected) focused.focus({ preventScroll: true });
}

// A name from outside: kept apart from the direction of the text around it.
export const name = (text) => h("bdi", {}, text);

// For readers of the screen only.
export const hidden = (text) => h("span", { class: "vh" }, text);

const shapes = {
  success: "M3 8.5 6.5 12 13 4.5",
  failed: "M4 4l8 8M12 4l-8 8",
  running: "M5 3.5v9l7-4.5z",
  waiting: "M8 4v4l2.5 1.5M8 1.8a6.2 6.2 0 1 0 .01 0",
  paused: "M5.5 3.5v9M10.5 3.5v9",
  skipped: "M3.5 8h9",
  other: "M8 3.5v5.5M8 12v.5",
  run: "M5 3.5v9l7-4.5z",
  resume: "M3.5 3.5v9M7 3.5v9l6-4.5z",
  cancel: "M4.5 4.5h7v7h-7z",
  edit: "M3 13l.7-3L10.5 3.2l2.3 2.3L6 12.3z",
  sun: "M8 5a3 3 0 1 0 .01 0M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
  moon: "M13 9.5A5.5 5.5 0 1 1 6.5 3a4.5 4.5 0 0 0 6.5 6.5z",
  search: "M7 2.5a4.5 4.5 0 1 0 .01 0M10.3 10.3L14 14",
  warn: "M8 2.2 14.5 13.5h-13zM8 6.5v3.5M8 11.7v.3",
  plus: "M8 3v10M3 8h10",
  back: "M10 3 5 8l5 5",
};
const filled = new Set(["running", "run", "cancel"]);

// A drawing of 16 by 16 that says nothing to a reader of the screen; its neighbour does.
export function icon(shape) {
  return s(
    "svg",
    { class: `icon ${filled.has(shape) ? "filled" : ""}`, viewBox: "0 0 16 16", "aria-hidden": "true" },
    s("path", { d: shapes[shape] ?? shapes.other }),
  );
}
