// Measures the page of `fullpipe explore`: its size, the time to its first picture, and the time from a step of a slider
// to the picture of the new run, as JSON: node slider.mjs CHROMIUM PAGE [STEPS]
import { statSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, file, steps = "30"] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const page = await browser.newPage({ offline: true, viewport: { width: 1400, height: 900 } });
// A picture is drawn when the status says so, and in sight with the frame after that.
await page.addInitScript(() => {
  window.drawn = (since) =>
    new Promise((done) => {
      const status = document.getElementById("status");
      const look = () => {
        if (!/drawn in/.test(status.textContent)) return;
        observer.disconnect();
        requestAnimationFrame(() => setTimeout(() => done(performance.now() - since)));
      };
      const observer = new MutationObserver(look);
      observer.observe(status, { childList: true, characterData: true, subtree: true });
      if (since === 0) look();
    });
});
await page.goto(pathToFileURL(file).href);
const firstMs = await page.evaluate(() => window.drawn(0));
const each = [];
for (let step = 0; step < Number(steps); step++) {
  const key = step % 2 ? -1 : 1;
  each.push(
    await page.evaluate((by) => {
      const slider = document.querySelector('#controls input[type="range"]');
      const drawn = window.drawn(performance.now());
      slider.value = String(Number(slider.value) + by * Number(slider.step || 1));
      slider.dispatchEvent(new Event("input", { bubbles: true }));
      return drawn;
    }, key),
  );
}
await browser.close();
each.sort((a, b) => a - b);
const quantile = (share) => Math.round(each[Math.min(each.length - 1, Math.floor(share * each.length))]);
console.log(
  JSON.stringify({
    kilobytes: Math.round(statSync(file).size / 1000),
    firstMs: Math.round(firstMs),
    sliderMs: quantile(0.5),
    sliderP90Ms: quantile(0.9),
  }),
);
