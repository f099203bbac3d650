// Opens a scenario of a page in the explorer inside of it: node again.mjs CHROMIUM PAGE [OPTION]; prints JSON.
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, file, option] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const context = await browser.newContext({ offline: true });
const page = await context.newPage();
const said = { errors: [] };
const noted = (of) => {
  of.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) said.errors.push(message.text());
  });
  of.on("pageerror", (error) => said.errors.push(String(error)));
};
noted(page);
context.on("page", noted);
await page.goto(pathToFileURL(file).href);
const place = page.locator(".again").first();
said.labels = await place.locator("option").allTextContents();
if (option) await place.locator("select").selectOption({ label: option });
const [opened] = await Promise.all([
  context.waitForEvent("page"),
  place.getByRole("button", { name: "Change and run again" }).click(),
]);
await opened.waitForFunction(() => document.body.dataset.done, undefined, { timeout: 60_000 });
said.title = await opened.locator("h1").textContent();
said.rows = await opened.locator("#results tbody tr").allTextContents();
said.text = await opened.locator("#toml").inputValue();
await opened.locator('input[name="rate"]').focus();
await opened.keyboard.press("ArrowLeft");
await opened.waitForFunction(() => Number(document.body.dataset.done) > 1, undefined, { timeout: 60_000 });
said.changed = await opened.locator("#results tbody tr").allTextContents();
await browser.close();
console.log(JSON.stringify(said));
