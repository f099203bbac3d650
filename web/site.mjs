// The documentation's site in headless Chromium, from file://, as a reader would use it.
// node site.mjs CHROMIUM INDEX.html PICTURES: prints what was found as JSON.
import { mkdirSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, index, pictures] = process.argv.slice(2);
mkdirSync(pictures, { recursive: true });
const browser = await chromium.launch({ executablePath });
const found = { requests: [], errors: [], overflow: {}, search: [], links: [] };

async function open(width, colorScheme) {
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
  page.on("request", (request) => {
    if (!/^(file|data|blob):/.test(request.url())) found.requests.push(request.url());
  });
  page.on("pageerror", (error) => found.errors.push(`${page.url()}: ${error}`));
  return page;
}

const root = pathToFileURL(index).href;
const shown = [
  "index.html",
  "gallery.html",
  "reference/cli.html",
  "reference/scenario.html",
  "reference/metrics.html",
  "reference/models/bbr3.html",
  "tutorial/first-run.html",
  "guide/sweeps.html",
  "evidence/kernel.html",
];
for (const [width, colors] of [
  [1400, "light"],
  [400, "dark"],
]) {
  const page = await open(width, colors);
  for (const name of shown) {
    await page.goto(new URL(name, root).href);
    await page.waitForLoadState("load");
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    found.overflow[`${name} at ${width}`] = wide;
    await page.screenshot({ path: `${pictures}/${name.replaceAll("/", "-")}-${width}-${colors}.png` });
  }
  await page.close();
}

const page = await open(1400, "light");
await page.goto(root);
found.links = await page.$$eval("article a[href]", (links) => links.map((link) => link.getAttribute("href")));
await page.keyboard.press("/");
await page.keyboard.type("ssthresh", { delay: 30 });
await page.waitForTimeout(2500);
found.search = await page.evaluate(() => {
  const links = [];
  const walk = (node) => {
    if (node.shadowRoot) walk(node.shadowRoot);
    if (node.tagName === "A" && node.href.includes("?h=")) links.push(node.href);
    for (const child of node.children) walk(child);
  };
  walk(document.body);
  return links;
});
await page.screenshot({ path: `${pictures}/search.png` });
console.log(JSON.stringify(found));
await browser.close();
