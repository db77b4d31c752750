// Opens a report in headless Chromium and checks that it shows what it should.
//
// node report.test.mjs REPORT.html [SCREENSHOT.png]
// With REPORT_EXPECT (JSON: {"frames", "bodies", "plots": {id: points}}) exact counts are checked, too.

import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [report, screenshot] = process.argv.slice(2);
const expected = JSON.parse(process.env.REPORT_EXPECT || "null");
const FLAGS = [
  "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
  "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic", "--no-first-run",
];

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
  args: ["--headless=new", ...FLAGS],
  ignoreDefaultArgs: ["--headless", "--headless=old"],
});

let checks = 0;
async function check(claim, body) {
  await body();
  checks += 1;
  console.log(`ok   ${claim}`);
}

try {
  const page = await browser.newPage({ viewport: { width: 1360, height: 900 } });
  const troubles = [];
  const requests = [];
  page.on("console", (message) => message.type() === "error" && troubles.push(message.text()));
  page.on("pageerror", (error) => troubles.push(String(error)));
  page.on("request", (request) => requests.push(request.url()));
  page.on("dialog", (dialog) => {
    troubles.push(`dialog: ${dialog.message()}`);
    return dialog.dismiss();
  });
  const address = pathToFileURL(report).href;
  await page.goto(address);
  await page.waitForFunction(() => window.leastaction, null, { timeout: 30_000 });
  const facts = await page.evaluate(() => {
    const { frameCount, bodies, plots } = window.leastaction;
    return { frameCount, bodies: bodies.length, plots, charts: document.querySelectorAll(".plot .uplot").length };
  });

  await check("there are frames, bodies and plots, as many as expected", () => {
    assert.ok(facts.frameCount > 1 && facts.bodies > 0 && facts.plots.length > 0, JSON.stringify(facts));
    if (!expected) return;
    assert.equal(facts.frameCount, expected.frames);
    assert.equal(facts.bodies, expected.bodies);
    const points = Object.fromEntries(facts.plots.map(({ id, points: count }) => [id, count]));
    assert.deepEqual(points, expected.plots);
  });

  await check("every plot that has points has a chart with ink in it", async () => {
    assert.equal(facts.charts, facts.plots.filter((plot) => plot.points > 0).length);
    const inked = await page.evaluate(() =>
      [...document.querySelectorAll(".plot canvas")].map((canvas) => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return data.some((value) => value !== 0);
      }),
    );
    assert.ok(inked.every(Boolean), `${inked}`);
  });

  await check("the canvas is not blank", async () => {
    // The picture of an element shows what lies over it, too: that must not count.
    const style = ".view-options, .labels { visibility: hidden }";
    const colours = await coloursOf(page, await page.locator("#view canvas").screenshot({ style }));
    assert.ok(colours > 30, `${colours} colours`);
  });

  await check("scrubbing sets the time and moves the bodies", async () => {
    const [before, after, time, wanted] = await page.evaluate(() => {
      const scrub = document.getElementById("scrub");
      const all = () => window.leastaction.bodies.map((_, i) => window.leastaction.bodyPosition(i));
      window.leastaction.setTime(Number(scrub.min));
      const start = all();
      const middle = Number(scrub.min) + 0.37 * (Number(scrub.max) - Number(scrub.min));
      scrub.value = middle;
      scrub.dispatchEvent(new Event("input"));
      return [start, all(), window.leastaction.time(), middle];
    });
    // The slider keeps its value as text of limited length.
    assert.ok(Math.abs(time - wanted) <= 1e-9 * Math.abs(wanted), `${time} instead of ${wanted}`);
    assert.notDeepEqual(before, after);
  });

  await check("play moves the bodies, pause stops them", async () => {
    const look = () =>
      page.evaluate(() => ({
        time: window.leastaction.time(),
        places: window.leastaction.bodies.map((_, i) => window.leastaction.bodyPosition(i)),
      }));
    await page.evaluate(() => window.leastaction.setTime(Number(document.getElementById("scrub").min)));
    const start = await look();
    await page.locator("#play").click();
    // Patience instead of a fixed pause: drawing in software on a busy machine can take seconds.
    await page.waitForFunction((t) => window.leastaction.time() > t, start.time, { timeout: 20_000 });
    const running = await look();
    await page.locator("#play").click();
    const paused = await look();
    await page.waitForTimeout(200);
    const later = await look();
    assert.ok(running.time > start.time, `${start.time} to ${running.time}`);
    assert.notDeepEqual(running.places, start.places);
    assert.deepEqual(later, paused);
  });

  await check("a click in a plot goes to that time, and the view changes", async () => {
    const chart = page.locator(".plot .u-over").first();
    await page.evaluate(() => window.leastaction.setTime(Number(document.getElementById("scrub").min)));
    const picture = await page.locator("#view canvas").screenshot();
    await chart.scrollIntoViewIfNeeded();
    const { width, height } = await chart.boundingBox();
    await chart.click({ position: { x: 0.6 * width, y: 0.5 * height } });
    const share = await page.evaluate(() => {
      const { min, max } = document.getElementById("scrub");
      return (window.leastaction.time() - min) / (max - min);
    });
    assert.ok(share > 0.3 && share < 0.9, `${share}`);
    for (let tries = 0; picture.equals(await page.locator("#view canvas").screenshot()); tries++) {
      assert.ok(tries < 20, "the picture stayed the same");
      await page.waitForTimeout(200);
    }
  });

  await check("the names of the bodies can be shown, as text", async () => {
    await page.locator("#show-names").check();
    const [labels, bodies] = await page.evaluate(() => [
      [...document.querySelectorAll("#labels span")].map((label) => label.textContent),
      window.leastaction.bodies,
    ]);
    assert.ok(labels.length > 0);
    assert.deepEqual(labels, bodies.slice(0, labels.length));
    await page.locator("#show-names").uncheck();
    assert.ok(await page.locator("#labels").isHidden());
  });

  await check("keys step from frame to frame", async () => {
    await page.evaluate(() => document.activeElement.blur());
    const before = await page.evaluate(() => window.leastaction.time());
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    const after = await page.evaluate(() => window.leastaction.time());
    await page.keyboard.press("ArrowLeft");
    const back = await page.evaluate(() => window.leastaction.time());
    assert.ok(before < back && back < after, `${before}, ${after}, ${back}`);
  });

  if (screenshot) {
    await page.mouse.move(0, 0);
    for (const [scheme, width, height] of [["light", 1360, 900], ["dark", 1360, 900], ["light", 400, 860], ["dark", 400, 860]]) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize({ width, height });
      await page.locator("#reset-view").click();
      await page.evaluate(() => scrollTo(0, 0));
      await page.waitForTimeout(300);
      const plain = scheme === "light" && width > 1000;
      const path = plain ? screenshot : screenshot.replace(/(\.png)?$/, `-${scheme}-${width}.png`);
      await page.screenshot({ path, fullPage: true });
    }
  }

  await check("nothing was wider than a narrow screen", async () => {
    await page.setViewportSize({ width: 400, height: 860 });
    // Charts follow in their own time, many curves on a slow machine take a while.
    await page.waitForFunction(() => document.documentElement.scrollWidth <= 400, null, { timeout: 10_000 });
  });

  await check("no error and no request", () => {
    assert.deepEqual(troubles, []);
    assert.deepEqual(requests.filter((url) => url !== address && !url.startsWith("data:")), []);
  });
  console.log(`${checks} checks passed: ${report}`);
} finally {
  await browser.close();
}

/** How many different colours a picture has without its rounded edge, counted by the browser itself. */
async function coloursOf(page, png) {
  return page.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    const context = canvas.getContext("2d");
    context.drawImage(bitmap, 0, 0);
    const [left, top] = [0.1 * canvas.width, 0.1 * canvas.height].map(Math.round);
    const { data } = context.getImageData(left, top, canvas.width - 2 * left, canvas.height - 2 * top);
    return new Set(new Uint32Array(data.buffer)).size;
  }, png.toString("base64"));
}
