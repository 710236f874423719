// What holds with any daemon behind the page: its views show what the API says, can be read by everybody, and a job can
// be added, run, watched and removed. With ROTA_PAGE_URL and ROTA_PAGE_TOKEN it is held against that daemon; it should
// have a job or two.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { count, go, press, see, seeNone, start, texts, violations } from "./support.mjs";

let world;
before(async () => {
  world = await start();
});
after(() => world.close());

test("the token leaves the address and stays in the tab", () =>
  world.visit("#/", async (page) => {
    assert.equal(await page.evaluate(() => location.hash), "#/");
    assert.equal(await page.evaluate(() => sessionStorage.getItem("rota.token")), world.token);
    assert.equal(await page.evaluate(() => JSON.stringify(localStorage)), "{}");
    await page.reload();
    await see(page, "#light", "Live");
  }));

test("without a token the page asks for it, and a wrong one is refused", () =>
  world.visit(
    "#/",
    async (page) => {
      await see(page, "form", "of the daemon's state directory");
      await page.type("#token", "wrong");
      await press(page, "Open");
      await see(page, "[role=alert]", "does not know that token");
      await page.type("#token", world.token);
      await press(page, "Open");
      await see(page, "#light", "Live");
      await see(page, "h2", "Slots");
    },
    { withToken: false },
  ));

test("the list has all jobs", () =>
  world.visit("#/jobs", async (page) => {
    const { jobs } = await world.get("jobs");
    await see(page, ".found", `${jobs.length} shown`);
    assert.deepEqual(
      (await texts(page, ".jobs tbody .job-name")).sort(),
      jobs
        .map((job) => job.name)
        .sort()
        .slice(0, 300),
    );
  }));

test("the timeline has the firings that the daemon foresees", () =>
  world.visit("#/", async (page) => {
    const { firings, clock_changes: changes } = await world.get("upcoming?hours=24&limit=20000");
    const byJob = new Map();
    for (const { job } of firings) byJob.set(job, (byJob.get(job) ?? 0) + 1);
    if (byJob.size) await see(page, ".lane", [...byJob.keys()][0]);
    const lanes = await page.$$eval(".lane", (all) =>
      all.map((e) => [e.dataset.row, Number(e.querySelector("svg").dataset.firings)]),
    );
    // A job may have fired between the two questions.
    for (const [job, n] of lanes)
      assert.ok(Math.abs(n - byJob.get(job)) <= 1, `${job} has ${n} firings, expected ${byJob.get(job)}`);
    assert.equal(await count(page, ".clock-notes li"), changes.length);
  }));

test("the heat map has the days that the daemon counts", () =>
  world.visit("#/", async (page) => {
    await page.waitForSelector(".heat td[data-date]");
    const { days } = await world.get("heat?days=84");
    const shown = await page.$$eval(".heat td[data-date]", (all) =>
      Object.fromEntries(all.map((e) => [e.dataset.date, e.textContent])),
    );
    assert.equal(Object.keys(shown).length, days.length);
    for (const day of days.slice(0, -1)) {
      if (day.failed) assert.match(shown[day.date], new RegExp(`${day.failed} failed`));
      if (day.success) assert.match(shown[day.date], new RegExp(`${day.success} succeeded`));
      if (!day.success && !day.failed && !day.skipped && !day.other) assert.match(shown[day.date], /no runs/);
    }
  }));

test("a job is added, run, watched, changed and removed", () =>
  world.visit("#/new", async (page) => {
    const name = `page-test-${process.pid}`;
    const save = async (text) => {
      await page.waitForSelector("#job-toml");
      await page.$eval("#job-toml", (e) => {
        e.focus();
        e.select();
      });
      await page.keyboard.type(text);
      await press(page, "Save");
    };
    await page.type("#job-name", name);
    await save('bad = 1\nschedule = "@at 2099-01-01T00:00:00Z"\nshell = "echo hello"');
    await see(page, "#edit-error", "bad");
    await see(page, "#edit-error .excerpt", "1 | bad = 1");
    await save('schedule = "@at 2099-01-01T00:00:00Z"\nshell = "echo hello from the page"');
    await see(page, "h1", name);
    await press(page, "Run");
    // Not that of a job which happens to fail just now.
    const toast = await page.waitForFunction(
      (text) => [...document.querySelectorAll(".toast")].find((e) => e.textContent.includes(text))?.querySelector("a"),
      {},
      `${name} is in the queue`,
    );
    await toast.evaluate((e) => e.click());
    await see(page, ".title-row .badge", "success");
    await see(page, ".log", "hello from the page");
    await go(page, `#/edit/${name}`);
    await page.waitForFunction(() => document.getElementById("job-toml")?.value.includes("hello from the page"));
    await go(page, `#/jobs/${name}`);
    await press(page, "Pause");
    await see(page, ".title-row .badge", "paused");
    await press(page, "Resume");
    await seeNone(page, ".title-row .badge", "paused");
    await press(page, "Remove");
    await press(page, "Remove the job", "dialog");
    await see(page, ".toast", "is removed");
    await seeNone(page, ".jobs .job-name", name);
  }));

test("no view breaks a rule of accessibility, in light and dark", () =>
  world.visit("#/", async (page) => {
    const { jobs } = await world.get("jobs");
    const { runs } = await world.get("runs?limit=1");
    const views = ["#/", "#/jobs", "#/runs", "#/new"];
    // Also one that has run, so that there is a chart.
    const names = new Set([...jobs.slice(0, 1), ...jobs.filter((job) => job.last_run).slice(0, 3)].map((job) => job.name));
    for (const name of names) views.push(`#/jobs/${encodeURIComponent(name)}`);
    if (runs.length) views.push(`#/runs/${runs[0].id}`);
    for (const hash of views) {
      await go(page, hash);
      await seeNone(page, "main p", "Reading");
      assert.deepEqual(await violations(page), [], hash);
      await press(page, "Switch to dark colours");
      assert.deepEqual(await violations(page, ["color-contrast"]), [], `${hash}, dark`);
      await press(page, "Switch to light colours");
    }
  }));
