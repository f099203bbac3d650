// The page of `fullpipe explore`: controls and text of a scenario, its run in a worker, charts and the pipe.
import "uplot/dist/uPlot.min.css";
import "../page.css";
import "./explore.css";
import { button, data, element, onTheme, rounded, swatch } from "../theme";
import { Charts } from "./charts";
import { flowColor, OWN } from "./colors";
import { Controls } from "./controls";
import {
  type Answer,
  type Ask,
  type Catalogue,
  type Described,
  flowOf,
  type Metrics,
  numbers,
  type Param,
  type Shown,
  word,
} from "./format";
import { type Shown as Lesson, showLesson } from "./lessons";
import { chosen, dataLinks } from "./lines";
import { type About, ownName, wrapped } from "./own";
import { drawPipe, type Packets, rowAt } from "./pipe";
import { steadinessOf, tableOf, verdictsOf } from "./results";
import { conditions, quoted, tables, withAlgorithm, withoutCondition, written } from "./toml";

const catalogue = (data as unknown as { explore: Catalogue }).explore;
const place = <Kind extends HTMLElement = HTMLElement>(id: string) => document.getElementById(id) as Kind;
const [editor, problem, status] = [place<HTMLTextAreaElement>("toml"), place("problem"), place("status")];

const builtIn = new Set(catalogue.algorithms.map((each) => each.name));
let text = catalogue.text;
/** The text that the engine has last accepted. */
let accepted = "";
let id = 0;
let interval = 0;
let described: Described | undefined;
let shown: Shown | null = null;
let pinned: Shown | null = null;
let lesson: Lesson | null = null;
let packets: Packets | null = null;
let asked: [number, number] | null = null;
/** The time shown: at first the middle of the run. */
let at = -1;
/** The longest time that a packet of the run waited in a queue, in seconds. */
let waited = 0;
/** Doubts about the reader's class before any run of it. */
/** The text into which the reader's class could not be put. */
let unplaced: string | null = null;
/** Whether the scenario is a control's, and the conditions that were left out of it. */
let [leaves, left] = [false, [] as string[]];
let [playing, last] = [false, 0];
let begun = 0;
let late: ReturnType<typeof setTimeout>;

const program = place("worker").textContent ?? "";
let worker: Worker;
let [own, ready, heard, failed] = [null as string | null, false, 0, false];
const ask = (message: Ask, moved: Transferable[] = []) => worker.postMessage(message, moved);

/** Starts the worker, with the class of the reader in its script if there is one. */
function start(code: string | null): void {
  worker?.terminate();
  problem.textContent = "";
  [own, ready, heard, failed] = [code, false, performance.now(), false];
  const script = new Blob([code === null ? program : `${wrapped(code)}\n${program}`], { type: "text/javascript" });
  const address = URL.createObjectURL(script);
  worker = new Worker(address);
  URL.revokeObjectURL(address);
  worker.addEventListener("message", listen);
  worker.addEventListener("error", (event) => {
    event.preventDefault();
    if (own === null) halted(`the simulator can't start: ${event.message}`);
    const where = event.lineno && own !== null ? `line ${event.lineno}: ` : "";
    refuseOwn(`${where}${event.message}`);
  });
  const packed = Uint8Array.from(atob(place("engine").textContent?.trim() ?? ""), (each) => each.charCodeAt(0));
  ask({ kind: "engine", packed: packed.buffer }, [packed.buffer]);
}

/** Says why there is no run. */
function halted(reason: string): void {
  problem.textContent = reason;
  status.textContent = "";
  stop.hidden = true;
}

/** Goes back to the algorithms of fullpipe and says why. */
function refuseOwn(problem: string): void {
  if (own === null || failed) return;
  failed = true;
  worker.terminate();
  tellOwn(problem);
  unjudged();
  status.textContent = "";
  stop.hidden = true;
}

/** Says what is wrong with the reader's class, or doubtful, next to it. */
function tellOwn(said: string): void {
  place("own-problem").textContent = said;
}

/** Says that the reader's class could not be put into the scenario, if so. */
function tellPlace(): void {
  const hint = text === unplaced ? `write cc = "${ownName(own ?? "")}" into the text: its flows are not tables` : "";
  tellOwn(hint);
}

/** Takes the verdicts away: there is no run that they are about. */
function unjudged(): void {
  document.querySelector("#results .verdicts")?.remove();
  lesson?.unjudged();
}

/** Returns what to do about an algorithm that is the reader's class, while no class is in use; null for other errors. */
function forgotten(error: string): string | null {
  const [place, name] = /\S+\.cc = "(\w+)"(?=: no algorithm of this name)/.exec(error) ?? [];
  if (own !== null || !name || name !== ownName(ownEditor.value)) return null;
  return `${place}: your class is not in use\n  fix: choose *Use this class* again, or another algorithm`;
}

/** The longest time that a call of the reader's class may take, and the longest that its worker may take to start. */
const [SILENT_MS, START_MS] = [800, 8000];

/** The longest time that the worker may be silent now. */
let patience = SILENT_MS;
let silences = 0;
setInterval(() => {
  if (own === null || failed) return;
  const silent = performance.now() - heard;
  // Not at the first look: a message may have waited while this page was busy or asleep.
  silences = silent > (ready ? patience : START_MS) ? silences + 1 : 0;
  if (silences < 2) return;
  if (!ready) refuseOwn("the class did not finish its own definition, and was stopped");
  else if (!stop.hidden) {
    const within = patience === SILENT_MS ? "a second" : `${patience / 1000} seconds`;
    refuseOwn(`a method of the class did not return within ${within}, and was stopped`);
  }
}, 100);

const charts = new Charts(place("charts"), (time) => seek(time));
const controls = new Controls(place("controls"), catalogue, (change) => renamed(change(text)));

/** Runs a scenario, and shows its text where it is not being edited. */
function use(next: string, typed = false): void {
  [text, leaves, left] = [next, false, []];
  if (!typed) editor.value = text;
  clearTimeout(late);
  late = setTimeout(() => history.replaceState(null, "", `#${encodeURIComponent(text)}`), 150);
  if (failed) {
    start(null);
    return;
  }
  id++;
  [playing, begun, heard, patience] = [false, performance.now(), performance.now(), START_MS];
  stop.hidden = false;
  play.textContent = "Play";
  ask({ kind: "run", id, text });
}

/** Runs a scenario that a control made: conditions on flows that it renamed or removed are left out of it. */
function renamed(next: string): void {
  use(next);
  leaves = true;
}

/** Runs a scenario again without the condition that an error is about; returns whether there is one to leave out. */
function leave(key: string): boolean {
  const [, number] = /^expect\.(\d+)$/.exec(key) ?? [];
  const condition = number && conditions(text)[Number(number)];
  if (!leaves || !condition) return false;
  const before = [...left, condition.slice(1, -1)];
  renamed(withoutCondition(text, Number(number)));
  left = before;
  return true;
}

/** Runs another scenario, and shows the middle of its run. */
function another(next: string): void {
  at = -1;
  use(next);
}

function duration(): number {
  return shown?.described.duration_s ?? 1;
}

/** Shows one time of the run: charts, pipe and states. */
function seek(time: number): void {
  at = Math.min(Math.max(time, 0), duration());
  clock.value = `${at / duration()}`;
  clock.setAttribute("aria-valuetext", `${at.toFixed(3)} s`);
  place("time").textContent = `${at.toFixed(3)} s`;
  charts.mark(at);
  if (!shown || !stop.hidden) return;
  const from = Math.max(0, at - 1.5 * reachBack());
  const known = asked && (asked[0] === 0 || at >= asked[0] + reachBack()) && (at < asked[1] || asked[1] >= duration());
  if (!known) {
    asked = [from, Math.min(duration(), at + Math.max(40 * step(), 0.5))];
    if (asked[1] <= asked[0]) asked[0] = Math.max(0, asked[1] - 1);
    id++;
    ask({ kind: "packets", id, text: shown.text, from: asked[0], to: asked[1] });
  }
  const count = drawPipe(place<HTMLCanvasElement>("pipe"), shown, packets, at);
  const waiting = waitingAt(shown, at);
  place("pipe").setAttribute("aria-label", `The path: ${count} packets under way`);
  place("under-way").textContent = `${count} packets under way, ${waiting} of them in the queue`;
  states(shown);
}

/** Returns the number of packets in the queues of the links that data cross. */
function waitingAt({ described, trace }: Shown, time: number): number {
  const [times, links] = [numbers(trace, "links", "time"), numbers(trace, "links", "link")];
  const [packets, crossed] = [numbers(trace, "links", "queue_packets"), dataLinks(described)];
  let [row, sum] = [rowAt(times, time), 0];
  for (const now = times[row]; row >= 0 && times[row] === now; row--) {
    if (crossed.includes(links[row] ?? -1)) sum += packets[row] ?? 0;
  }
  return sum;
}

/** How far before the time shown packets may have left that are still under way. */
function reachBack(): number {
  if (!shown) return 1;
  return 2 * shown.described.rtt_s + waited;
}

/** A step in time: a tenth of the RTT. */
function step(): number {
  return (shown?.described.rtt_s ?? 0.1) / 10;
}

/** Lists each flow's state at the time, since when and why. */
function states(now: Shown): void {
  const { described: of, trace } = now;
  const [time, flows] = [numbers(trace, "flows", "time"), numbers(trace, "flows", "flow")];
  const windows = numbers(trace, "flows", "cwnd");
  const changes = rowAt(numbers(trace, "transitions", "time"), at);
  const numbersShown = chosen(of.flows);
  const rows = numbersShown.map((number) => {
    const flow = of.flows[number] as (typeof of.flows)[number];
    let row = rowAt(time, at);
    while (row >= 0 && flows[row] !== number) row--;
    let change = changes;
    while (change >= 0 && flowOf(now, "transitions", change) !== number) change--;
    const state = change < 0 ? "its first state" : (word(trace, "transitions", "to", change) ?? "");
    const since = numbers(trace, "transitions", "time")[change] ?? 0;
    const why =
      change < 0 ? "" : ` since ${since.toFixed(3)} s (${word(trace, "transitions", "reason", change) ?? ""})`;
    const limit = row < 0 ? null : word(trace, "flows", "limited_by", row);
    const cwnd = row < 0 ? "not started" : `window ${rounded((windows[row] ?? 0) / 1000)} kB`;
    return element(
      "li",
      {},
      swatch(flowColor(of, number), [], 4),
      ` ${flow.name}: `,
      element("b", {}, state),
      `${why}; ${cwnd}${limit ? `; limited by ${limit}` : ""}`,
    );
  });
  const more = of.flows.length - rows.length;
  place("states").replaceChildren(...rows, ...(more ? [element("li", {}, `and ${more} flows more`)] : []));
}

/** Shows the table of results, with the pinned run's beside. */
function results({ verdicts }: Shown, metrics: Metrics): void {
  place("results").replaceChildren(
    ...verdictsOf(verdicts),
    ...tableOf(metrics, pinned?.metrics),
    ...steadinessOf(metrics),
  );
}

/** Adds the reader's class to what the controls offer; returns the scenario with it. */
function withOwn(about: About): string {
  const { name, purpose, params } = about;
  const declared = params.map((param) => ({
    ...param,
    range: [param.least ?? null, param.most ?? null] as Param["range"],
    choices: null,
  }));
  catalogue.algorithms = catalogue.algorithms.filter((each) => each.name !== name);
  catalogue.algorithms.push({ name, purpose, color: OWN, params: declared });
  // It takes the place of an earlier class, or of the first flow's algorithm if no flow has it.
  const flows: string[] = [];
  for (let flow = 0; flow < tables(text, "flow"); flow++) {
    flows.push((written(text, `flow.${flow}`, "cc") ?? "").slice(1, -1));
  }
  const stale = flows.findIndex((cc) => cc !== name && !builtIn.has(cc));
  if (stale < 0 && flows.includes(name)) return text;
  const flow = `flow.${Math.max(stale, 0)}` as const;
  return withAlgorithm(text, flow, name);
}

const ownEditor = place<HTMLTextAreaElement>("own");
const file = element("input", { type: "file", accept: ".js,text/javascript", "aria-label": "File with a class" });
file.addEventListener("change", async () => {
  const [chosen] = file.files ?? [];
  if (chosen) ownEditor.value = await chosen.text();
});
place("own-actions").append(
  button("Use this class", () => {
    tellOwn("");
    const name = ownName(ownEditor.value);
    unjudged();
    if (!name) tellOwn("there is no class: begin with `class MyAlgorithm {`");
    else if (builtIn.has(name)) tellOwn(`${name} is an algorithm of fullpipe: choose another name`);
    else start(ownEditor.value);
  }),
  file,
);

/** The command that repeats the run. */
function command(): string {
  if (described?.flows.some((flow) => flow.cc === ownName(own ?? ""))) {
    return "# The command has no algorithms in JavaScript. The same class in Python: docs/tutorial/python-algorithm.md";
  }
  // The text of the run that the page shows, so that a shell gets nothing that the engine refused.
  const lines = accepted.trimEnd().split("\n");
  let end = "SCENARIO";
  while (lines.includes(end)) end += "_";
  return [`fullpipe run - --trace ${interval / 1000}us <<'${end}'`, ...lines, end].join("\n");
}

function listen({ data: answer }: MessageEvent<Answer>): void {
  heard = performance.now();
  patience = (answer.kind === "alive" && answer.patience_ms) || SILENT_MS;
  if (answer.kind === "ready") {
    ready = true;
    place("version").textContent = answer.version;
    if (answer.own) renamed(withOwn(answer.own));
    else use(text);
    unplaced = answer.own && !text.includes(quoted(answer.own.name)) ? text : null;
    if (answer.own) tellPlace();
    return;
  }
  if (answer.kind === "alive") return;
  if (answer.kind === "refused" && answer.id === 0) {
    if (own === null) halted(answer.error);
    else refuseOwn(answer.error);
    return;
  }
  if (answer.id !== id) return;
  if (answer.kind === "opened") {
    [described, interval, accepted] = [answer.described, answer.interval_ns, text];
    [packets, asked] = [null, null];
    problem.textContent = "";
    editor.removeAttribute("aria-invalid");
    place("title").textContent = described.title ?? catalogue.name;
    controls.show(described, text);
  } else if (answer.kind === "refused") {
    if (leave(answer.key ?? "")) return;
    stop.hidden = true;
    // The run before stays; a request for its packets may have been under way.
    asked = packets && [packets.from, packets.to];
    problem.textContent = forgotten(answer.error) ?? answer.error;
    document.querySelector("#results .verdicts")?.remove();
    if (answer.thrown && own !== null) {
      tellOwn(answer.error);
      lesson?.unjudged();
    }
    editor.setAttribute("aria-invalid", "true");
  } else if (answer.kind === "packets") {
    packets = answer;
    seek(at);
  } else if (described) {
    const { metrics, verdicts } = answer.kind === "done" ? answer : { metrics: null, verdicts: [] };
    shown = { described, trace: answer.trace, text: accepted, metrics, verdicts };
    charts.draw(shown, pinned);
    if (answer.kind === "progress") {
      status.textContent = `running: ${answer.now.toFixed(1)} of ${described.duration_s} s`;
      return;
    }
    stop.hidden = true;
    const took = Math.round(performance.now() - begun);
    document.body.dataset.took = `${took}`;
    const stopped = answer.stopped ? "stopped; " : "";
    const without = left.length ? `; left out, since their flows are not there: ${left.join(", ")}` : "";
    status.textContent = `${stopped}run and drawn in ${took} ms${without}`;
    place("hash").textContent = answer.stopped ? "none: the run was stopped" : answer.hash;
    if (own !== null) tellPlace();
    problem.textContent = "";
    results(shown, answer.metrics);
    lesson?.judged(accepted, answer.verdicts);
    waited = answer.metrics.links.reduce((sum, link) => sum + (link.queue_delay_s?.max ?? 0), 0);
    document.body.dataset.done = `${Number(document.body.dataset.done ?? 0) + 1}`;
    seek(at < 0 ? duration() / 2 : Math.min(at, duration()));
  }
}

const stop = button("Stop", () => ask({ kind: "stop" }), { id: "stop" });
const pin = button("Pin this run", () => {
  pinned = pinned ? null : shown;
  pin.textContent = pinned ? "Unpin" : "Pin this run";
  if (!shown) return;
  charts.draw(shown, pinned);
  if (shown.metrics) results(shown, shown.metrics);
});
const copy = button("Copy the command", async () => {
  place("command").textContent = command();
  await navigator.clipboard?.writeText(command()).catch(() => undefined);
  copy.textContent = "Copied";
  setTimeout(() => {
    copy.textContent = "Copy the command";
  }, 1500);
});
const examples = element(
  "select",
  { "aria-label": "Example", name: "example" },
  element("option", { value: "" }, "Examples"),
);
for (const name of Object.keys(catalogue.scenarios)) examples.append(element("option", { value: name }, name));
examples.addEventListener("change", () => {
  const chosen = catalogue.scenarios[examples.value];
  if (chosen) another(chosen);
});
const lessons = element(
  "select",
  { "aria-label": "Lesson", name: "lesson" },
  element("option", { value: "" }, "Lessons"),
);
catalogue.lessons.forEach(({ name, title }, number) => {
  lessons.append(element("option", { value: name }, `${number + 1} ${title}`));
});
const begin = (name: string) => {
  const found = catalogue.lessons.find((each) => each.name === name);
  lessons.value = found?.name ?? "";
  lesson = showLesson(place("lesson"), found, use, () => text);
  return lesson;
};
lessons.addEventListener("change", () => {
  const begun = begin(lessons.value);
  if (begun) another(begun.text);
});
place("actions").append(lessons, examples, pin, copy, stop);

const play = button("Play", () => {
  playing = !playing;
  play.textContent = playing ? "Pause" : "Play";
  last = performance.now();
  if (playing) requestAnimationFrame(frame);
});
const clock = element("input", { type: "range", min: "0", max: "1", step: "any", value: "0", "aria-label": "Time" });
clock.addEventListener("input", () => seek(clock.valueAsNumber * duration()));
const speed = element("select", { "aria-label": "Speed" });
for (const [name, value] of [
  ["1/100 of real time", "0.01"],
  ["1/20", "0.05"],
  ["1/5", "0.2"],
  ["real time", "1"],
] as const) {
  speed.append(element("option", { value }, name));
}
speed.value = "0.05";
place("steps").append(
  play,
  button("Step back", () => seek(at - step())),
  button("Step", () => seek(at + step())),
  clock,
  speed,
);

function frame(now: number): void {
  if (!playing) return;
  seek(at + ((now - last) / 1000) * Number(speed.value));
  last = now;
  if (at >= duration()) play.click();
  else requestAnimationFrame(frame);
}

editor.addEventListener("input", () => use(editor.value, true));
/** Returns the scenario in the address; null for a place in the page, or a damaged link, which it reports. */
function linked(): string | null {
  const hash = location.hash.slice(1);
  if (!hash || document.getElementById(hash)) return null;
  try {
    return decodeURIComponent(hash);
  } catch {
    problem.textContent = "the link is damaged: the scenario in it can't be read";
    return null;
  }
}

addEventListener("hashchange", () => {
  const given = linked();
  if (given !== null && given !== text) use(given);
});
addEventListener("resize", () => {
  charts.resize();
  seek(at);
});
onTheme(() => {
  charts.again();
  seek(at);
});

const given = linked();
if (given !== null) text = given;
else if (catalogue.lesson) text = begin(catalogue.lesson)?.text ?? text;
editor.value = text;
start(null);
