// Looks at the charts of the page of `fullpipe explore`, and prints observations as JSON: node explore-charts.mjs CHROMIUM PAGE
import { after as afterOn, explorer, paste } from "./explorer.mjs";

const [executablePath, file] = process.argv.slice(2);
const { browser, said, open } = await explorer(executablePath, file);

/** Returns the chart of a title. */
const chart = (page, title) => page.locator("#charts figure", { hasText: title }).first();
const label = (page, title) => chart(page, title).getByRole("img").getAttribute("aria-label");
const legend = (page, title) => chart(page, title).locator(".u-legend tr:visible").allTextContents();

/** Returns the colors of a row of pixels of a canvas, as #rrggbb, where they are opaque. */
const pixels = (canvas, share) =>
  canvas.evaluate((each, share) => {
    const row = each.getContext("2d").getImageData(0, Math.floor(each.height * share), each.width, 1).data;
    return Array.from({ length: each.width }, (_, at) =>
      row[4 * at + 3] === 255
        ? `#${[0, 1, 2].map((part) => row[4 * at + part].toString(16).padStart(2, "0")).join("")}`
        : null,
    );
  }, share);

/** Returns the states of a row of the bands as the picture has them: the names of their colors in the legend, in order. */
async function band(page, share) {
  const names = await page
    .locator("#charts .states .legend span")
    .evaluateAll((all) =>
      all.map((each) => [getComputedStyle(each.firstChild).backgroundColor, each.textContent.trim()]),
    );
  const hex = (css) =>
    `#${css
      .match(/\d+/g)
      .map((part) => Number(part).toString(16).padStart(2, "0"))
      .join("")}`;
  const colors = new Map(names.map(([css, name]) => [hex(css), name]));
  const row = (await pixels(page.locator("#charts .states canvas"), share)).map((each) => colors.get(each) ?? null);
  const runs = [];
  row.forEach((name, at) => {
    if (!name) return;
    const last = runs.at(-1);
    if (last?.name === name && at - last.till <= 3) last.till = at + 1;
    else runs.push({ name, from: at, till: at + 1 });
  });
  return { names: names.map(([, name]) => name), runs, width: row.length };
}

said.charts = {};
for (const [scheme, width] of [
  ["light", 1200],
  ["dark", 1200],
  ["light", 400],
  ["dark", 400],
]) {
  const page = await open({ colorScheme: scheme, viewport: { width, height: 900 } });
  const after = (act) => afterOn(page, act);
  await after(() => page.getByLabel("Lesson").first().selectOption("bbr"));
  await page.waitForTimeout(200);
  const canvas = page.locator("#charts .states canvas");
  const seen = await band(page, 0.25);
  // A click into the band at its last ProbeRTT shows that time, and the state.
  const probe = seen.runs.filter(({ name }) => name === "probe_rtt").at(-1);
  const box = await canvas.boundingBox();
  const x = (((probe.from + probe.till) / 2) * box.width) / seen.width;
  await canvas.scrollIntoViewIfNeeded();
  const now = await canvas.boundingBox();
  await page.mouse.click(now.x + x, now.y + 0.25 * now.height);
  said.charts[`${scheme} ${width}`] = {
    ...seen,
    label: await label(page, "States"),
    state: await page.locator("#states li b").first().textContent(),
    overflow: await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
    inside: box.x >= 0 && box.x + box.width <= width,
    named: await page.locator("#charts [role=img]:not([aria-label])").count(),
  };
  await page.close();
}

// What the charts have beside their own lines.
const page = await open({ colorScheme: "light" });
const after = (act) => afterOn(page, act);
const drawn = async () => ({
  rate: [await legend(page, "Throughput"), await label(page, "Throughput")],
  window: [await legend(page, "Congestion window"), await label(page, "Congestion window")],
  queue: [await chart(page, "Queue").locator("figcaption").textContent(), await label(page, "Queue")],
  ticks: (await pixels(chart(page, "Queue").locator("canvas"), 0.1)).filter((each) => each === "#a50026").length,
  links: await page.locator("#results .note:not(.steadiness)").textContent(),
});
said.first = await drawn();

// A flow that is hidden in the window's chart takes its data in flight along.
const orange = () =>
  chart(page, "Congestion window")
    .locator("canvas")
    .evaluate((each) => {
      const { data } = each.getContext("2d").getImageData(0, 0, each.width, each.height);
      let count = 0;
      for (let at = 0; at < data.length; at += 4) {
        if (data[at + 3] > 60 && data[at] > data[at + 2] + 60 && data[at] > data[at + 1] + 30) count++;
      }
      return count;
    });
said.orange = [await orange()];
const toggle = chart(page, "Congestion window").locator(".u-legend tr:visible", { hasText: "bbr3" }).locator("th");
await toggle.click();
await page.waitForTimeout(200);
said.orange.push(await orange());
await toggle.click();
await page.waitForTimeout(200);
said.orange.push(await orange());

// A path that changes has no one BDP; marks are beside drops; many flows have no data in flight.
await after(() => page.getByLabel("Lesson").first().selectOption("l4s"));
said.l4s = await drawn();
const text = await page.locator("#toml").inputValue();
await after(() => paste(page, `${text}\n[[path.change]]\nat = "10s"\nrtt = "80ms"\n`));
said.changes = await drawn();
// The second link carries ACKs: its queue is not that of the data.
await after(() => page.getByLabel("Example").selectOption("profile-lte"));
await page.waitForFunction(() => /^[1-9]/.test(document.getElementById("under-way").textContent));
said.waiting = await page.locator("#under-way").textContent();
const many =
  'duration = "2s"\n[path]\nrate = "20mbit"\nrtt = "40ms"\nbuffer = "1bdp"\n[[flow]]\ncc = "cubic"\ncount = 20\n';
await after(() => paste(page, `${many}[[flow]]\ncc = "bbr3"\n`));
said.many = {
  ...(await drawn()),
  states: [await chart(page, "States").locator("small").textContent(), await label(page, "States")],
};
// Chromium's advice about reading pixels, which only this script does.
said.errors = said.errors.filter((each) => !each.includes("willReadFrequently"));
await browser.close();
console.log(JSON.stringify(said));
