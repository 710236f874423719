// A log on the page: follows the run, lets one stop and look, finds words.
//
// Lines stand in blocks that the browser lays out only when they come into sight (content-visibility), so a log of
// megabytes scrolls like a short one. Of a long log only the end is read.

import { followLog } from "./api.js";
import { h, hidden, render } from "./dom.js";
import { LogText } from "./log.js";
import { bytes } from "./time.js";
import { button } from "./words.js";

const BLOCK = 250; // lines
const TAIL = 4_000_000; // bytes of a long log that are read
const MOST_HITS = 10_000;

let open = null;

// There is one log at a time; its stream ends with it.
export function closeLog() {
  open?.abort();
  open = null;
}

export function makeLog(run) {
  closeLog();
  const aborter = new AbortController();
  open = aborter;
  let log = new LogText();
  const start = Math.max(0, (run.log_size ?? 0) - TAIL);
  log.bytes = start;
  const view = {
    follow: true,
    wrap: true,
    only: false,
    needle: "",
    hits: [],
    at: -1,
    note: "",
    drawn: 0,
    queued: false,
  };

  const tools = h("div", { class: "tools log-tools" });
  const status = h("p", { class: "dim log-status", role: "status" });
  const box = h("div", {
    class: "log wrap",
    tabindex: "0",
    role: "region",
    "aria-label": `Output of run ${run.id}`,
    on: { scroll: onScroll, keydown: onKey },
  });
  const element = h("div", { class: "log-view" }, tools, status, box);

  // --- reading -----------------------------------------------------------------------------------------------------

  async function read() {
    let wait = 500;
    while (!aborter.signal.aborted) {
      try {
        await followLog(run.id, {
          offset: log.bytes,
          signal: aborter.signal,
          onBytes: (chunk) => {
            wait = 500;
            log.push(chunk);
            queue();
          },
        });
        say("The output ends here.");
        return;
      } catch (error) {
        if (aborter.signal.aborted) return;
        if (error.status) {
          say(error.status === 404 ? "There is no output of this run." : error.message);
          return;
        }
        say("The connection is lost; trying again ...");
        await new Promise((resolve) => {
          setTimeout(resolve, wait);
        });
        wait = Math.min(wait * 2, 10000);
      }
    }
  }

  function say(text) {
    view.note = text;
    queue();
  }

  // --- drawing: appends, never the whole ------------------------------------------------------------------------------

  function queue() {
    if (view.queued) return;
    view.queued = true;
    requestAnimationFrame(() => {
      view.queued = false;
      draw();
    });
  }

  // Lines have numbers that stay: the first one kept is log.dropped.
  function draw() {
    const end = log.dropped + log.lines.length;
    while (box.firstChild && Number(box.firstChild.dataset.from) + BLOCK <= log.dropped) box.firstChild.remove();
    let from = Math.max(log.dropped, view.drawn - 1); // the last one may have grown
    for (; from < end; from += 1) putLine(from);
    view.drawn = end;
    drawTools();
    if (view.follow) box.scrollTop = box.scrollHeight;
  }

  function putLine(number) {
    const first = number - (number % BLOCK);
    let block = box.lastElementChild;
    if (!block || Number(block.dataset.from) !== first) {
      block = h("div", { class: "block", "data-from": first });
      box.append(block);
    }
    const drawn = lineElement(number);
    const known = block.lastElementChild;
    if (known && Number(known.dataset.line) === number) known.replaceWith(drawn);
    else block.append(drawn);
    const at = view.hits.at(-1);
    if (drawn.classList.contains("hit") && (at === undefined || at < number) && view.hits.length < MOST_HITS)
      view.hits.push(number);
  }

  function lineElement(number) {
    const line = log.lines[number - log.dropped];
    const hit = view.needle && line.plain.toLowerCase().includes(view.needle);
    return h(
      "div",
      { class: `line ${hit ? "hit" : ""} ${view.hits[view.at] === number ? "hit-now" : ""}`, "data-line": number },
      hit
        ? marked(line.plain, view.needle)
        : line.parts.map((p) => (p.style ? h("span", { class: p.style }, p.text) : p.text)),
      line.plain === "" && "\u200b",
    );
  }

  function marked(text, needle) {
    const lower = text.toLowerCase();
    const found = [];
    let from = 0;
    for (let at = lower.indexOf(needle); at >= 0 && found.length < 200; at = lower.indexOf(needle, from)) {
      found.push(text.slice(from, at), h("mark", {}, text.slice(at, at + needle.length)));
      from = at + needle.length;
    }
    return [...found, text.slice(from)];
  }

  // --- finding --------------------------------------------------------------------------------------------------------

  function search(text) {
    view.needle = text.toLowerCase();
    view.hits = [];
    view.at = -1;
    if (view.needle) {
      log.lines.forEach((line, i) => {
        if (view.hits.length < MOST_HITS && line.plain.toLowerCase().includes(view.needle))
          view.hits.push(i + log.dropped);
      });
    }
    for (const e of box.querySelectorAll(".line")) {
      const number = Number(e.dataset.line);
      const wanted = view.needle && log.lines[number - log.dropped]?.plain.toLowerCase().includes(view.needle);
      if (wanted || e.classList.contains("hit")) e.replaceWith(lineElement(number));
    }
    if (view.hits.length) goTo(view.hits.length - 1);
    else draw();
  }

  function goTo(index) {
    box.querySelector(".hit-now")?.classList.remove("hit-now");
    view.at = (index + view.hits.length) % view.hits.length;
    view.follow = false;
    const e = box.querySelector(`[data-line="${view.hits[view.at]}"]`);
    e?.classList.add("hit-now");
    e?.scrollIntoView({ block: "center" });
    drawTools();
  }

  // --- what a person does -----------------------------------------------------------------------------------------------

  function onScroll() {
    const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 30;
    if (atEnd === view.follow || view.hits[view.at] !== undefined) return;
    view.follow = atEnd;
    drawTools();
  }

  function onKey(event) {
    if (event.key === "End") setFollow(true);
    else if (event.key === "Home") setFollow(false);
  }

  function setFollow(on) {
    view.follow = on;
    if (on) view.at = -1;
    draw();
  }

  function toggle(label, on, act, title) {
    return h(
      "button",
      { type: "button", class: "button", "aria-pressed": String(on), title, on: { click: act } },
      label,
    );
  }

  function drawTools() {
    const count = view.needle
      ? view.hits.length
        ? `${view.at >= 0 ? `${view.at + 1} of ` : ""}${view.hits.length} lines`
        : "not found"
      : "";
    render(
      tools,
      toggle("Follow", view.follow, () => setFollow(!view.follow), "stay at the end as output comes in"),
      toggle(
        "Wrap",
        view.wrap,
        () => {
          view.wrap = !view.wrap;
          box.classList.toggle("wrap", view.wrap);
          draw();
        },
        "wrap long lines",
      ),
      h(
        "label",
        { class: "search" },
        hidden("Find in the output"),
        h("input", {
          type: "search",
          id: "log-search",
          placeholder: "Find in the output",
          autocomplete: "off",
          spellcheck: "false",
          on: {
            input: (e) => search(e.target.value),
            keydown: (e) => {
              if (e.key === "Enter" && view.hits.length) goTo(view.at + (e.shiftKey ? 1 : -1));
            },
          },
        }),
      ),
      view.needle && [
        button("Up", () => goTo(view.at - 1), { disabled: !view.hits.length }),
        button("Down", () => goTo(view.at + 1), { disabled: !view.hits.length }),
        toggle(
          "Only these",
          view.only,
          () => {
            view.only = !view.only;
            box.classList.toggle("only", view.only);
            drawTools();
          },
          "hide all other lines",
        ),
      ],
      h("span", { class: "dim", role: "status" }, count),
    );
    const cut =
      start || log.dropped ? `Only the end of the output is shown${start ? `, from byte ${start} on` : ""}. ` : "";
    render(status, `${cut}${bytes(log.bytes)} read. ${view.note}`);
  }

  drawTools();
  read();
  return element;
}
