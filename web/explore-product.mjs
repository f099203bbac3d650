// Uses every control that replaces or removes keys on scenarios in the page of `fullpipe explore`, and prints those that end
// without a run as JSON: node explore-product.mjs CHROMIUM PAGE SCENARIOS.json, an object of texts by name
import { readFileSync } from "node:fs";
import { explorer, paste } from "./explorer.mjs";

const [executablePath, file, list] = process.argv.slice(2);
const { browser, said, open } = await explorer(executablePath, file);
const page = await open();
Object.assign(said, { refused: {}, ran: 0 });

/** Does something; returns the error on the page, empty after a run. */
async function outcome(act) {
  const runs = await page.evaluate(() => {
    document.getElementById("problem").textContent = "";
    return Number(document.body.dataset.done);
  });
  await act();
  const over = (before) =>
    Number(document.body.dataset.done) > before ||
    document.getElementById("problem").textContent ||
    document.getElementById("own-problem").textContent;
  await page.waitForFunction(over, runs, { timeout: 60_000 });
  return page.evaluate(
    () => document.getElementById("problem").textContent + document.getElementById("own-problem").textContent,
  );
}

const select = (label, value) => () => page.getByLabel(label, { exact: true }).selectOption(value);
await page.locator("details:has(#own)").evaluate((each) => {
  each.open = true;
});

for (const [name, text] of Object.entries(JSON.parse(readFileSync(list, "utf-8")))) {
  const begin = () => outcome(() => paste(page, text));
  const first = await begin();
  if (first) {
    said.refused[name] = first;
    continue;
  }
  const options = (label) =>
    page.getByLabel(label, { exact: true }).evaluate((of) => [...of.options].map(({ value }) => value));
  const acts = {
    "add a flow": () => page.getByRole("button", { name: "Add a flow" }).click(),
    "use this class": () => page.getByRole("button", { name: "Use this class" }).click(),
  };
  for (const control of ["queue", "profile"]) {
    // Of the profiles, one with a link of its own, one without, and none.
    const some = (value) => control === "queue" || ["", "lte", "wifi"].includes(value);
    for (const value of (await options(control)).filter(some)) {
      const shown = await page.getByLabel(control, { exact: true }).inputValue();
      if (value !== shown) acts[`${control} ${value || "none"}`] = select(control, value);
    }
  }
  const groups = await page.locator(".flows legend").allTextContents();
  for (const group of new Set([groups[0], groups.at(-1)].filter(Boolean))) {
    const label = `algorithm of ${group}`;
    const others = await options(label);
    const shown = await page.getByLabel(label, { exact: true }).inputValue();
    for (const cc of group === groups[0] ? ["newreno", "scream", "Mine"] : ["newreno"]) {
      if (cc !== shown && others.includes(cc)) acts[`${label}: ${cc}`] = select(label, cc);
    }
    const remove = page.getByRole("button", { name: `remove ${group}`, exact: true });
    if (await remove.isEnabled()) acts[`remove ${group}`] = () => remove.click();
  }
  for (const [what, act] of Object.entries(acts)) {
    await begin();
    const problem = await outcome(act);
    said.ran++;
    if (problem) said.refused[`${name}: ${what}`] = problem;
  }
}

await browser.close();
console.log(JSON.stringify(said));
