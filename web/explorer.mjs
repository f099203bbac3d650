// Opens the page of `fullpipe explore` offline, for the scripts that use it.
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

/** Starts a browser; `said` collects what pages print and request. */
export async function explorer(executablePath, file) {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const said = { errors: [], requests: [] };

  async function open(options = {}, hash = "") {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, offline: true, ...options });
    const page = await context.newPage();
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) said.errors.push(message.text());
    });
    page.on("pageerror", (error) => said.errors.push(String(error)));
    page.on("request", (request) => said.requests.push(request.url().split(":")[0]));
    await page.goto(pathToFileURL(file).href + hash);
    await page.waitForFunction(() => document.body.dataset.done, undefined, { timeout: 60_000 });
    return page;
  }

  return { browser, said, open };
}

/** Puts a text into the editor as pasting does: `fill` types, which takes seconds for a long text. */
export async function paste(page, text) {
  await page.locator("#toml").evaluate((area, text) => {
    area.value = text;
    area.dispatchEvent(new Event("input"));
  }, text);
}

/** Does something that starts a run, and waits for its end; returns the page's time to the picture in ms. */
export async function after(page, act) {
  const runs = await page.evaluate(() => Number(document.body.dataset.done));
  await act();
  const over = (before) => Number(document.body.dataset.done) > before;
  await page.waitForFunction(over, runs, { timeout: 60_000 }).catch(async (error) => {
    throw new Error(`no run: ${await page.locator("#problem").textContent()}`, { cause: error });
  });
  return page.evaluate(() => Number(document.body.dataset.took));
}
