// Takes pictures of pages: node shot.mjs CHROMIUM SHOTS.json, a list of {page, out, width, height, scheme, full, clip, steps}
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, list] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const said = [];
for (const shot of JSON.parse(readFileSync(list, "utf-8"))) {
  const { page: file, out, width = 1400, height = 900, scheme = "light", full = false, at = "" } = shot;
  const page = await browser.newPage({ offline: true, viewport: { width, height }, colorScheme: scheme });
  page.on("pageerror", (error) => said.push(`${file}: ${error}`));
  await page.goto(pathToFileURL(file).href);
  if (await page.locator(".timeline").count()) await page.locator(".panel canvas").first().waitFor({ timeout: 20_000 });
  await page.waitForTimeout(400);
  if (at)
    await page
      .locator(at)
      .first()
      .evaluate((each) => each.scrollIntoView({ block: "start" }));
  await page.waitForTimeout(at ? 300 : 0);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (wide > 0) said.push(`${file}: ${wide} pixels wider than ${width}`);
  await page.screenshot({ path: out, fullPage: full });
  await page.close();
}
await browser.close();
console.log(said.join("\n"));
