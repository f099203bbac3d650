// The page of the observatory: a matrix of paths and algorithms for each family, and the runs behind each cell.
import "../page.css";
import "./observatory.css";
import { button, color, data, element, onTheme } from "../theme";

interface Metric {
  words: string;
  unit: string;
  scale: number;
  better: number;
  /** The value from which both directions differ, for a metric that is best there. */
  around: number | null;
  mean: (number | null)[];
  low: (number | null)[];
  high: (number | null)[];
  seeds: number[];
  change?: (number | null)[];
  changeLow?: (number | null)[];
  changeHigh?: (number | null)[];
  changed?: boolean[];
}

interface Family {
  name: string;
  title: string;
  question: string;
  axes: { name: string; values: string[] }[];
  metrics: Metric[];
}

interface Observatory {
  here: string;
  earlier: string | null;
  algorithms: { name: string; color: number }[];
  families: Family[];
}

/** What the file of a cell has: its scenario, and the values by metric, algorithm and seed. */
interface Cell {
  text: string;
  values: number[][][];
}

const all = (data as unknown as { observatory: Observatory }).observatory;
const place = (id: string) => document.getElementById(id) as HTMLElement;
const count = all.algorithms.length;
let [family, metric] = [all.families[0] as Family, 0];
/** The chosen place in the matrix: the cell's number and the algorithm's. */
let chosen: [number, number] | null = null;
let only: Record<string, string> = {};
let changes = false;

function cellsOf(of: Family): string[][] {
  return of.axes.reduce<string[][]>(
    (rows, axis) => rows.flatMap((row) => axis.values.map((value) => [...row, value])),
    [[]],
  );
}

const measure = () => family.metrics[metric] as Metric;
const shown = (of: Metric, value: number | null | undefined) =>
  value == null ? "–" : `${Number((value * of.scale).toPrecision(3))}`.replace("-", "−");
/** Returns the unit of what the matrix shows. */
const unit = (of: Metric) => (changes && of.unit === "%" ? "points" : of.unit);
const withUnit = (of: Metric, text: string, what = of.unit) => (what && text !== "–" ? `${text} ${what}` : text);

/** Returns how far a value is from the good end: from -1, better than even, over 0 to 1, the worst. */
function distance(of: Metric, value: number): number {
  if (changes) {
    const most = Math.max(...(of.change ?? []).map((each) => Math.abs(each ?? 0))) || 1;
    return (-(of.better || 1) * value) / most;
  }
  if (of.around === 1) return value > 0 ? -Math.max(-1, Math.min(1, Math.log2(value) / 2)) : 1;
  if (of.around === 0) return Math.max(-1, Math.min(1, value));
  return rank(of, value);
}

const orders = new Map<Metric, number[]>();

/** Returns the share of the cells that are better: one algorithm far behind does not make the others alike. */
function rank(of: Metric, value: number): number {
  const sign = of.better || -1;
  let order = orders.get(of);
  if (!order) {
    order = of.mean.filter((each): each is number => each !== null).sort((one, other) => sign * (other - one));
    orders.set(of, order);
  }
  const better = order.findIndex((each) => sign * (each - value) <= 0);
  return order.length > 1 ? better / (order.length - 1) : 0;
}

/** Returns the background of a value. */
function ground(of: Metric, value: number): string {
  const far = distance(of, value);
  return `color-mix(in srgb, var(${far < 0 ? "--above" : "--below"}) ${Math.round(Math.abs(far) * 70)}%, var(--paper))`;
}

function select(label: string, options: [string, string][], value: string, act: (value: string) => void): HTMLElement {
  const made = element("select", { "aria-label": label });
  for (const [name, words] of options) made.append(element("option", { value: name }, words));
  made.value = value;
  made.addEventListener("change", () => act(made.value));
  return element("label", {}, `${label} `, made);
}

/** Shows the controls of the chosen family. */
function choices(): void {
  const families = all.families.map((each): [string, string] => [each.name, each.title]);
  const metrics = family.metrics.map((each, number): [string, string] => [`${number}`, each.words]);
  const axes = family.axes
    .filter((axis) => axis.values.length > 1)
    .map((axis) =>
      select(
        axis.name,
        [["", "all"], ...axis.values.map((each): [string, string] => [each, each])],
        only[axis.name] ?? "",
        (value) => {
          only[axis.name] = value;
          draw();
        },
      ),
    );
  const made = [
    select("Paths", families, family.name, (name) => {
      family = all.families.find((each) => each.name === name) ?? family;
      [metric, chosen, only] = [0, null, {}];
      choices();
      draw();
    }),
    select("Metric", metrics, `${metric}`, (number) => {
      metric = Number(number);
      draw();
    }),
    ...axes,
  ];
  if (all.earlier) {
    const kinds: [string, string][] = [
      ["", "value"],
      ["changes", `change from ${all.earlier}`],
    ];
    made.push(
      select("Show", kinds, changes ? "changes" : "", (kind) => {
        changes = kind !== "";
        draw();
      }),
    );
  }
  place("choices").replaceChildren(...made);
}

/** Draws the matrix of the chosen family and metric. */
function draw(): void {
  const of = measure();
  place("question").textContent = family.question;
  const heads = family.axes.map((axis) => element("th", { scope: "col", class: "axis" }, axis.name));
  const names = all.algorithms.map(({ name }) => element("th", { scope: "col" }, element("span", {}, name)));
  const rows = cellsOf(family).flatMap((values, cell) => {
    if (family.axes.some((axis, at) => only[axis.name] && only[axis.name] !== values[at])) return [];
    const labels = values.map((value) => element("th", { scope: "row", class: "axis" }, value));
    return [element("tr", {}, ...labels, ...all.algorithms.map((_, algorithm) => entry(of, cell, algorithm)))];
  });
  const head = element("thead", {}, element("tr", {}, ...heads, ...names));
  const what = changes ? `change of ${of.words}` : of.words;
  const caption = element("caption", {}, `${family.title}: ${unit(of) ? `${what}, ${unit(of)}` : what}`);
  const table = element("table", {}, caption, head, element("tbody", {}, ...rows));
  place("matrix").replaceChildren(table);
  const first = table.querySelector("td.chosen") ?? table.querySelector("td");
  first?.setAttribute("tabindex", "0");
  legend(of);
  if (chosen) void open(...chosen);
  else place("cell").replaceChildren();
  remember();
}

function entry(of: Metric, cell: number, algorithm: number): HTMLElement {
  const at = cell * count + algorithm;
  const value = changes ? of.change?.[at] : of.mean[at];
  const made = element("td", { "data-cell": `${cell}`, "data-algorithm": `${algorithm}`, tabindex: "-1" });
  made.textContent = shown(of, value);
  const certain = !changes || of.changed?.[at];
  if (value != null && certain) made.style.background = ground(of, value);
  if (value != null && !certain) made.classList.add("unsure");
  if (chosen?.[0] === cell && chosen[1] === algorithm) made.classList.add("chosen");
  return made;
}

/** Says what the colors stand for. */
function legend(of: Metric): void {
  const known = (changes ? (of.change ?? []) : of.mean).filter((each): each is number => each != null);
  if (!known.length) {
    place("legend").textContent = "No run has a value.";
    return;
  }
  const sorted = [...known].sort((one, other) => distance(of, one) - distance(of, other));
  const steps = [0, 0.25, 0.5, 0.75, 1].map((share) => sorted[Math.round(share * (sorted.length - 1))] as number);
  const marks = steps.map((value) => {
    const made = element("span", { class: "step" }, withUnit(of, shown(of, value), unit(of)));
    made.style.background = ground(of, value);
    return made;
  });
  const words = changes
    ? " From the best change to the worst, by quarters. Grey numbers: not significant, after correction for all cells of the family."
    : of.around === null
      ? " From the best value to the worst, by quarters of the cells."
      : of.around === 1
        ? " From more than a fair share, 1, to less."
        : " From a gain of the other flow to harm.";
  place("legend").replaceChildren(...marks, words);
}

const files = new Map<string, Promise<Cell>>();
let arrived: ((cell: Cell) => void) | null = null;
// Scripts come one after another, so that the one that arrives is the one asked for.
let queue: Promise<unknown> = Promise.resolve();
Object.assign(window, { observed: (cell: Cell) => arrived?.(cell) });

/** Loads the file of a cell by a script element, which works from a disk, too. */
function load(name: string): Promise<Cell> {
  const known = files.get(name);
  if (known) return known;
  const made = queue.then(
    () =>
      new Promise<Cell>((done, fail) => {
        const script = element("script", { src: `cells/${name}.js` });
        arrived = done;
        script.addEventListener("load", () => script.remove());
        script.addEventListener("error", () => {
          files.delete(name);
          fail(new Error(`cells/${name}.js can't be read: is it beside this page?`));
        });
        document.head.append(script);
      }),
  );
  queue = made.catch(() => undefined);
  files.set(name, made);
  return made;
}

/** Shows the runs of a cell. */
async function open(cell: number, algorithm: number): Promise<void> {
  chosen = [cell, algorithm];
  for (const each of document.querySelectorAll("td")) {
    const is = each.dataset.cell === `${cell}` && each.dataset.algorithm === `${algorithm}`;
    each.classList.toggle("chosen", is);
    each.setAttribute("tabindex", is ? "0" : "-1");
  }
  remember();
  const wanted = `${family.name}-${cell}`;
  const about = await load(wanted).catch((error: Error) => error);
  if (chosen[0] !== cell || chosen[1] !== algorithm || `${family.name}-${cell}` !== wanted) return;
  const name = all.algorithms[algorithm]?.name ?? "";
  const values = cellsOf(family)[cell] ?? [];
  const where = family.axes.map((axis, at) => `${axis.name} ${values[at]}`).join(", ");
  const head = element("h2", {}, `${name}: ${where}`);
  if (about instanceof Error) {
    place("cell").replaceChildren(head, element("p", { role: "alert" }, about.message));
    return;
  }
  const text = about.text.replaceAll(all.here, name);
  const link = element(
    "a",
    { href: `explore.html#${encodeURIComponent(text)}`, target: "_blank", rel: "noopener" },
    "Open the run of the first seed in the explorer",
  );
  place("cell").replaceChildren(
    head,
    element("p", {}, link),
    element("div", { class: "scroll" }, numbers(cell, algorithm)),
    strips(about.values[metric] ?? [], algorithm),
    element("details", {}, element("summary", {}, "Scenario"), element("pre", {}, text), copy(text)),
  );
}

function copy(text: string): HTMLElement {
  const made = button("Copy the command", async () => {
    await navigator.clipboard?.writeText(`fullpipe run - <<'SCENARIO'\n${text}SCENARIO\n`).catch(() => undefined);
    made.textContent = "Copied";
  });
  return made;
}

/** Returns a table of all metrics of one place in the matrix. */
function numbers(cell: number, algorithm: number): HTMLElement {
  const at = cell * count + algorithm;
  const heads = ["Metric", "Mean", "95 % interval", "Seeds", ...(all.earlier ? ["Change"] : [])];
  const rows = family.metrics.map((of) => {
    const ends = [of.low[at], of.high[at]].map((each) => shown(of, each));
    const change = of.change?.[at];
    const changeEnds = [of.changeLow?.[at], of.changeHigh?.[at]].map((each) => shown(of, each));
    const told = [
      of.words,
      withUnit(of, shown(of, of.mean[at])),
      ends[0] === "–" ? "–" : `${ends[0]} to ${ends[1]}`,
      `${of.seeds[at]}`,
    ];
    if (all.earlier) told.push(change == null ? "–" : `${shown(of, change)} [${changeEnds.join(" to ")}]`);
    return element("tr", {}, ...told.map((each) => element("td", {}, each)));
  });
  const head = element("tr", {}, ...heads.map((each) => element("th", { scope: "col" }, each)));
  return element("table", { class: "numbers" }, element("thead", {}, head), element("tbody", {}, ...rows));
}

/** Draws the values of the seeds of every algorithm in the cell, a strip each. */
function strips(values: number[][], algorithm: number): HTMLElement {
  const of = measure();
  const [left, width, step] = [170, 560, 20];
  const flat = values.flat();
  const [least, most] = [Math.min(0, ...flat), Math.max(...flat, 0) || 1];
  const x = (value: number) => left + ((value - least) / (most - least)) * width;
  const height = count * step + 26;
  const space = "http://www.w3.org/2000/svg";
  const made = (kind: string, attributes: Record<string, string>, text = "") => {
    const one = document.createElementNS(space, kind);
    for (const [name, value] of Object.entries(attributes)) one.setAttribute(name, value);
    one.textContent = text;
    return one;
  };
  const svg = made("svg", {
    viewBox: `0 0 ${left + width + 30} ${height}`,
    role: "img",
    "aria-label": `${of.words} of each seed`,
  });
  all.algorithms.forEach(({ name, color: index }, number) => {
    const y = number * step + step / 2;
    const weight = number === algorithm ? "700" : "400";
    svg.append(made("text", { x: `${left - 10}`, y: `${y + 4}`, "text-anchor": "end", "font-weight": weight }, name));
    svg.append(made("line", { x1: `${left}`, x2: `${left + width}`, y1: `${y}`, y2: `${y}`, class: "rule" }));
    for (const value of values[number] ?? []) {
      svg.append(made("circle", { cx: `${x(value)}`, cy: `${y}`, r: "4", fill: color(index), "fill-opacity": "0.5" }));
    }
  });
  for (const value of [least, (least + most) / 2, most]) {
    const text = withUnit(of, shown(of, value));
    svg.append(made("text", { x: `${x(value)}`, y: `${height - 4}`, "text-anchor": "middle" }, text));
  }
  const told = element("figcaption", {}, `${of.words} of each seed, for all algorithms on this path`);
  const figure = element("figure", {}, told);
  figure.append(svg);
  return figure;
}

/** Keeps what is shown in the address. */
function remember(): void {
  const parts = [family.name, `${metric}`, ...(chosen ? chosen.map(String) : [])];
  history.replaceState(null, "", `#${parts.join(":")}`);
}

function recall(): void {
  const [name, number, cell, algorithm] = location.hash.slice(1).split(":");
  const found = all.families.find((each) => each.name === name);
  if (!found) return;
  family = found;
  metric = Number(number) in found.metrics ? Number(number) : 0;
  const asked: [number, number] = [Number(cell), Number(algorithm)];
  const there = cell !== undefined && asked[0] in cellsOf(found) && asked[1] in all.algorithms;
  chosen = there ? asked : null;
}

const placeOf = (target: EventTarget | null): HTMLTableCellElement | null =>
  target instanceof HTMLElement ? target.closest<HTMLTableCellElement>("#matrix td") : null;

place("matrix").addEventListener("click", (event) => {
  const at = placeOf(event.target);
  if (at) void open(Number(at.dataset.cell), Number(at.dataset.algorithm));
});
place("matrix").addEventListener("keydown", (event) => {
  const at = placeOf(event.target);
  if (!at) return;
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    at.click();
    return;
  }
  const row = at.parentElement as HTMLTableRowElement;
  const sides: Record<string, Element | null | undefined> = {
    ArrowLeft: at.previousElementSibling,
    ArrowRight: at.nextElementSibling,
    ArrowUp: row.previousElementSibling?.children[at.cellIndex],
    ArrowDown: row.nextElementSibling?.children[at.cellIndex],
  };
  const next = sides[event.key];
  if (next instanceof HTMLTableCellElement && next.tagName === "TD") {
    event.preventDefault();
    at.setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  }
});
addEventListener("hashchange", () => {
  recall();
  choices();
  draw();
});
onTheme(draw);

recall();
choices();
draw();
