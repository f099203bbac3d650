// Uses the site of the observatory from the disk, offline, and prints observations as JSON:
// node observatory.mjs CHROMIUM INDEX OUT
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, file, out] = process.argv.slice(2);
mkdirSync(out, { recursive: true });
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const said = { errors: [], requests: [] };

async function open(options = {}, hash = "") {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, offline: true, ...options });
  const page = await context.newPage();
  for (const each of [page, context]) {
    each.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) said.errors.push(message.text());
    });
  }
  page.on("pageerror", (error) => said.errors.push(String(error)));
  page.on("request", (request) => said.requests.push(request.url().split(":")[0]));
  await page.goto(pathToFileURL(file).href + hash);
  return page;
}

const page = await open();
const words = async (where) => (await page.locator(where).allTextContents()).map((each) => each.trim());
said.families = await words('select[aria-label="Paths"] option');
said.heads = await words("#matrix thead th");
said.rows = await page.locator("#matrix tbody tr").count();
said.unnamed = await page.locator("select:not([aria-label])").count();

// A cell, by pointer and by keyboard.
await page.locator('#matrix td[data-cell="1"][data-algorithm="0"]').click();
await page.locator("#cell h2").waitFor();
said.cell = (await words("#cell h2"))[0];
said.numbers = await words("#cell .numbers td");
said.points = await page.locator("#cell circle").count();
said.text = await page.locator("#cell pre").textContent();
await page.locator("#matrix td.chosen").focus();
await page.keyboard.press("ArrowRight");
await page.keyboard.press("Enter");
await page.waitForFunction((before) => document.querySelector("#cell h2")?.textContent !== before, said.cell);
said.right = (await words("#cell h2"))[0];
said.address = await page.evaluate(() => location.hash);
await page.screenshot({ path: join(out, "light.png"), fullPage: true });

// An axis and a metric.
const [axis] = await page.locator("#matrix thead th.axis").allTextContents();
await page.locator(`select[aria-label="${axis}"]`).selectOption({ index: 1 });
said.filtered = await page.locator("#matrix tbody tr").count();
await page.locator('select[aria-label="Metric"]').selectOption({ index: 1 });
said.caption = (await words("#matrix caption"))[0];

// The run of the cell in the explorer.
const [opened] = await Promise.all([page.context().waitForEvent("page"), page.locator("#cell a").click()]);
await opened.waitForFunction(() => document.body.dataset.done, undefined, { timeout: 60_000 });
said.explored = await opened.locator("#toml").inputValue();
said.hash = await opened.locator("#hash").textContent();
said.command = await (async () => {
  await opened.locator("button", { hasText: "Copy the command" }).click();
  return opened.locator("#command").textContent();
})();

// An address has the place; a phone, in the dark.
const small = await open({ viewport: { width: 400, height: 800 }, colorScheme: "dark" }, said.address);
await small.locator("#cell h2").waitFor();
said.again = await small.locator("#cell h2").textContent();
said.overflow = await small.evaluate(() => document.documentElement.scrollWidth - innerWidth);
await small.screenshot({ path: join(out, "small.png"), fullPage: true });

// Changes from an earlier one.
const show = page.locator('select[aria-label="Show"]');
if (await show.count()) {
  await page.locator(`select[aria-label="${axis}"]`).selectOption({ index: 0 });
  await page.locator('select[aria-label="Metric"]').selectOption({ index: 0 });
  await show.selectOption("changes");
  said.changes = await words("#matrix td");
  said.certain = await page.locator("#matrix td[style]").count();
  await page.screenshot({ path: join(out, "changes.png"), fullPage: true });
}
await browser.close();
console.log(JSON.stringify(said));
