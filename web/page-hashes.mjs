// Prints the trace hash that the page of `fullpipe explore` shows for scenarios, and the interval of its trace, as JSON
// by file: node page-hashes.mjs CHROMIUM PAGE SCENARIO...
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { paste } from "./explorer.mjs";

const [executablePath, file, ...scenarios] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const page = await (await browser.newContext({ offline: true })).newPage();
await page.goto(pathToFileURL(file).href);
await page.waitForFunction(() => document.body.dataset.done);
const said = {};
for (const scenario of scenarios) {
  const runs = await page.evaluate(() => Number(document.body.dataset.done));
  await paste(page, readFileSync(scenario, "utf8"));
  await page.waitForFunction(
    (before) => Number(document.body.dataset.done) > before || document.getElementById("problem").textContent,
    runs,
    { timeout: 60_000 },
  );
  await page.getByRole("button", { name: "Copy the command" }).click();
  const command = await page.locator("#command").textContent();
  const problem = await page.locator("#problem").textContent();
  said[scenario] = problem || [/--trace (\w+)/.exec(command)[1], await page.locator("#hash").textContent()];
}
await browser.close();
console.log(JSON.stringify(said));
