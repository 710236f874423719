// Logs, and the page for everybody: keys alone, colours, zones, a phone. Against the fake daemon.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { count, go, press, real, see, seeNone, start, texts, violations, waitForSent } from "./support.mjs";

let world;
before(async () => {
  world = await start();
});
after(() => world.close());
beforeEach(() => world.steer("reset", { scenario: "ordinary" }));

const it = (name, f) => test(name, { skip: real && "needs the fake daemon" }, f);

// --- logs ----------------------------------------------------------------------------------------------------------------

it("a log follows its run, with colours, and is text", () =>
  world.visit("#/runs/601", async (page) => {
    await see(page, ".log .a1", "failed");
    assert.deepEqual((await texts(page, ".log .line")).slice(3, 6), [
      "failed music: permission denied",
      "100 %",
      "<script>document.title='owned'</script>",
    ]);
    await world.steer("log", { run: 601, text: "half a " });
    await see(page, ".log .line", "half a ");
    await world.steer("log", { run: 601, text: "line\nend\n", over: true });
    await see(page, ".log .line", "half a line");
    await see(page, ".log-status", "The output ends here.");
    assert.equal(await count(page, ".log script"), 0);
  }));

it("a log goes on where it was after a break", () =>
  world.visit("#/runs/601", async (page) => {
    await see(page, ".log .line", "backup");
    await world.steer("down", { down: true });
    await see(page, ".log-status", "The connection is lost");
    await world.steer("log", { run: 601, text: "after the break\n", over: true });
    await world.steer("down", { down: false });
    await see(page, ".log .line", "after the break");
    assert.equal((await texts(page, ".log .line")).filter((line) => line === "backup of /srv").length, 1);
  }));

it("a log stays at its end until one scrolls, and finds words", () =>
  world.visit("#/runs/601", async (page) => {
    await see(page, ".log .line", "backup");
    await world.steer("log", { run: 601, text: "needle in the hay\n" });
    await world.steer("log", { run: 601, text: "some output\n", times: 500 });
    const atEnd = () => page.$eval(".log", (e) => e.scrollHeight - e.scrollTop - e.clientHeight < 30);
    await page.waitForFunction(() => document.querySelectorAll(".log .line").length > 500);
    assert.ok(await atEnd());
    await page.type("#log-search", "NEEDLE");
    await see(page, ".log mark", "needle");
    await see(page, ".log-tools", "1 of 1 lines");
    await see(page, "[aria-pressed=false]", "Follow");
    await world.steer("log", { run: 601, text: "another needle\n" });
    await see(page, ".log-tools", "of 2 lines");
    assert.ok(!(await atEnd()));
    await press(page, "Follow");
    await page.waitForFunction(() => {
      const e = document.querySelector(".log");
      return e.scrollHeight - e.scrollTop - e.clientHeight < 30;
    });
  }));

it("of a large log the page keeps the end", () =>
  world.visit("#/runs/601", async (page) => {
    await see(page, ".log .line", "backup");
    await world.steer("log", { run: 601, text: `${"x".repeat(99)}\n`, times: 60000 });
    await world.steer("log", { run: 601, text: "the very end\n", over: true });
    await see(page, ".log .line", "the very end");
    await see(page, ".log-status", "Only the end of the output is shown");
    const kept = await page.$eval(".log", (e) => e.textContent.length);
    assert.ok(kept < 4_200_000 && kept > 3_500_000, `${kept} characters are kept`);
  }));

// --- for everybody ---------------------------------------------------------------------------------------------------------

it("everything works by keys alone", () =>
  world.visit("#/", async (page) => {
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "main");
    await page.keyboard.type("gj");
    await see(page, "h1", "Jobs");
    await page.keyboard.type("/");
    await page.keyboard.type("day");
    await see(page, ".found", "4 shown");
    // One Tab stop for each of the four filters, the four headings, then one row of the list.
    for (let i = 0; i < 9; i += 1) await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.closest("[data-row]")?.rowIndex), 1);
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowUp");
    assert.equal(await page.evaluate(() => document.activeElement.title), "certificates");
    // The other rows are no stops, at once: three controls of this one, then out.
    const stops = await page.evaluate(() => {
      const list = document.activeElement.closest("[data-list]");
      return ["tr[data-row] a", "tr[data-row=certificates] a"].map((link) => {
        const here = list.querySelector(link);
        here.focus();
        const row = here.closest("[data-row]");
        return [...list.querySelectorAll("[data-row] [tabindex='0']")].every((e) => row.contains(e));
      });
    });
    assert.deepEqual(stops, [true, true]);
    for (let i = 0; i < 3; i += 1) await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.closest("[data-list]")), null);
    await page.focus("tr[data-row=certificates] a");
    await page.keyboard.type("r");
    await waitForSent(world, [["POST", "jobs/certificates/run", { at_once: false }]]);
    await page.keyboard.press("Enter");
    await see(page, "h1", "certificates");
    await page.keyboard.type("?");
    await see(page, "dialog", "the next or last row of a list");
    assert.deepEqual(await violations(page), []);
    await page.focus("#keys-on");
    await page.keyboard.press("Space");
    await page.keyboard.press("Escape");
    await seeNone(page, "dialog");
    await page.keyboard.type("gn");
    assert.equal(await page.evaluate(() => location.hash), "#/jobs/certificates"); // single keys are off
  }));

it("dark and light follow the system until one chooses", () =>
  world.visit(
    "#/",
    async (page) => {
      const paper = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
      const dark = await paper();
      await press(page, "Switch to light colours");
      await page.waitForFunction(
        (before) => getComputedStyle(document.documentElement).backgroundColor !== before,
        {},
        dark,
      );
      const light = await paper();
      await page.reload();
      await see(page, "#light", "Live");
      assert.equal(await paper(), light);
    },
    { scheme: "dark" },
  ));

it("times are shown in the daemon's zone or the browser's", () =>
  world.visit(
    "#/jobs/backup",
    async (page) => {
      await see(page, "#zone", "Europe/Berlin (daemon)");
      const before = await page.$eval(".panel-schedule time", (e) => e.title);
      await page.keyboard.type("z");
      await see(page, "#zone", "Asia/Tokyo (browser)");
      await page.waitForFunction(() => document.querySelector(".panel-schedule time").title.includes("Asia/Tokyo"));
      assert.match(before, /Europe\/Berlin/);
    },
    { zone: "Asia/Tokyo" },
  ));

it("on a phone nothing is wider than the screen", () =>
  world.visit(
    "#/",
    async (page) => {
      for (const hash of ["#/", "#/jobs", "#/runs", "#/jobs/backup", "#/runs/601", "#/new"]) {
        await go(page, hash);
        await seeNone(page, "main p", "Reading");
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= 360, `${hash} is ${wide} wide`);
      }
      await go(page, "#/jobs");
      assert.deepEqual(await violations(page), []);
    },
    { width: 360, height: 740 },
  ));
