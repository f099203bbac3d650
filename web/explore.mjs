// Uses the page of `fullpipe explore` offline, and prints observations as JSON: node explore.mjs CHROMIUM PAGE OUT
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after as afterOn, explorer, paste } from "./explorer.mjs";

const [executablePath, file, out] = process.argv.slice(2);
mkdirSync(out, { recursive: true });
const { browser, said, open } = await explorer(executablePath, file);
const after = (act) => afterOn(page, act);
const text = () => page.locator("#toml").inputValue();
const hash = () => page.locator("#hash").textContent();

const page = await open({ colorScheme: "light" });
said.title = await page.locator("h1").textContent();
said.charts = await page.locator("#charts canvas").count();
said.first = { text: await text(), hash: await hash() };
await page.waitForTimeout(300);
await page.screenshot({ path: join(out, "light.png"), fullPage: true });

// A slider changes text and run, by keyboard and pointer.
const rate = page.locator('input[name="rate"]');
said.took = [];
await rate.focus();
for (let step = 0; step < 8; step++) said.took.push(await after(() => page.keyboard.press("ArrowLeft")));
said.slid = { text: await text(), hash: await hash() };
const box = await rate.boundingBox();
await after(() => page.mouse.click(box.x + box.width * 0.2, box.y + box.height / 2));
said.clicked = await text();

// The text changes the sliders; a mistake is named and removes nothing.
await after(() => paste(page, said.first.text.replace(/rate = "[^"]*"/, 'rate = "5mbit"')));
said.typed = await page.locator("#controls output").first().textContent();
await paste(page, said.first.text.replace("rtt", "rrt"));
await page.locator("#problem:not(:empty)").waitFor();
said.problem = await page.locator("#problem").textContent();
await after(() => paste(page, said.first.text));
said.back = [await hash(), await page.locator("#problem").textContent()];

// Flows: algorithm, parameters, one more and one less.
await after(() => page.getByLabel("algorithm of cubic").selectOption("newreno"));
said.algorithm = await text();
await after(() => page.getByRole("button", { name: "Add a flow" }).click());
said.added = await page.locator(".flows fieldset").count();
await after(() =>
  page
    .getByRole("button", { name: /^remove / })
    .last()
    .click(),
);
await after(() => page.getByLabel("algorithm of newreno").selectOption("cubic"));
await page.locator(".flows summary").first().click();
await after(async () => {
  await page.getByLabel("beta of cubic").fill("0.5");
  await page.keyboard.press("Tab");
});
said.parameter = await text();

// Two settings side by side.
await page.getByRole("button", { name: "Pin this run" }).click();
await after(() => page.locator('select[name="queue"]').selectOption("fq_codel"));
said.pinned = await page.locator("#charts .u-legend").first().textContent();
await page.screenshot({ path: join(out, "pinned.png"), fullPage: true });
await page.getByRole("button", { name: "Unpin" }).click();

// Time: by slider, step and play.
const clock = page.getByLabel("Time", { exact: true });
await clock.focus();
await clock.fill("0.5");
await page.waitForFunction(() => /^[1-9]/.test(document.getElementById("under-way").textContent));
said.at = await page.locator("#time").textContent();
said.underWay = await page.locator("#under-way").textContent();
said.states = await page.locator("#states li").allTextContents();
await page.getByRole("button", { name: "Step", exact: true }).click();
said.stepped = await page.locator("#time").textContent();
await page.getByRole("button", { name: "Step back" }).click();
said.steppedBack = await page.locator("#time").textContent();
await page.getByRole("button", { name: "Play" }).click();
await page.waitForTimeout(600);
await page.getByRole("button", { name: "Pause" }).click();
said.played = await page.locator("#time").textContent();
await page.screenshot({ path: join(out, "time.png"), fullPage: true });

// The command, and the address that holds everything.
await page.getByRole("button", { name: "Copy the command" }).click();
said.command = await page.locator("#command").textContent();
await page.waitForTimeout(300);
said.shared = { text: await text(), hash: await hash() };
const linked = await open({}, new URL(page.url()).hash);
said.linked = { text: await linked.locator("#toml").inputValue(), hash: await linked.locator("#hash").textContent() };

// A long run shows itself on the way and can be stopped.
await paste(page, said.first.text.replace('"30s"', '"6000s"').replace('"20mbit"', '"100mbit"'));
await page.waitForFunction(() => document.getElementById("status").textContent.startsWith("running"));
said.running = await page.locator("#status").textContent();
const begun = Date.now();
await after(() => page.getByRole("button", { name: "Stop" }).click());
said.stopped = [Date.now() - begun, await page.locator("#status").textContent(), await hash()];

// A reader's own algorithm: by a click, never by a link; mistakes are named, and an endless loop ends.
const mine = page.getByLabel("Your own algorithm in JavaScript");
await page
  .locator("#own-actions")
  .locator("xpath=..")
  .evaluate((each) => {
    each.open = true;
  });
const useIt = page.getByRole("button", { name: "Use this class" });
const fails = async (code) => {
  await mine.fill(code);
  const begun = Date.now();
  await useIt.click();
  await page.locator("#own-problem:not(:empty), #problem:not(:empty)").first().waitFor({ timeout: 15_000 });
  const told = (await page.locator("#own-problem").textContent()) || (await page.locator("#problem").textContent());
  return [told, Date.now() - begun];
};
const example = await mine.inputValue();
await after(() => paste(page, said.first.text));
await after(() => useIt.click());
await page.getByRole("button", { name: "Copy the command" }).click();
said.own = {
  code: example,
  text: await text(),
  hash: await hash(),
  states: await page.locator("#states li").allTextContents(),
  command: await page.locator("#command").textContent(),
};
await page.screenshot({ path: join(out, "own.png"), fullPage: true });
await page.waitForTimeout(300);
said.ownAddress = decodeURIComponent(page.url());
said.syntax = await fails(example.replace("on_ack(cx, ack) {", "on_ack(cx, ack) {\n    let = ;"));
said.raises = await fails(example.replace("this.ssthresh = Math.max", "this.unknown.thing = Math.max"));
said.incomplete = await fails("class Empty {\n  decision() { return {}; }\n}");
said.wrong = await fails(example.replace("cwnd: this.cwnd", "cwnd: -1"));
said.chance = await fails(example.replace("this.smss *", "Math.random() *"));
said.reaches = await fails(example.replace("this.smss = config.smss;", 'fetch("https://example.org/");'));
said.loops = await fails(example.replace("on_ack(cx, ack) {", "on_ack(cx, ack) {\n    for (;;);"));
said.makes = await fails(example.replace("this.smss = config.smss;", "for (;;);"));
await mine.fill(example);
await after(() => useIt.click());
said.ownAgain = await hash();

// Two parameters, not in the order of their names.
await mine.fill(`class Two {
  static params = { gain: { default: 2, least: 0, most: 9 }, beta: { default: 0.5, least: 0, most: 1 } };
  constructor(config) {
    throw new Error(\`gain = \${config.params.gain}, beta = \${config.params.beta}\`);
  }
  on_ack() {}
  decision() {}
}`);
await useIt.click();
await page.locator("#problem:not(:empty)").waitFor();
said.params = await page.locator("#problem").textContent();
await mine.fill(example);
await after(() => useIt.click());

// A scenario whose text has the word that ends the command's, and the link over the controls.
const tricky = `${said.first.text}\n[sweep]\n"path.rate" = ["""1mbit\nSCENARIO\necho INJECTED >&2\n: <<'SCENARIO'\n"""]\n`;
await after(() => paste(page, tricky));
await page.getByRole("button", { name: "Copy the command" }).click();
said.shell = await page.locator("#command").textContent();
await after(() => paste(page, said.first.text));
await page.locator("a.skip").focus();
await page.keyboard.press("Enter");
await page.waitForTimeout(300);
said.skipped = [await text(), await page.locator("#problem").textContent()];

// Keys of the path without a table of their own.
const dotted = `duration = "5s"\npath.rate = "20mbit"\npath.rtt = "40ms"\npath.buffer = "1bdp"\n\n[[flow]]\ncc = "cubic"\n`;
await after(() => paste(page, dotted));
await rate.focus();
await after(() => page.keyboard.press("ArrowLeft"));
said.dotted = await text();

// A lesson: its claim, and a step that changes the scenario.
const taught = async () => ({
  title: await page.locator("#lesson h2").textContent(),
  rows: await page
    .locator("#results tbody tr")
    .evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent).join("|"))),
  answered: await page.locator("#lesson details").evaluate((each) => each.open),
  text: await text(),
});
await after(() => page.getByLabel("Lesson").first().selectOption("bufferbloat"));
said.lesson = [await taught()];
await after(() => page.getByRole("button", { name: "Buffer 1 BDP" }).click());
said.lesson.push(await taught());
await page.screenshot({ path: join(out, "lesson.png"), fullPage: true });

// Each lesson's conditions, judged in the page.
const verdicts = () => page.locator("#results .verdicts li").evaluateAll((all) => all.map((each) => each.textContent));
said.judged = {};
for (const lesson of await page.getByLabel("Lesson").first().locator("option:not([value=''])").all()) {
  const value = await lesson.getAttribute("value");
  await after(() => page.getByLabel("Lesson").first().selectOption(value));
  said.judged[value] = await verdicts();
}
// The last lesson asks for a class: Reno misses each condition, and the answer's class meets all.
const graded = async () => {
  await page.getByRole("button", { name: "Run all of them" }).click();
  await page.waitForFunction(
    () => [...document.querySelectorAll("#lesson li span")].every((each) => each.textContent),
    undefined,
    { timeout: 60_000 },
  );
  return page.locator("#lesson li span").allTextContents();
};
said.graded = [await graded()];
await page.locator("#lesson summary").click();
const answer = await page.locator("#lesson pre").textContent();
await page.locator("details:has(#own)").evaluate((each) => {
  each.open = true;
});
await page.locator("#own").fill(answer);
await after(() => page.getByRole("button", { name: "Use this class" }).click());
said.graded.push(await graded());
said.gradedText = await text();
await page.screenshot({ path: join(out, "graded.png"), fullPage: true });

// Names are text, never markup.
const name = '<img src=x onerror="alert(1)"><b class=injected>';
await after(() => paste(page, `# ${name}\n${said.first.text.replace(/^#.*\n/, "")}`));
said.named = await page.locator("h1").textContent();
await paste(page, `${said.first.text}name = '${name}'\n`);
await page.locator("#problem:not(:empty)").waitFor();
said.refused = await page.locator("#problem").textContent();
said.injected = await page.locator("img, b.injected").count();
said.unnamed = await page.evaluate(
  () =>
    [...document.querySelectorAll("button, select, input, textarea")].filter(
      (each) => !(each.textContent.trim() || each.getAttribute("aria-label") || each.labels?.length),
    ).length,
);

const dark = await open({ colorScheme: "dark" });
said.darkPaper = await dark.evaluate(() => getComputedStyle(document.body).backgroundColor);
await dark.waitForTimeout(300);
await dark.screenshot({ path: join(out, "dark.png"), fullPage: true });
const narrow = await open({ viewport: { width: 400, height: 800 } });
said.overflow = await narrow.evaluate(() => document.documentElement.scrollWidth - innerWidth);
await narrow.waitForTimeout(300);
await narrow.screenshot({ path: join(out, "narrow.png"), fullPage: true });
await browser.close();
console.log(JSON.stringify(said));
