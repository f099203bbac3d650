// Edits scenarios with the controls of the page of `fullpipe explore`, and prints observations as JSON:
// node explore-edit.mjs CHROMIUM PAGE
import { after as afterOn, explorer, paste } from "./explorer.mjs";

const [executablePath, file] = process.argv.slice(2);
const { browser, said, open } = await explorer(executablePath, file);
const page = await open();
const after = (act) => afterOn(page, act);
const toml = page.locator("#toml");
const text = () => toml.inputValue();
const problem = () => page.locator("#problem").textContent();
const first = await text();

// Each key press on a slider is another value.
said.sliders = {};
for (const key of ["rate", "rtt", "buffer", "loss"]) {
  const written = async () => new RegExp(`^${key} = "(.*)"`, "m").exec(await text())?.[1];
  await page.locator(`input[name="${key}"]`).focus();
  const values = [await written()];
  for (const press of [...Array(12).fill("ArrowRight"), ...Array(3).fill("ArrowLeft")]) {
    await after(() => page.keyboard.press(press));
    values.push(await written());
  }
  said.sliders[key] = values;
}

// A value that is no number is shown, and stays; a buffer keeps its unit.
said.texts = {};
const flow = '\n[[flow]]\ncc = "cubic"\n';
const fixed = 'duration = "2s"\n\n[path]\n';
for (const [name, paths] of Object.entries({
  loss: 'rate = "20mbit"\nrtt = "40ms"\nbuffer = "1bdp"\nloss = "gilbert-elliott p 1% r 30% loss-bad 100% loss-good 0%"\n',
  rate: 'rate_pattern = "sine 10mbit..30mbit every 1s"\nrtt = "40ms"\nbuffer = "1bdp"\n',
  rtt: 'rate = "20mbit"\nrtt = "40ms"\nbuffer = "1bdp"\ndelay_trace = "0s 23ms, 1s 31ms every 2s"\n',
  buffer: 'rate = "20mbit"\nrtt = "40ms"\nbuffer = "100packets"\n',
})) {
  await after(() => paste(page, fixed + paths + flow));
  const slider = page.locator(`input[name="${name}"]`);
  const shown = await slider.locator("xpath=preceding-sibling::span/output | ../span/output").textContent();
  const disabled = await slider.isDisabled();
  if (!disabled) {
    await slider.focus();
    await after(() => page.keyboard.press("ArrowRight"));
  }
  said.texts[name] = { disabled, shown, kept: (await text()) === fixed + paths + flow, text: await text() };
}
const bdpCaption = 'rate = "20mbit"\nrtt = "40ms"\nbuffer = "1bdp"\ndelay_trace = "0s 23ms, 1s 31ms every 2s"\n';
await after(() => paste(page, fixed + bdpCaption + flow));
said.traced = await page.locator("#charts figcaption").allTextContents();
await after(() => paste(page, `${fixed}profile = "leo"\n${flow}`));
said.leo = await page
  .locator('input[name="loss"]')
  .evaluate((each) => [each.disabled, each.getAttribute("aria-valuetext")]);

// Conditions on a flow that a control renames or removes are left out, and named.
const expecting = `expect = ["flow.cubic.goodput >= 1mbit", "jain >= 0.1"]\n${fixed}rate = "20mbit"\nrtt = "40ms"\nbuffer = "1bdp"\n${flow}`;
await after(() => paste(page, expecting));
await after(() => page.getByLabel("algorithm of cubic", { exact: true }).selectOption("newreno"));
said.left = { text: await text(), status: await page.locator("#status").textContent() };

// Flows with a count: a table has one group of controls, and each change is a change of that table.
const path = '\n[path]\nrate = "20mbit"\nrtt = "40ms"\nbuffer = "1bdp"\n';
const several = `duration = "5s"\n${path}
[[flow]]
cc = "cubic"
count = 3 # of them

[[flow]]
cc = "bbr3"

[[ flow ]]
name = "last"
cc = "newreno"
count = 2
`;
await after(() => paste(page, several));
const groups = () => page.locator(".flows legend").allTextContents();
said.several = { text: several, groups: await groups(), changes: {} };
const change = async (name, act) => {
  await after(() => paste(page, several));
  await after(act);
  said.several.changes[name] = { text: await text(), problem: await problem(), groups: await groups() };
};
const choose = (name, value) => change(name, () => page.getByLabel(name, { exact: true }).selectOption(value));
await choose("algorithm of cubic-1 to cubic-3", "copa");
await choose("algorithm of bbr3", "copa");
await choose("algorithm of last-1 to last-2", "copa");
const type = (name, value) =>
  change(name, async () => {
    await page.getByLabel(name, { exact: true }).focus();
    await page.keyboard.press("Control+A");
    await page.keyboard.type(value);
    await page.keyboard.press("Enter");
  });
await type("start of bbr3", "1s");
await type("count of bbr3", "2");
said.focused = await page.evaluate(() => document.activeElement.getAttribute("aria-label"));
await type("count of last-1 to last-2", "1");
await change("remove bbr3", () => page.getByRole("button", { name: "remove bbr3" }).click());
await change("a parameter", async () => {
  await page.locator(".flows fieldset:has(legend:text-is('bbr3')) summary").click();
  await page.getByLabel("beta of bbr3", { exact: true }).fill("0.5");
  await page.keyboard.press("Tab");
});

// Workloads beside flows.
const mixed = `duration = "5s"\n${path}
[[workload]]
name = "web"
model = "lognormal median 10kB sigma 2 max 20MB"
load = 0.4
cc = "cubic"

[[flow]]
name = "download"
cc = "cubic"
`;
await after(() => paste(page, mixed));
said.mixed = { groups: await groups() };
await after(() => page.getByLabel("algorithm of web").selectOption("bbr3"));
await after(() => page.getByLabel("algorithm of download").selectOption("newreno"));
await after(async () => {
  await page.getByLabel("load of web").fill("0.2");
  await page.keyboard.press("Enter");
});
said.mixed.text = await text();
said.mixed.problem = await problem();
await after(() => page.getByRole("button", { name: "remove web" }).click());
said.mixed.removed = await text();

// Conditions in several units: of several flows, of quantiles, of a workload, without a value.
const expected = `expect = [
  "flow.*.goodput >= 1mbit", "p90 of flow.download.rtt.p95 <= 1rtt", "median of jain <= 50%", "packets > 1",
  "workload.web.slowdown.p95 <= 3", "link.bottleneck.queue_delay.p95 <= 1rtt", "flow.download.completion < 9s",
  "flow.second.limited_by.cwnd > 0.5", "p5 of flow.second.completion > 12s",
]\n${mixed}[[flow]]\nname = "second"\ncc = "bbr3"\n`;
await after(() => paste(page, expected));
said.expected = { text: expected, verdicts: await page.locator("#results .verdicts li").allTextContents() };

// Flows that are not tables: nothing is changed by guess.
// Numbers that drift, that change on purpose, or that are steady.
const drifting = `duration = "30s"\nmeasure_from = "10s"\nstack = "rfc"\n[path]\nrate = "20mbit"\nrtt = "40ms"\nbuffer = "4bdp"\n`;
const both = '[[flow]]\ncc = "cubic"\n[[flow]]\ncc = "bbr3"\n';
said.steadiness = { text: drifting + both, said: [] };
for (const flows of [both, `${both}start = "15s"\n`, '[[flow]]\ncc = "cubic"\n']) {
  await after(() => paste(page, drifting + flows));
  said.steadiness.said.push(await page.locator("#results .steadiness").allTextContents());
}

const inline = `duration = "5s"\nflow = [{ cc = "cubic" }, { cc = "bbr3" }]\n${path}`;
await after(() => paste(page, inline));
said.inline = {
  groups: await groups(),
  note: await page.locator(".flows").textContent(),
  adds: await page.getByRole("button", { name: "Add a flow" }).isVisible(),
};
await after(() => paste(page, first));
said.after = { groups: await groups(), adds: await page.getByRole("button", { name: "Add a flow" }).isVisible() };

// Every packaged scenario with a count: another algorithm of its last flow.
said.packaged = {};
const examples = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent).explore.scenarios);
for (const [name, example] of Object.entries(examples)) {
  if (!/^count =/m.test(example)) continue;
  const short = example.replace(/^duration = .*/m, 'duration = "1s"').replace(/^measure_from = .*\n/m, "");
  // A path that changes has to do so before the run ends.
  const shorter = example.includes("[[path.change]]") ? example : short;
  await after(() => paste(page, shorter));
  const last = page.locator('.flows select[name^="flow."][name$=".cc"]').last();
  await after(() => last.selectOption("copa"));
  said.packaged[name] = {
    before: shorter,
    after: await text(),
    groups: (await groups()).length,
    problem: await problem(),
  };
}

// A mistake in the text leaves the picture of the last run, also when the time moves.
await after(() => paste(page, first));
const underWay = () => page.locator("#under-way").textContent();
const filled = () => page.waitForFunction(() => /^[1-9]/.test(document.getElementById("under-way").textContent));
await filled();
await paste(page, first.replace("rtt", "rrt"));
await page.locator("#problem:not(:empty)").waitFor();
said.mistake = { still: await underWay() };
const clock = page.getByLabel("Time", { exact: true });
await clock.focus();
await page.keyboard.press("End");
await page.keyboard.press("Home");
for (let press = 0; press < 4; press++) await page.keyboard.press("PageUp");
await filled().catch(() => undefined);
said.mistake.moved = await underWay();
said.mistake.time = await page.locator("#time").textContent();
said.mistake.problem = await problem();
await after(() => paste(page, first));

// A pinned run's numbers are beside those of the next.
const results = () =>
  page
    .locator("#results table tr")
    .evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
const line = () => page.locator("#results .note:not(.steadiness)").textContent();
said.pinned = { before: await results(), line: await line() };
await page.getByRole("button", { name: "Pin this run" }).click();
await after(() => page.getByLabel("algorithm of cubic").selectOption("newreno"));
said.pinned.beside = await results();
said.pinned.lineBeside = await line();
await page.getByRole("button", { name: "Unpin" }).click();
said.pinned.unpinned = await results();

// A class that was stopped is used again by a click alone.
const mine = page.getByLabel("Your own algorithm in JavaScript");
await page.locator("details:has(#own)").evaluate((each) => {
  each.open = true;
});
const useIt = page.getByRole("button", { name: "Use this class" });
const example = await mine.inputValue();
await mine.fill(example.replace("on_ack(cx, ack) {", "on_ack(cx, ack) {\n    for (;;);"));
await useIt.click();
await page.locator("#own-problem:not(:empty)").waitFor({ timeout: 15_000 });
said.own = { stopped: await page.locator("#own-problem").textContent() };
await mine.fill(example);
await page.locator('input[name="rate"]').focus();
await page.keyboard.press("ArrowLeft");
await page.locator("#problem:not(:empty)").waitFor();
said.own.changed = await problem();
await after(() => useIt.click());
said.own.again = [await problem(), await page.locator("#own-problem").textContent(), await text()];
const linked = await open();
await linked.evaluate((hash) => {
  location.hash = hash;
}, new URL(page.url()).hash);
await linked.locator("#problem:not(:empty)").waitFor();
said.own.linked = await linked.locator("#problem").textContent();
// The page names likely mistakes of a class next to it. Verdicts of the class before disappear.
const conditional = `expect = ["link.bottleneck.utilization >= 1%"]\n${first}`;
const verdicts = () => page.locator("#results .verdicts li").allTextContents();
const told = () => page.locator("#own-problem").textContent();
await mine.fill(example);
await after(() => paste(page, conditional));
await after(() => useIt.click());
said.own.judged = await verdicts();
const refused = async (from, to) => {
  await mine.fill(example.replace(from, to));
  await useIt.click();
  await page.locator("#own-problem:not(:empty)").waitFor();
  return [await told(), await verdicts()];
};
said.own.misspelled = await refused("on_ack(cx, ack) {", "on_loss(cx, lost) {}\n  on_ack(cx, ack) {");
said.own.beside = await refused("on_ack(cx, ack) {", "onAck(cx, ack) { this.onAck(); }\n  on_ack(cx, ack) {");
said.own.segments = await refused("cwnd: this.cwnd", "cwnd: 10");
said.own.absent = await refused("on_ack(cx, ack) {", "on_ack(cx, ack) {\n    this.all += ack.acked;");
await mine.fill(example.replace("on_ack(cx, ack) {", "on_ack(cx, ack) {\n    let = ;"));
await useIt.click();
await page.locator("#own-problem:not(:empty)").waitFor();
said.own.syntax = [await told(), await verdicts()];
await mine.fill(example);
await after(() => useIt.click());
said.own.mended = [await told(), await verdicts()];

// Many tables of flows: as fast as a count, with a word on what is not shown.
const many = `duration = "5s"\n${path}${'[[flow]]\ncc = "cubic"\n'.repeat(2000)}`;
const pasted = Date.now();
await after(() => paste(page, many));
said.many = {
  took: Date.now() - pasted,
  groups: (await groups()).length,
  note: await page.locator(".flows > p").textContent(),
  captions: await page.locator("#charts figcaption").allTextContents(),
  states: (await page.locator("#states li").allTextContents()).at(-1),
};
await after(() => paste(page, inline));
await after(() => useIt.click());
said.own.inline = [await page.locator("#own-problem").textContent(), await text()];

await browser.close();
console.log(JSON.stringify(said));
