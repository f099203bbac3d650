// Measures the time from the beginning of navigation to the first charts of a page, and memory, as JSON:
// node first.mjs CHROMIUM PAGE [TIMES]
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, file, times = "10"] = process.argv.slice(2);
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const [first, zoomed, heap] = [[], [], []];
for (let at = 0; at < Number(times); at++) {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--js-flags=--expose-gc"] });
  const page = await browser.newPage({ offline: true, viewport: { width: 1400, height: 900 } });
  await page.addInitScript(() => {
    const look = () => {
      const drawn = document.querySelectorAll(".panel canvas").length;
      if (drawn) window.firstChart = performance.now();
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  await page.goto(pathToFileURL(file).href);
  await page.waitForFunction(() => window.firstChart, undefined, { timeout: 60_000 });
  first.push(await page.evaluate(() => window.firstChart));
  const chart = page.locator(".panel .plot").first();
  await chart.focus();
  const before = await page.evaluate(() => performance.now());
  for (let step = 0; step < 8; step++) await page.keyboard.press("+");
  await page.waitForTimeout(50);
  zoomed.push((await page.evaluate(() => performance.now())) - before - 50);
  await page.evaluate(() => window.gc?.());
  heap.push(await page.evaluate(() => performance.memory.usedJSHeapSize / 1e6));
  await browser.close();
}
const rounded = (value) => Math.round(value);
console.log(
  JSON.stringify({
    times: first.map(rounded),
    firstMs: rounded(median(first)),

    zoomMs: rounded(median(zoomed)),
    heapMB: rounded(median(heap)),
  }),
);
