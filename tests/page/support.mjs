// A browser, and a daemon for its page: the fake one, or the one that ROTA_PAGE_URL and ROTA_PAGE_TOKEN name.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import puppeteer from "puppeteer-core";

const PATIENCE = 15000; // ms until a condition counts as not coming
const here = (file) => fileURLToPath(new URL(file, import.meta.url));
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const real = process.env.ROTA_PAGE_URL !== undefined;

export async function start() {
  const daemon = real
    ? null
    : spawn(process.env.ROTA_PYTHON ?? "python3", [here("fake_daemon.py")], { stdio: ["ignore", "pipe", "inherit"] });
  const address = daemon
    ? await firstLine(daemon.stdout)
    : `${new URL(process.env.ROTA_PAGE_URL)}#token=${process.env.ROTA_PAGE_TOKEN}`;
  const [base, token] = address.split("#token=");
  const browser = await puppeteer.launch({
    executablePath: process.env.ROTA_CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  });
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE);
  listen(page);
  return {
    base,
    token,
    // Runs `f` on the page as it is when it is opened for the first time; it must not have had an error in the end.
    async visit(hash, f, options = {}) {
      page.errors = [];
      await open(page, base, token, hash, options);
      await f(page);
      assert.deepEqual(page.errors, [], "errors of the page");
    },
    steer: (what, body = {}) => post(`${base}test/${what}`, body),
    async get(path) {
      const answer = await fetch(`${base}api/v1/${path}`, { headers: { Authorization: `Bearer ${token}` } });
      return answer.json();
    },
    async close() {
      await browser.close();
      daemon?.kill();
    },
  };
}

async function post(address, body) {
  return (await fetch(address, { method: "POST", body: JSON.stringify(body) })).json();
}

function firstLine(stream) {
  return new Promise((resolve, reject) => {
    let text = "";
    stream.on("data", (chunk) => {
      text += chunk;
      if (text.includes("\n")) resolve(text.split("\n")[0]);
    });
    stream.on("end", () => reject(new Error("the fake daemon did not start")));
  });
}

function listen(page) {
  page.on("pageerror", (error) => page.errors.push(error.stack));
  page.on("console", (message) => {
    // That a request failed is also said on the page, and some tests mean it.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      page.errors.push(message.text());
  });
}

async function open(
  page,
  base,
  token,
  hash,
  { width = 1300, height = 900, scheme = "light", zone = "UTC", withToken = true },
) {
  await page.goto(`${base}icon.svg`);
  await page.evaluate(() => {
    localStorage.clear();
    sessionStorage.clear();
  });
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([
    { name: "prefers-color-scheme", value: scheme },
    { name: "prefers-reduced-motion", value: "reduce" },
  ]);
  await page.emulateTimezone(zone);
  await page.goto(withToken ? `${base}#token=${encodeURIComponent(token)}` : base);
  if (!withToken) return;
  await page.waitForFunction(() => document.getElementById("light")?.textContent === "Live");
  if (hash !== "#/") await go(page, hash);
}

export async function go(page, hash) {
  await page.evaluate((to) => {
    location.hash = to;
  }, hash);
}

// Waits until something that matches has the text.
export async function see(page, selector, text = "") {
  try {
    await page.waitForFunction(
      (s, t) => [...document.querySelectorAll(s)].some((e) => e.textContent.includes(t)),
      {},
      selector,
      text,
    );
  } catch {
    const there = await texts(page, selector);
    assert.fail(`'${text}' does not come to ${selector}; there is ${JSON.stringify(there)}`);
  }
}

export async function seeNone(page, selector, text = "") {
  await page.waitForFunction(
    (s, t) => ![...document.querySelectorAll(s)].some((e) => e.textContent.includes(t)),
    {},
    selector,
    text,
  );
}

export const texts = (page, selector) => page.$$eval(selector, (all) => all.map((e) => e.textContent));
export const count = (page, selector) => page.$$eval(selector, (all) => all.length);

// Presses the button with this name, as a reader of the screen would call it.
export async function press(page, label, within = "body") {
  const found = await page.waitForFunction(
    (text, scope) =>
      [...document.querySelectorAll(`${scope} button, ${scope} a`)].find(
        (e) => (e.getAttribute("aria-label") ?? e.textContent).trim() === text,
      ),
    {},
    label,
    within,
  );
  await found.evaluate((e) => e.click());
}

// Rules of accessibility that the page breaks, with the places.
export async function violations(page, rules = null) {
  if (!(await page.evaluate(() => window.axe !== undefined))) await page.evaluate(axe);
  const { violations: found } = await page.evaluate(
    (only) => window.axe.run(only ? { runOnly: only, resultTypes: ["violations"] } : { resultTypes: ["violations"] }),
    rules,
  );
  return found.flatMap((rule) =>
    rule.nodes.map((node) => `${rule.id}: ${node.target.join(" ")}: ${node.failureSummary}`),
  );
}

// What the page has sent, apart from reading.
export async function sent(world) {
  return (await world.steer("asked"))
    .filter((one) => one.method !== "GET")
    .map((one) => [one.method, decodeURIComponent(one.path), one.body]);
}

export async function waitForSent(world, expected) {
  for (let i = 0; i < 200 && (await sent(world)).length < expected.length; i += 1)
    await new Promise((r) => {
      setTimeout(r, 50);
    });
  assert.deepEqual(await sent(world), expected);
}
