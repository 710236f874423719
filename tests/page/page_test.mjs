// The page against a daemon that plays what the test wants. A broken promise shows as something that does not come, with
// what was there instead.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { count, go, press, real, see, seeNone, sent, start, texts, violations, waitForSent } from "./support.mjs";

const HOSTILE = "<img src=x onerror=\"document.title='owned'\">";
let world;
before(async () => {
  world = await start();
});
after(() => world.close());
beforeEach(() => world.steer("reset", { scenario: "ordinary" }));

const it = (name, f) => test(name, { skip: real && "needs the fake daemon" }, f);
const data = () => world.steer("data");
const event = (change) => world.steer("event", change);

// --- what is shown -----------------------------------------------------------------------------------------------------

it("what runs and what waits stands on the first view, with its time", () =>
  world.visit("#/", async (page) => {
    await see(page, ".panel-running h2", "Running (2)");
    await see(page, ".panel-running li", "backup");
    await see(page, ".panel-running li", "of at most 1 h");
    const share = await page.$eval(".panel-running [aria-valuenow]", (e) => Number(e.getAttribute("aria-valuenow")));
    assert.equal(share, 20); // 12 of 60 minutes
    assert.deepEqual(await texts(page, ".panel-waiting .job-name"), ["rotate-logs", HOSTILE]);
    assert.deepEqual(await page.$$eval("[role=meter]", (all) => all.map((e) => e.getAttribute("aria-valuetext"))), [
      "2 of 4",
      "1 of 2",
      "12 of 40",
    ]);
    await see(page, ".panel-attention li", "report");
    await see(page, ".panel-ended li", "3 skipped: paused");
    const ends = await page.$$eval(".panel-ended time", (all) => all.map((e) => Date.parse(e.dateTime)));
    assert.equal(ends.length, 6);
    assert.deepEqual(ends, [...ends].sort((a, b) => b - a));
  }));

it("jobs are found by words, state and order", () =>
  world.visit("#/jobs", async (page) => {
    await see(page, ".found", "8 shown");
    await page.type("#search", "mail ALL");
    await see(page, ".found", "1 shown");
    assert.deepEqual(await texts(page, ".jobs .job-name"), ["mail-queue"]);
    await page.$eval("#search", (e) => {
      e.value = "";
      e.dispatchEvent(new Event("input"));
    });
    await see(page, ".found", "8 shown");
    await page.evaluate(() =>
      [...document.querySelectorAll(".choice button")].find((e) => e.textContent.startsWith("Paused")).click(),
    );
    await see(page, ".found", "1 shown");
    assert.deepEqual(await texts(page, ".jobs .job-name"), ["certificates"]);
    await go(page, "#/jobs?show=all");
    await see(page, ".found", "8 shown");
    await page.evaluate(() => document.querySelector(".col-next button").click());
    await see(page, "[aria-sort=ascending]", "Next");
    assert.deepEqual((await texts(page, ".jobs .job-name")).slice(0, 3), ["sync", "mail-queue", "rotate-logs"]);
    await see(page, "tr[data-row='mail-queue'] time", "in 2 min");
  }));

it("a job's page has its schedule, warnings, rules, firings and runs", () =>
  world.visit("#/jobs/backup", async (page) => {
    await see(page, ".in-words", "At 02:30, every day");
    await see(page, ".warnings", "02:30 falls into the gap");
    await see(page, ".panel-rules", "3, after 10 s, times 2, at most 10 min, ± 10 %; on exit codes 1, 75");
    await see(page, ".panel-rules", "1 h, then TERM, and KILL after 10 s");
    await see(page, ".panel-command", "/etc/rota/jobs.toml:12");
    await page.waitForFunction(() => document.querySelectorAll(".firings li").length === 8);
    await page.waitForSelector(".chart rect.took");
    const mine = (await data()).runs.filter((run) => run.job === "backup");
    assert.equal(await count(page, ".chart rect.took"), mine.length);
    assert.equal(
      await count(page, ".chart rect.took.failed"),
      mine.filter((run) => ["failed", "timed_out"].includes(run.outcome)).length,
    );
    assert.equal(await count(page, ".chart .cross"), await count(page, ".chart rect.took.failed"));
    await page.click(".chart .bar:last-of-type rect");
    await page.waitForFunction(() => location.hash.startsWith("#/runs/"));
  }));

it("runs are narrowed by outcome, and older ones come on demand", () =>
  world.visit("#/runs", async (page) => {
    await page.waitForFunction(() => document.querySelectorAll(".runs tbody tr").length === 100);
    await press(page, "Older runs");
    const { runs } = await data();
    await page.waitForFunction((n) => document.querySelectorAll(".runs tbody tr").length === n, {}, runs.length);
    await page.select("#run-outcome", "skipped");
    await see(page, ".runs .badge", "3 skipped: paused");
    await page.waitForFunction(() => document.querySelectorAll(".runs tbody tr").length === 1);
  }));

it("marks of the timeline are where and as many as the firings", () =>
  world.visit("#/", async (page) => {
    await see(page, ".lane", "rotate-logs");
    const lanes = await page.$$eval(".lane", (all) =>
      Object.fromEntries(
        all.map((e) => [
          e.dataset.row,
          {
            marks: Number(e.querySelector("svg").dataset.marks),
            singles: (
              e
                .querySelector(".marks")
                .getAttribute("d")
                .match(/M([\d.]+)/g) ?? []
            ).map((m) => Number(m.slice(1))),
            text: [...e.querySelectorAll("text")].map((t) => t.textContent),
            words: e.querySelector("svg").getAttribute("aria-label"),
            width: e.querySelector(".plot").clientWidth,
          },
        ]),
      ),
    );
    assert.equal(lanes["rotate-logs"].marks, 24);
    assert.deepEqual(lanes.sync.text, ["960"]);
    assert.match(lanes["mail-queue"].words, /^288 firings, next \d\d:\d\d, in [12] min/);
    assert.equal(lanes.certificates, undefined); // paused
    // 24.25 hours over the width: backup is due 30,000 s from now, and a quarter of an hour is behind now.
    const expected = ((30000 + 900) / (24.25 * 3600)) * lanes.backup.width;
    assert.ok(Math.abs(lanes.backup.singles[0] - expected) < 3, `${lanes.backup.singles[0]} is not ${expected}`);
    await see(page, ".clock-notes", "Europe/Berlin: clocks go forward by 1 h");
    assert.equal(await count(page, ".clock-flag"), 1);
    await press(page, "As a table");
    await page.waitForFunction(() => document.querySelectorAll(".timeline-table tbody tr").length === 200);
    assert.deepEqual((await texts(page, ".timeline-table .job-name")).slice(0, 2), ["sync", "sync"]);
  }));

it("firings are told by pointer and by keys", () =>
  world.visit("#/", async (page) => {
    await see(page, ".lane", "backup");
    await page.focus(".lane[data-row='backup'] a");
    await page.keyboard.press("ArrowRight");
    await see(page, ".tip", "backup");
    await page.keyboard.press("ArrowDown");
    await page.waitForFunction(() => document.activeElement.title === "report");
    const at = await page.$eval(".lane[data-row='rotate-logs'] .plot", (e) => {
      const box = e.getBoundingClientRect();
      const x = Number(/M([\d.]+)/.exec(e.querySelector(".marks").getAttribute("d"))[1]);
      return { x: box.left + x, y: box.top + 10 };
    });
    await page.mouse.move(at.x, at.y);
    await see(page, ".tip", "rotate-logs");
  }));

it("days of the heat map have their numbers and their signs", () =>
  world.visit("#/", async (page) => {
    await page.waitForSelector(".heat td[data-date]");
    const days = (await data()).heat[""];
    const cells = await page.$$eval(".heat td[data-date]", (all) =>
      all.map((e) => ({
        date: e.dataset.date,
        bad: e.classList.contains("bad"),
        none: e.classList.contains("none"),
        column: e.cellIndex,
        row: e.parentElement.rowIndex,
      })),
    );
    for (const day of days) {
      const cell = cells.find((one) => one.date === day.date);
      assert.equal(cell.bad, day.failed > 0, day.date);
      assert.equal(cell.none, day.success + day.failed + day.other + day.skipped === 0, day.date);
      assert.equal(cell.row, ((new Date(`${day.date}T00:00:00Z`).getUTCDay() + 6) % 7) + 1, day.date);
    }
    await page.focus(`.heat td[data-date="${days.at(-1).date}"]`);
    await page.keyboard.press("ArrowLeft");
    await see(
      page,
      "#heat-detail",
      // As the browser writes it: commas differ from one table of locales to the next.
      await page.evaluate(
        (date) =>
          new Date(`${date}T00:00:00Z`).toLocaleDateString("en-GB", {
            weekday: "short",
            day: "numeric",
            month: "short",
            timeZone: "UTC",
          }),
        days.at(-8).date,
      ),
    );
  }));

it("broken tables and a broken ledger are told", async () => {
  await world.steer("reset", { scenario: "broken" });
  await world.visit("#/", async (page) => {
    await see(
      page,
      ".banner",
      "/etc/rota/jobs.toml is broken. /etc/rota/jobs.toml:7:12: hour 25 is out of range (0-23) <b>x</b>",
    );
    await see(page, ".banner", "the disk is full");
    await see(page, ".banner", "about to stop");
    assert.equal(await count(page, ".banner b"), 0);
    await press(page, "Read it again");
    await waitForSent(world, [["POST", "reload", {}]]);
    await see(page, ".toast", "1 of 2 tables broken");
    assert.deepEqual(await violations(page), []);
  });
});

it("an empty daemon says what to do", async () => {
  await world.steer("reset", { scenario: "empty" });
  await world.visit("#/jobs", async (page) => {
    await see(page, ".empty", "There are no jobs yet.");
    await go(page, "#/");
    await see(page, ".timeline", "Nothing is due within 24 hours.");
    assert.deepEqual(await violations(page), []);
  });
});

it("hundreds of jobs: only what is in sight is drawn", async () => {
  await world.steer("reset", { scenario: "many" });
  await world.visit("#/", async (page) => {
    await page.waitForSelector(".lane");
    const { upcoming } = await data();
    const jobs = new Set(upcoming.firings.map((f) => f.job)).size;
    const drawn = await count(page, ".lane");
    assert.ok(drawn < 50 && drawn > 10, `${drawn} lanes`);
    assert.equal(await page.$eval(".lanes", (e) => e.offsetHeight), jobs * 26);
    await page.$eval(".lane-scroll", (e) => {
      e.scrollTop = e.scrollHeight;
    });
    await page.waitForFunction((n) => document.querySelector(`.lane[aria-posinset="${n}"]`), {}, jobs);
    await see(page, ".timeline-notes", "Only the first 20000 firings are shown");
    await see(page, ".panel-waiting h2", "Waiting for a slot (46)");
  });
});

// --- what is done ------------------------------------------------------------------------------------------------------

it("run, pause and resume are sent for the job that is shown", () =>
  world.visit("#/jobs/report", async (page) => {
    await press(page, "Run");
    await see(page, ".toast", "report is in the queue");
    await press(page, "Pause");
    await see(page, ".title-row .badge", "paused");
    await press(page, "Resume");
    await seeNone(page, ".title-row .badge", "paused");
    await waitForSent(world, [
      ["POST", "jobs/report/run", { at_once: false }],
      ["POST", "jobs/report/pause", {}],
      ["POST", "jobs/report/resume", {}],
    ]);
  }));

it("past the cap, cancel and remove ask first, and no means no", () =>
  world.visit("#/jobs/probe", async (page) => {
    await press(page, "Run past the cap");
    await press(page, "Leave it", "dialog");
    await press(page, "Remove");
    await see(page, "dialog", "Remove probe?");
    await page.keyboard.press("Escape");
    await seeNone(page, "dialog");
    await go(page, "#/runs/601");
    await press(page, "Cancel");
    await press(page, "Leave it", "dialog");
    assert.deepEqual(await sent(world), []);
    await press(page, "Cancel");
    await press(page, "Cancel the run", "dialog");
    await see(page, ".title-row .badge", "cancelled");
    await go(page, "#/jobs/probe");
    await press(page, "Run past the cap");
    await press(page, "Run it now", "dialog");
    await waitForSent(world, [
      ["POST", "runs/601/cancel", {}],
      ["POST", "jobs/probe/run", { at_once: true }],
    ]);
  }));

it("what the daemon refuses is told, and nothing else changes", () =>
  world.visit("#/jobs/probe", async (page) => {
    await see(page, "h1", "probe");
    await page.setRequestInterception(true);
    const refuse = (request) =>
      request.method() === "POST"
        ? request.respond({
            status: 409,
            contentType: "application/json",
            body: '{"error": "the daemon drains <i>now</i>"}',
          })
        : request.continue();
    page.on("request", refuse);
    await press(page, "Pause");
    await see(page, ".toast.error", "probe was not paused: the daemon drains <i>now</i>");
    assert.equal(await count(page, ".toast i"), 0);
    await seeNone(page, ".title-row .badge", "paused");
    page.off("request", refuse);
    await page.setRequestInterception(false);
  }));

it("names are text, whatever stands in them", () =>
  world.visit("#/", async (page) => {
    for (const hash of ["#/", "#/jobs", "#/runs", `#/jobs/${encodeURIComponent(HOSTILE)}`]) {
      await go(page, hash);
      await see(page, "main bdi", HOSTILE);
      assert.equal(await count(page, "main img"), 0);
    }
    await press(page, "Run");
    await see(page, ".toast", `${HOSTILE} is in the queue`);
    await event({ kind: "job_failed", job: HOSTILE });
    await see(page, ".toast", `${HOSTILE} has failed`);
    await go(page, "#/runs/604");
    await see(page, ".fact-row", "asked by <b>eve</b>");
    await waitForSent(world, [["POST", `jobs/${HOSTILE}/run`, { at_once: false }]]);
    assert.equal(await count(page, "img, .fact-row b"), 0);
    assert.notEqual(await page.title(), "owned");
  }));

it("a name that looks like an address stays one name", () =>
  world.visit("#/jobs", async (page) => {
    const odd = "a/b?c=1#d%41 &amp; \u202eevil";
    const { jobs } = await data();
    await event({ kind: "job_added", job: odd, set_job: { ...jobs.sync, name: odd } });
    await see(page, ".jobs .job-name", odd);
    await press(page, odd, ".jobs");
    await see(page, "h1", odd);
    await page.waitForSelector(".firings li");
    await press(page, "Pause");
    await see(page, ".title-row .badge", "paused");
    await waitForSent(world, [["POST", `jobs/${odd}/pause`, {}]]);
  }));

// --- what changes by itself ----------------------------------------------------------------------------------------------

it("events change what is shown", () =>
  world.visit("#/", async (page) => {
    await see(page, ".panel-waiting h2", "(2)");
    const { runs, jobs } = await data();
    const due = runs.find((run) => run.id === 603);
    const launched = { ...due, phase: "launched", launched: due.scheduled, started: due.scheduled };
    await event({
      kind: "run_launched",
      job: due.job,
      run: launched,
      set_job: { ...jobs[due.job], waiting: 0, running: 1 },
    });
    await see(page, ".panel-running h2", "(3)");
    await see(page, ".panel-running .job-name", "rotate-logs");
    await see(page, ".panel-waiting h2", "(1)");
    const over = { ...launched, phase: "over", outcome: "failed", exit_code: 9, finished: due.scheduled };
    await event({
      kind: "run_over",
      job: due.job,
      run: over,
      set_job: { ...jobs[due.job], waiting: 0, failing: true, last_run: over },
    });
    await event({ kind: "job_failed", job: due.job, run: over });
    await see(page, ".panel-running h2", "(2)");
    await see(page, ".toast", "rotate-logs has failed");
    await see(page, ".panel-attention li", "failed (exit 9)");
    // F1: what is over stays over, whatever comes late.
    await event({ kind: "run_started", job: due.job, run: launched });
    await event({ kind: "job_recovered", job: due.job });
    await see(page, ".toast", "rotate-logs works again");
    assert.deepEqual((await texts(page, ".panel-running .job-name")).sort(), ["backup", "sync"]);
  }));

it("a list that changes keeps the focus where it is", () =>
  world.visit("#/jobs", async (page) => {
    await page.waitForSelector("tr[data-row='report']");
    await page.focus("tr[data-row='report'] a");
    await page.evaluate(() => {
      window.moved = [];
      new MutationObserver((all) =>
        all.forEach((one) => window.moved.push(...[...one.removedNodes].map((n) => n.dataset.row))),
      ).observe(document.querySelector(".jobs tbody"), { childList: true });
    });
    const { jobs } = await data();
    await event({ kind: "job_added", job: "aaa", set_job: { ...jobs.sync, name: "aaa" } });
    await see(page, ".jobs .job-name", "aaa");
    await event({ kind: "job_removed", job: "backup" });
    await seeNone(page, ".jobs .job-name", "backup");
    assert.equal(await page.evaluate(() => document.activeElement.title), "report");
    assert.deepEqual(await page.evaluate(() => window.moved), ["backup"]);
    await page.evaluate(() => document.querySelector(".col-name button").click()); // turns the list round
    await see(page, "[aria-sort=descending]", "Job");
    assert.equal(await page.evaluate(() => document.activeElement.title), "report");
  }));

it("who was too slow reads everything anew", () =>
  world.visit("#/jobs", async (page) => {
    await see(page, ".found", "8 shown");
    await world.steer("reset", { scenario: "many" });
    await see(page, ".found", "300 shown");
  }));

it("a lost connection is told, and comes back by itself", () =>
  world.visit("#/", async (page) => {
    await see(page, ".panel-running h2", "(2)");
    await world.steer("down", { down: true });
    await see(page, ".banner", "The connection to the daemon is lost");
    await see(page, "#light", "Not connected");
    await see(page, ".panel-running h2", "(2)"); // what was known stays
    const { runs } = await data();
    await event({
      kind: "run_over",
      job: "sync",
      run: { ...runs.find((run) => run.id === 602), phase: "over", outcome: "success" },
    });
    await world.steer("down", { down: false });
    await see(page, "#light", "Live");
    await seeNone(page, ".banner");
    await see(page, ".panel-running h2", "(1)");
  }));
