// One run: what became of it, and its output.

import * as actions from "./actions.js";
import { get } from "./api.js";
import { h, icon, name, slot } from "./dom.js";
import { makeLog } from "./log_view.js";
import { resource, versionOf } from "./state.js";
import { span } from "./time.js";
import * as words from "./words.js";

export function runView(id) {
  const { data: run, error } = resource(`run ${id}`, versionOf(`run ${id}`), () => get(`runs/${id}`));
  const crumb = h(
    "p",
    { class: "crumb", key: "crumb" },
    run
      ? h("a", { href: words.jobHref(run.job) }, icon("back"), name(run.job))
      : h("a", { href: "#/runs" }, icon("back"), "Runs"),
  );
  if (!run)
    return [
      crumb,
      h("h1", {}, `Run ${id}`),
      error ? words.empty(error.message) : h("p", { class: "dim" }, "Reading ..."),
    ];
  return [
    crumb,
    h(
      "div",
      { class: "title-row", key: "title" },
      h("h1", {}, `Run ${id} of `, name(run.job)),
      words.outcome(run),
      h(
        "div",
        { class: "buttons" },
        run.phase !== "over" &&
          words.button(run.phase === "due" ? "Take it out of the queue" : "Cancel", () => actions.cancel(run), {
            kind: "danger",
            shape: "cancel",
          }),
        words.button("Run the job again", () => actions.run(run.job), { shape: "run" }),
      ),
    ),
    run.note && h("p", { class: "note", key: "note" }, icon("other"), run.note),
    h("div", { class: "panel", key: "facts" }, facts(run)),
    h(
      "section",
      { class: "panel", key: "output", "aria-labelledby": "output-title" },
      h("h2", { id: "output-title" }, "Output"),
      run.phase === "due"
        ? words.empty("It has not started yet.")
        : run.outcome === "skipped"
          ? words.empty("It never started.")
          : slot(`log ${id}`, () => makeLog(run)),
    ),
  ];
}

function facts(run) {
  const took = words.duration(run);
  const fact = (term, ...what) => h("div", {}, h("dt", {}, term), h("dd", {}, what));
  return h(
    "dl",
    { class: "fact-row" },
    fact("Due", words.at(run.scheduled)),
    run.count > 1 && fact("First of them", words.at(run.first)),
    fact("Why", words.causeWord(run), run.requested_by ? [", asked by ", name(run.requested_by)] : ""),
    fact("Started", words.at(run.started ?? run.launched)),
    fact("Ended", words.at(run.finished)),
    fact(
      "Took",
      run.phase === "launched" ? words.elapsed(run.started ?? run.launched) : took === null ? "none" : span(took),
    ),
    run.outcome === "success" || run.outcome === "failed" ? fact("Exit code", run.exit_code) : null,
    run.outcome === "signalled" || run.signal ? fact("Signal", run.signal) : null,
    run.pid ? fact("Process", run.pid) : null,
  );
}
