// Opens pages offline, uses what shows names, and prints errors and marks of injected markup as a JSON list:
// node open.mjs CHROMIUM PAGE...
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, ...files] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });

async function open(file) {
  const page = await browser.newPage({ offline: true });
  const errors = [];
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("dialog", (dialog) => {
    errors.push(`a script ran: ${dialog.message()}`);
    dialog.dismiss();
  });
  await page.goto(pathToFileURL(file).href);
  const timelines = await page.locator(".timeline").count();
  if (timelines)
    await page
      .locator(".panel canvas")
      .first()
      .waitFor({ timeout: 10_000 })
      .catch(() => {});
  const charts = await page.locator(".panel:visible canvas").count();
  if (charts) {
    const checkAll = (boxes) => {
      for (const box of boxes) if (!box.checked) box.click();
    };
    await page.locator(".picker input").evaluateAll(checkAll);
    await page.locator(".choices input").evaluateAll(checkAll);
    await page.waitForTimeout(500);
    const plot = page.locator(".panel .plot").first();
    await plot.scrollIntoViewIfNeeded();
    await plot.hover();
    await page.waitForTimeout(100);
  }
  const injected = await page.locator("img, b.injected, [onload], [onerror]").count();
  const text = await page.locator("body").evaluate((body) => {
    for (const script of body.querySelectorAll("script")) script.remove();
    return body.textContent;
  });
  const title = await page.title();
  const whole = (await page.locator("footer").count()) === 1;
  await page.close();
  return { errors, injected, charts, whole, text: `${title}\n${text}` };
}

const found = [];
for (const file of files) found.push(await open(file));
await browser.close();
console.log(JSON.stringify(found));
