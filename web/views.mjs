// Looks at pages of packets, requests, a link and a comparison, and prints what they show as JSON:
// node views.mjs CHROMIUM OUT NAME=PAGE...
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, out, ...named] = process.argv.slice(2);
mkdirSync(out, { recursive: true });
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });

/** Returns what a page shows at first, without errors, in a window of some width. */
async function look(name, file, width) {
  const page = await browser.newPage({ offline: true, viewport: { width, height: 900 } });
  const errors = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && errors.push(message.text()));
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(pathToFileURL(file).href);
  if (await page.locator(".timeline").count()) await page.locator(".panel canvas").first().waitFor({ timeout: 20_000 });
  await page.waitForTimeout(400);
  const said = await page.evaluate(() => {
    const text = (each) => each.textContent.trim();
    const all = (selector) => [...document.querySelectorAll(selector)];
    const panels = all(".panel").filter((each) => !each.hidden);
    return {
      title: document.title,
      about: all("header > p").map(text),
      facts: all(".facts div").map(text),
      findings: all(".findings li").map(text),
      sections: all("h2").map(text),
      heads: all("#s0 th").map(text),
      commands: all(".timeline .command").map(text),
      runs: all(".runs > strong, .runs summary").map(text),
      flows: all(".flows button").map((each) => ({
        name: text(each),
        colors: [...each.querySelectorAll("i")].map((block) => block.style.background),
      })),
      panels: Object.fromEntries(
        panels.map((each) => [
          each.dataset.panel,
          {
            title: text(each.querySelector("h3")),
            legend: [...each.querySelectorAll(".values > span:not(.time)")].map(text),
            blocks: Object.fromEntries(
              [...each.querySelectorAll(".values i")].map((block) => [
                text(block.parentElement),
                block.style.background,
              ]),
            ),
            boxes: [...each.querySelectorAll(".curves input")].map((box) => [box.name, box.checked]),
            buttons: [...each.querySelectorAll(".curves button")].map(text),
            shown: each.querySelector(".plot").getAttribute("aria-description"),
          },
        ]),
      ),
      wide: document.documentElement.scrollWidth - innerWidth,
    };
  });
  await page.screenshot({ path: join(out, `${name}-${width}.png`), fullPage: true });
  return { page, said: { ...said, errors } };
}

const settled = (page) => page.waitForTimeout(300);
const shown = (page, key) => page.locator(`[data-panel="${key}"] .plot`).getAttribute("aria-description");

/** Moves the pointer over a panel, and returns its values there, from left to right. */
async function values(page, key, places) {
  const chart = page.locator(`[data-panel="${key}"] .u-over`);
  await chart.scrollIntoViewIfNeeded();
  const box = await chart.boundingBox();
  const found = [];
  for (const place of places) {
    await page.mouse.move(box.x + box.width * place, box.y + box.height * 0.5);
    await page.mouse.move(box.x + box.width * place + 1, box.y + box.height * 0.5);
    found.push(await page.locator(`[data-panel="${key}"] .values`).textContent());
  }
  return found;
}

/** Returns the number of pixels of each color of a panel's chart, those of at least some pixels. */
const colors = (page, key) =>
  page.locator(`[data-panel="${key}"] canvas`).evaluate((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const counts = {};
    for (let at = 0; at < data.length; at += 4) {
      if (data[at + 3] < 250) continue;
      const color = `${data[at]},${data[at + 1]},${data[at + 2]}`;
      counts[color] = (counts[color] ?? 0) + 1;
    }
    return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 10));
  });

const found = {};
for (const [name, file] of named.map((each) => each.split("=", 2))) {
  const narrow = await look(name, file, 400);
  await narrow.page.close();
  const { page, said } = await look(name, file, 1200);
  found[name] = { ...said, narrow: narrow.said };
  if (said.panels.packets) {
    const at = [await shown(page, "packets"), await shown(page, "rtt")];
    await page.locator('[data-panel="packets"] .far').click();
    await settled(page);
    at.push(await shown(page, "packets"), await shown(page, "packet-delays"));
    await page.locator('[data-panel="packets"] .near').click();
    await settled(page);
    at.push(await shown(page, "packets"), await shown(page, "rtt"));
    await page.locator('[data-panel="rtt"] .plot').focus();
    await page.keyboard.press("+");
    await settled(page);
    at.push(await shown(page, "packets"), await shown(page, "rtt"));
    found[name].ranges = at;
    await page.getByRole("button", { name: "Reset zoom" }).click();
    await settled(page);
    found[name].reset = await shown(page, "packets");
    found[name].packets = await values(page, "packets", [0.1, 0.9]);
    found[name].colors = await colors(page, "packets");
  }
  if (said.panels.requests) {
    found[name].requests = await values(
      page,
      "requests",
      Array.from({ length: 19 }, (_, at) => (at + 1) / 20),
    );
    found[name].colors = await colors(page, "requests");
  }
  if (said.panels.cwnd?.boxes.length) {
    const box = page.locator('[data-panel="cwnd"] .curves input').nth(1);
    const before = await page.locator('[data-panel="cwnd"] .values').textContent();
    await box.click();
    await settled(page);
    found[name].toggled = [before, await page.locator('[data-panel="cwnd"] .values').textContent()];
  }
  await page.close();
}
await browser.close();
console.log(JSON.stringify(found));
