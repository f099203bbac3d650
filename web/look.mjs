// Opens a report offline in a browser, and prints observations as JSON: node look.mjs CHROMIUM REPORT OUT
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, report, out] = process.argv.slice(2);
mkdirSync(out, { recursive: true });
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const said = { errors: [], requests: [] };

async function open(options) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, offline: true, ...options });
  const page = await context.newPage();
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) said.errors.push(message.text());
  });
  page.on("pageerror", (error) => said.errors.push(String(error)));
  page.on("request", (request) => said.requests.push(request.url().split(":")[0]));
  await page.goto(pathToFileURL(report).href);
  return page;
}

const page = await open({ colorScheme: "light" });
said.title = await page.title();
said.charts = await page.locator(".u-wrap canvas").count();
await page.screenshot({ path: join(out, "light.png"), fullPage: true });

// A table sorts by number in both directions, by mouse and keyboard.
const head = page.locator("#s0 .sortable th", { hasText: "Goodput" }).first();
const column = await head.evaluate((cell) => cell.cellIndex);
const values = () =>
  page.locator("#s0 .sortable tbody tr").evaluateAll((rows, at) => rows.map((row) => row.cells[at].dataset.v), column);
said.unsorted = await values();
await head.locator("button").click();
said.ascending = [await head.getAttribute("aria-sort"), await values()];
await head.locator("button").focus();
await page.keyboard.press("Enter");
said.descending = [await head.getAttribute("aria-sort"), await values()];

// A chart zooms by dragging, by keyboard, and back by a button; the run's other charts follow.
const chart = page.locator(".timeline .chart > div").first();
const other = page.locator(".timeline .chart > div").nth(1);
const shown = (place) => place.getAttribute("aria-description");
said.whole = await shown(chart);
await chart.scrollIntoViewIfNeeded();
const box = await chart.locator(".u-over").boundingBox();
await page.mouse.move(box.x + box.width * 0.25, box.y + box.height / 2);
await page.mouse.down();
await page.mouse.move(box.x + box.width * 0.5, box.y + box.height / 2, { steps: 5 });
await page.mouse.up();
said.dragged = [await shown(chart), await shown(other)];
await page.screenshot({ path: join(out, "zoomed.png") });
await page.getByRole("button", { name: "Reset zoom" }).click();
said.reset = [await shown(chart), await shown(other)];
await chart.focus();
await page.keyboard.press("+");
said.plus = await shown(chart);
await page.keyboard.press("ArrowRight");
said.right = await shown(chart);
await page.keyboard.press("0");
said.zero = await shown(chart);

// The selector shows another run of the timeline.
const runs = page.locator(".timeline select");
said.runs = await runs.locator("option").count();
const command = page.locator(".timeline .command");
said.commands = [await command.textContent()];
await runs.selectOption({ index: said.runs - 1 });
said.commands.push(await command.textContent());
said.chartsAfter = await page.locator(".u-wrap canvas").count();

// Tab first reaches the skip link.
await page.reload();
await page.keyboard.press("Tab");
said.firstStop = await page.evaluate(() => document.activeElement.textContent);
said.unnamed = await page.evaluate(
  () =>
    [...document.querySelectorAll("button, select, [role=application], [role=region]")].filter(
      (each) => !(each.textContent.trim() || each.getAttribute("aria-label")),
    ).length,
);

writeFileSync(
  join(out, "print.pdf"),
  await page.pdf({ format: "A4", margin: { top: "12mm", bottom: "12mm", left: "12mm", right: "12mm" } }),
);
const dark = await open({ colorScheme: "dark" });
said.darkPaper = await dark.evaluate(() => getComputedStyle(document.body).backgroundColor);
await dark.screenshot({ path: join(out, "dark.png"), fullPage: true });
const narrow = await open({ viewport: { width: 400, height: 800 } });
said.overflow = await narrow.evaluate(() => document.documentElement.scrollWidth - innerWidth);
await narrow.screenshot({ path: join(out, "narrow.png") });
await browser.close();
console.log(JSON.stringify(said));
