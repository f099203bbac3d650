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
await page.locator(".panel canvas").first().waitFor();
await page.waitForTimeout(500);
said.charts = await page.locator(".u-wrap canvas").count();
await page.screenshot({ path: join(out, "light.png"), fullPage: true });

// A table sorts by number in both directions, by mouse and keyboard.
const head = page.locator("#s0 .sortable th", { hasText: "Goodput" }).first();
const column = await head.evaluate((cell) => cell.cellIndex);
const values = () =>
  page
    .locator("#s0 .sortable")
    .first()
    .locator("tbody tr")
    .evaluateAll((rows, at) => rows.map((row) => row.cells[at].dataset.v), column);
said.unsorted = await values();
await head.locator("button").click();
said.ascending = [await head.getAttribute("aria-sort"), await values()];
await head.locator("button").focus();
await page.keyboard.press("Enter");
said.descending = [await head.getAttribute("aria-sort"), await values()];

// Contenders are laid over each other at first; from here on, one run.
said.together = await page.locator(".timeline .command").allTextContents();
await page.locator(".runs summary").click();
await page.locator(".picker button").first().click();
await page.locator(".runs summary").click();
await page.waitForTimeout(250);

// A chart zooms by dragging, by wheel and keyboard, and back by a button; the run's other charts follow.
const chart = page.locator(".panel .plot").first();
const other = page.locator(".panel .plot").nth(1);
const shown = (place) => place.getAttribute("aria-description");
said.panels = await page.locator(".panel:visible").evaluateAll((all) => all.map((each) => each.dataset.panel));
said.whole = await shown(chart);
await chart.scrollIntoViewIfNeeded();
const box = await chart.locator(".u-over").boundingBox();
await page.mouse.move(box.x + box.width * 0.25, box.y + box.height / 2);
await page.mouse.down();
await page.mouse.move(box.x + box.width * 0.5, box.y + box.height / 2, { steps: 5 });
await page.mouse.up();
const settled = () => page.waitForTimeout(250);
await settled();
said.dragged = [await shown(chart), await shown(other)];
await page.screenshot({ path: join(out, "zoomed.png") });
await page.getByRole("button", { name: "Reset zoom" }).click();
await settled();
said.reset = [await shown(chart), await shown(other)];
await chart.focus();
for (const [name, key] of [
  ["plus", "+"],
  ["right", "ArrowRight"],
  ["zero", "0"],
]) {
  await page.keyboard.press(key);
  await settled();
  said[name] = await shown(chart);
}
await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
await chart.focus();
await page.mouse.wheel(0, -400);
await settled();
said.wheel = await shown(chart);
await page.keyboard.press("0");
await settled();

// The values of all charts at the time under the pointer.
await page.mouse.move(box.x + box.width / 2, box.y + box.height / 3);
await page.mouse.move(box.x + box.width / 2 + 3, box.y + box.height / 3);
said.values = await page.locator(".panel:visible .values").allTextContents();
await page.screenshot({ path: join(out, "values.png") });
await page.mouse.move(5, 5);

// A flow is hidden everywhere.
const legends = () => page.locator(".panel:visible .values").allTextContents();
const before = await legends();
const toggle = page.locator(".flows button").first();
said.flow = await toggle.getAttribute("data-flow");
await toggle.click();
await settled();
said.toggled = [before, await legends(), await toggle.getAttribute("aria-pressed")];
await toggle.click();
await settled();

// Any column can be shown, and any panel.
await page.locator(".choices summary").click();
said.columns = await page
  .locator(".choices .options")
  .nth(1)
  .locator("input")
  .evaluateAll((all) => all.map((each) => each.name));
await page.locator('.choices input[name="pacing"]').check();
await page.locator('.choices input[name="srtt"]').check();
await page.locator('.choices input[name="rate-rate"]').check();
await settled();
said.added = await page.locator(".panel:visible").evaluateAll((all) => all.map((each) => each.dataset.panel));
await page.locator(".choices summary").click();

// Each chart is saved as a picture and as numbers.
said.saved = {};
for (const kind of ["PNG", "SVG", "CSV"]) {
  for (const key of ["cwnd", "states", "share", "rate-rtt"]) {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.locator(`[data-panel="${key}"] .exports button`, { hasText: kind }).click(),
    ]);
    const file = join(out, `${key}.${kind.toLowerCase()}`);
    await download.saveAs(file);
    said.saved[`${key}.${kind.toLowerCase()}`] = download.suggestedFilename();
    if (kind !== "SVG") continue;
    const drawn = await browser.newPage({ viewport: { width: 1280, height: 720 } });
    await drawn.goto(pathToFileURL(file).href);
    await drawn.screenshot({ path: join(out, `${key}.svg.png`) });
    await drawn.close();
  }
}

// So are curves, which show their values at a swept number.
const curve = page.locator("figure:has(.chart)").first();
const [graph] = await Promise.all([
  page.waitForEvent("download"),
  curve.locator(".exports button", { hasText: "SVG" }).click(),
]);
await graph.saveAs(join(out, "curve.svg"));
await curve.locator(".u-over").scrollIntoViewIfNeeded();
const above = await curve.locator(".u-over").boundingBox();
await page.mouse.move(above.x + above.width / 2, above.y + above.height / 2);
await page.mouse.move(above.x + above.width - 5, above.y + above.height / 2);
await settled();
said.curve = await curve.locator(".values").textContent();
said.legends = await page.locator(".u-legend").count();
await page.mouse.move(5, 5);

// Two fingers zoom a chart.
await chart.scrollIntoViewIfNeeded();
const whole = await chart.locator(".u-over").boundingBox();
const touch = await page.context().newCDPSession(page);
const fingers = (spread) =>
  [-spread, spread].map((by, id) => ({ x: whole.x + whole.width / 2 + by, y: whole.y + whole.height / 2, id }));
await touch.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: fingers(50) });
for (const spread of [60, 75, 100])
  await touch.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: fingers(spread) });
await touch.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
await settled();
said.pinched = await shown(chart);
await page.getByRole("button", { name: "Reset zoom" }).click();
await settled();

// Runs are laid over each other.
await page.locator(".runs summary").click();
const runs = page.locator(".picker input");
said.runs = await runs.count();
const commands = () => page.locator(".timeline .command").allTextContents();
said.commands = [await commands()];
await runs.nth(said.runs - 1).check();
await settled();
said.commands.push(await commands());
said.overlaid = await page.locator('[data-panel="rate"] .values').textContent();
await page.screenshot({ path: join(out, "overlaid.png"), fullPage: true });
await page
  .locator(".picker button")
  .nth(said.runs - 1)
  .click();
await settled();
said.commands.push(await commands());

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
await dark.waitForTimeout(500);
await dark.screenshot({ path: join(out, "dark.png"), fullPage: true });
const narrow = await open({ viewport: { width: 400, height: 800 } });
said.overflow = await narrow.evaluate(() => document.documentElement.scrollWidth - innerWidth);
await narrow.waitForTimeout(500);
said.injected = await narrow.locator("img, b.injected").count();
await narrow.screenshot({ path: join(out, "narrow.png"), fullPage: true });
await browser.close();
console.log(JSON.stringify(said));
