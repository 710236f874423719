// The next 24 hours: a lane per job, a mark per firing.
//
// Made for hundreds of jobs and thousands of firings: only the lanes in sight are on the page, firings that would touch
// become one bar with their number, and all marks of a lane are two paths. What it shows can be had as a table, too.

import { h, lazy, name, render, s } from "./dom.js";
import { tabindex } from "./keys.js";
import { state, watch } from "./state.js";
import { DAY, HOUR, clock, date, full, now, parse, relative, zone } from "./time.js";
import { LANE, clockNotes, cutNote, drawAxis, firingTable, grid } from "./timeline_parts.js";
import { jobHref, jobLink } from "./words.js";

const OVERSCAN = 8; // lanes kept above and below, so that arrow keys find the next one
const TOUCH = 6; // px: firings closer than this are one mark
const STEP = 30_000; // ms
const PAST = HOUR / 4; // shown before now

export function makeTimeline() {
  const view = { order: "next", table: false, width: 800, mark: null, job: null };
  const head = h("div", { class: "panel-head" });
  const notes = h("div", { class: "timeline-notes" });
  const axis = h("div", { class: "axis", "aria-hidden": "true" });
  const lanes = h("ul", {
    class: "lanes",
    "data-list": "lanes",
    "aria-label": "Jobs with firings in the next 24 hours",
  });
  const scroller = h("div", { class: "lane-scroll", on: { scroll: () => later() } }, lanes);
  const tip = h("div", { class: "tip", role: "status" });
  const table = h("div", { class: "timeline-table" });
  const element = h("div", { class: "timeline" }, head, notes, axis, scroller, tip, table);
  let data = { source: null, lanes: [], t0: 0, t1: 1 };

  function prepare() {
    // Lanes are drawn anew when this changes, twice a minute: less than a pixel.
    const to = Math.floor(now() / STEP) * STEP;
    data.t0 = to - PAST;
    data.t1 = to + DAY;
    const key = view.order;
    if (data.source === state.upcoming && data.key === key) return;
    data = { ...data, source: state.upcoming, key, lanes: toLanes(state.upcoming, view.order) };
  }

  const x = (t) => ((t - data.t0) / (data.t1 - data.t0)) * view.width;

  function draw() {
    if (!state.upcoming) {
      render(head, h("h2", { id: "timeline-title" }, "Next 24 hours"));
      return;
    }
    prepare();
    measure();
    render(
      head,
      headRow(view, data, () => draw()),
    );
    render(notes, clockNotes(state.upcoming), cutNote(state.upcoming));
    axis.hidden = scroller.hidden = view.table || !data.lanes.length;
    table.hidden = !view.table && data.lanes.length > 0;
    render(
      table,
      !data.lanes.length
        ? h("p", { class: "empty" }, "Nothing is due within 24 hours.")
        : view.table
          ? firingTable(state.upcoming)
          : null,
    );
    if (axis.hidden) {
      tip.hidden = true;
      return;
    }
    render(axis, drawAxis(x, data, view.width));
    lanes.style.height = `${data.lanes.length * LANE}px`;
    const top = scroller.scrollTop;
    const first = Math.max(0, Math.floor(top / LANE) - OVERSCAN);
    const end = Math.min(data.lanes.length, Math.ceil((top + (scroller.clientHeight || 400)) / LANE) + OVERSCAN);
    render(
      lanes,
      data.lanes.slice(first, end).map((lane, i) => lazyLane(lane, first + i)),
    );
  }

  function measure() {
    const plot = scroller.querySelector(".plot");
    const width = plot?.clientWidth || scroller.clientWidth - 190;
    if (width > 0) view.width = width;
  }

  function lazyLane(lane, index) {
    const tab = tabindex("lanes", lane.job, index);
    const mark = view.job === lane.job ? view.mark : null;
    const inputs = [lane, index, tab, mark, data.lanes, data.t0, view.width, zone()];
    return lazy("li", lane.job, inputs, () => drawLane(lane, index, tab));
  }

  function drawLane(lane, index, tab) {
    const marks = toMarks(lane.times, x);
    const chosen = view.job === lane.job && view.mark !== null ? marks[Math.min(view.mark, marks.length - 1)] : null;
    return h(
      "li",
      {
        class: "lane",
        key: lane.job,
        "data-row": lane.job,
        "data-own-arrows": true,
        "aria-setsize": data.lanes.length,
        "aria-posinset": index + 1,
        style: { top: `${index * LANE}px` },
        on: { keydown: (e) => step(e, lane, marks), focusout: () => show(null) },
      },
      jobLink(lane.job, { class: "lane-label job-name", tabindex: tab }),
      h(
        "div",
        {
          class: "plot",
          on: {
            mousemove: (e) => hover(e, lane, marks),
            mouseleave: () => show(null),
            click: () => {
              location.hash = jobHref(lane.job);
            },
          },
        },
        s(
          "svg",
          {
            role: "img",
            "aria-label": laneWords(lane),
            "data-firings": lane.times.length,
            "data-marks": marks.length,
            width: "100%",
            height: LANE,
          },
          grid(x, data),
          s("path", {
            class: "marks",
            d: marks
              .filter((m) => m.count === 1)
              .map((m) => `M${m.x1.toFixed(1)} 7v12`)
              .join(""),
          }),
          marks.filter((m) => m.count > 1).map((m) => bar(m)),
          chosen &&
            s("rect", {
              class: "chosen",
              x: chosen.x1 - 4,
              y: 3,
              width: chosen.x2 - chosen.x1 + 8,
              height: LANE - 6,
              rx: 3,
            }),
        ),
      ),
    );
  }

  function hover(event, lane, marks) {
    const px = event.clientX - event.currentTarget.getBoundingClientRect().left;
    const near = marks.find((m) => px > m.x1 - 5 && px < m.x2 + 5);
    show(near ? { lane, mark: near, index: marks.indexOf(near) } : null);
  }

  function step(event, lane, marks) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by || !marks.length) return;
    event.preventDefault();
    const from = view.job === lane.job && view.mark !== null ? view.mark : by > 0 ? -1 : marks.length;
    const index = Math.max(0, Math.min(marks.length - 1, from + by));
    show({ lane, mark: marks[index], index });
  }

  function show(found) {
    if (!found && view.mark === null) return;
    view.job = found?.lane.job ?? null;
    view.mark = found?.index ?? null;
    render(tip, found ? tipWords(found.lane, found.mark) : null);
    draw();
  }

  let queued = false;
  function later() {
    if (queued || !element.isConnected) return;
    queued = true;
    requestAnimationFrame(() => {
      queued = false;
      draw();
    });
  }

  new ResizeObserver(later).observe(scroller);
  watch(later);
  draw();
  return element;
}

function toLanes(upcoming, order) {
  const byJob = new Map();
  for (const { job, at: when } of upcoming.firings) {
    const t = parse(when);
    if (!byJob.has(job)) byJob.set(job, []);
    byJob.get(job).push(t);
  }
  const lanes = [...byJob].map(([job, times]) => ({ job, times }));
  if (order === "name") lanes.sort((a, b) => a.job.localeCompare(b.job, "en", { numeric: true }));
  else lanes.sort((a, b) => a.times[0] - b.times[0] || a.job.localeCompare(b.job));
  return lanes;
}

// Firings into marks: neighbours that would touch are one.
export function toMarks(times, x) {
  const marks = [];
  for (const t of times) {
    const px = x(t);
    const lastMark = marks.at(-1);
    if (lastMark && px - lastMark.x2 < TOUCH) Object.assign(lastMark, { x2: px, to: t, count: lastMark.count + 1 });
    else marks.push({ x1: px, x2: px, from: t, to: t, count: 1 });
  }
  return marks;
}

function bar(mark) {
  const width = mark.x2 - mark.x1 + 4;
  return s(
    "g",
    { class: "cluster" },
    s("rect", { x: (mark.x1 - 2).toFixed(1), y: 6, width: width.toFixed(1), height: 14, rx: 3 }),
    width > 12 + 7 * String(mark.count).length &&
      s("text", { x: ((mark.x1 + mark.x2) / 2).toFixed(1), y: 16.5, "text-anchor": "middle" }, mark.count),
  );
}

function laneWords(lane) {
  const [first] = lane.times;
  const n = lane.times.length;
  return n === 1
    ? `due once: ${clock(first)}, ${relative(first)}`
    : `${n} firings, next ${clock(first)}, ${relative(first)}, last ${clock(lane.times.at(-1))}`;
}

function tipWords(lane, mark) {
  const times =
    mark.count === 1
      ? `${full(mark.from)} (${relative(mark.from)})`
      : `${mark.count} firings, ${date(mark.from)} ${clock(mark.from)} to ${clock(mark.to)}`;
  return [h("strong", {}, name(lane.job)), ` ${times}`];
}

function headRow(view, data, redraw) {
  const total = state.upcoming.firings.length;
  const quiet = state.jobs.size - data.lanes.length;
  return [
    h("h2", { id: "timeline-title" }, "Next 24 hours"),
    h(
      "span",
      { class: "dim grow" },
      `${total} ${total === 1 ? "firing" : "firings"} of ${data.lanes.length} jobs`,
      quiet > 0 ? `; ${quiet} with none` : "",
    ),
    h(
      "label",
      { class: "inline" },
      "Order ",
      h(
        "select",
        {
          value: view.order,
          on: {
            change: (e) => {
              view.order = e.target.value;
              redraw();
            },
          },
        },
        h("option", { value: "next" }, "next first"),
        h("option", { value: "name" }, "by name"),
      ),
    ),
    h(
      "button",
      {
        type: "button",
        class: "button",
        "aria-pressed": String(view.table),
        on: {
          click: () => {
            view.table = !view.table;
            redraw();
          },
        },
      },
      "As a table",
    ),
  ];
}
