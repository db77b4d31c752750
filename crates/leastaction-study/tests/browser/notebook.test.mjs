// Opens the page of a notebook in headless Chromium and checks the reports inside: each in a frame of its own, drawn, without a complaint.
//
// node notebook.test.mjs PAGE.html

import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
  args: ["--headless=new", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-first-run"],
  ignoreDefaultArgs: ["--headless", "--headless=old"],
});

try {
  const page = await browser.newPage({ viewport: { width: 1360, height: 900 } });
  const troubles = [];
  page.on("console", (message) => message.type() === "error" && troubles.push(message.text()));
  page.on("pageerror", (error) => troubles.push(String(error)));
  page.on("request", (request) => /^https?:/.test(request.url()) && troubles.push(`asks for ${request.url()}`));
  await page.goto(pathToFileURL(process.argv[2]).href);
  const frames = await page.locator("iframe").elementHandles();
  assert.ok(frames.length > 0, "there is no report");
  for (const handle of frames) {
    await handle.scrollIntoViewIfNeeded();
    const frame = await handle.contentFrame();
    await frame.waitForFunction(() => window.leastaction, null, { timeout: 60_000 });
    const facts = await frame.evaluate(() => ({
      frames: window.leastaction.frameCount,
      bodies: window.leastaction.bodies.length,
      charts: document.querySelectorAll(".plot .uplot").length,
    }));
    assert.ok(facts.frames > 1 && facts.bodies > 0 && facts.charts > 0, JSON.stringify(facts));
    // Labels that lie over the view must not count as drawn.
    const style = ".view-options, .labels { visibility: hidden }";
    const picture = (await frame.locator("#view canvas").screenshot({ style })).toString("base64");
    const colours = await page.evaluate(async (data) => {
      const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${data}`)).blob());
      const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
      context.drawImage(image, 0, 0);
      const pixels = new Uint32Array(context.getImageData(0, 0, image.width, image.height).data.buffer);
      return new Set(pixels).size;
    }, picture);
    assert.ok(colours > 30, `the view has ${colours} colours`);
    console.log(`ok   a report of ${facts.bodies} bodies, ${facts.frames} frames and ${facts.charts} plots, ${colours} colours in its view`);
  }
  assert.deepEqual(troubles, [], "the console complains");
  console.log("ok   no error in the console, nothing asked for from elsewhere");
} finally {
  await browser.close();
}
