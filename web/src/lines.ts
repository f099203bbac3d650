// Charts of lines that are not over time, such as curves of a sweep and distributions.
import uPlot from "uplot";
import { buttons } from "./export";
import type { Chart, Line } from "./format";
import { axis, color, dash, data, element, entry, faded, measured, reach, rounded, state, widthOf } from "./theme";
import { type Range, zooms } from "./zoom";

const PAPER = 690; // the width of A4 with margins, in CSS pixels
const NEAREST = 36; // least distance between labels of an axis, in CSS pixels

/** Returns the ticks of a logarithmic axis: 1 to 9 times powers of ten, or round steps if fewer than two fit. */
function ticks(_plot: uPlot, _axis: number, low: number, high: number): number[] {
  const found: number[] = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++) {
    for (let digit = 1; digit <= 9; digit++) found.push(Number(`${digit}e${power}`));
  }
  const within = found.filter((value) => value >= low && value <= high);
  if (within.length > 1) return within;
  const step = 10 ** Math.floor(Math.log10((high - low) / 2));
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, at) => (first + at) * step);
}

/** Selects the ticks with a label: powers of ten; on short axes also 2 and 5 times these, or all. */
function numbered(_plot: uPlot, values: number[]): (number | null)[] {
  const decades = Math.log10((values.at(-1) ?? 1) / (values[0] ?? 1));
  const digits = decades > 3 ? ["1"] : ["1", "2", "5"];
  return values.map((value) => (decades < 0.7 || digits.includes(value.toExponential()[0] ?? "") ? value : null));
}

/** Formats the labels of ticks with as many digits as needed. */
function numbers(_plot: uPlot, values: (number | null)[]): string[] {
  return values.map((value) => (value === null ? "" : Number(value.toPrecision(3)).toLocaleString("en")));
}

/** Selects the ticks with a label among the swept values: those that are far enough from the one before. */
function apart(plot: uPlot, values: number[]): (number | null)[] {
  let last = Number.NEGATIVE_INFINITY;
  return values.map((value) => {
    const at = plot.valToPos(value, "x");
    if (at - last < NEAREST) return null;
    last = at;
    return value;
  });
}

/** Returns an axis whose ticks are the swept values that are visible. */
function marked(marks: number[]): Partial<uPlot.Axis> {
  const within = (_plot: uPlot, _axis: number, low: number, high: number) =>
    marks.filter((mark) => mark >= low * 0.999 && mark <= high * 1.001);
  return { splits: within, filter: apart, values: numbers };
}

/** Splits a label like "Goodput, Mbit/s" into a name and a unit. */
const parted = (label: string): [string, string] => {
  const [name = "", unit = ""] = label.split(", ");
  return [name, unit];
};

const logarithmic = { splits: ticks, filter: numbered, values: numbers } as Partial<uPlot.Axis>;

/** Makes x strictly increasing, as joining requires: the second point of a vertical step moves slightly. */
function increasing(values: (number | null)[]): number[] {
  const x = values.map(Number);
  for (let at = 1; at < x.length; at++) {
    const before = x[at - 1] as number;
    if ((x[at] as number) <= before) x[at] = before + 1e-9 * (Math.abs(before) || 1);
  }
  return x;
}

/** Joins a chart's lines on one x axis. A line with a band becomes three series; the edges have no label. */
function joined(lines: Line[]) {
  const tables: uPlot.AlignedData[] = [];
  const owners: { line: Line; edge: boolean }[] = [];
  const bands: uPlot.Band[] = [];
  for (const line of lines) {
    const x = increasing(line.x);
    tables.push([x, line.y]);
    owners.push({ line, edge: false });
    if (!line.low.length) continue;
    tables.push([x, line.low], [x, line.high]);
    owners.push({ line, edge: true }, { line, edge: true });
    bands.push({ series: [owners.length, owners.length - 1], fill: faded(color(line.color, line.shade), 0.13) });
  }
  // A line without a value at some x has no gap there: it continues.
  return {
    values: uPlot.join(
      tables,
      tables.map(() => [0, 1]),
    ),
    owners,
    bands,
  };
}

export class LinesChart {
  private plot: uPlot;
  private found: ReturnType<typeof joined>;
  private readonly legend_ = element("p", { class: "values", "aria-live": "off" });

  constructor(
    readonly place: HTMLElement,
    readonly chart: Chart,
  ) {
    this.found = joined(chart.lines);
    place.before(this.legend_);
    this.plot = this.draw();
    const title = place.parentElement?.querySelector("figcaption");
    (title ?? place).append(buttons(this));
  }

  get title(): string {
    return this.chart.title;
  }

  get legend(): [string, string][] {
    return this.chart.lines.map((line) => [line.label, color(line.color, line.shade)]);
  }

  options(width: number, height: number): uPlot.Options {
    const { chart, found } = this;
    // Bins of a logarithmic axis have no points, and no line over a bin without a value.
    const bins = chart.stepped && chart.logX;
    const paths = chart.stepped ? uPlot.paths.stepped?.({ align: 1 }) : undefined;
    const series: uPlot.Series[] = found.owners.map(({ line, edge }) => ({
      label: line.label,
      stroke: edge ? "transparent" : color(line.color, line.shade),
      width: 1.6 * widthOf(chart.lines.indexOf(line), chart.lines.length),
      dash: dash(line.dash),
      points: edge ? { show: false } : { show: line.x.length < 30 && !bins, size: 5 },
      spanGaps: !bins,
      ...(paths ? { paths } : {}),
    }));
    const y = chart.logY
      ? { distr: 3 as const }
      : { range: (_: uPlot, low: number, high: number) => this.reach(low, high) };
    return {
      width,
      height,
      scales: { x: chart.logX ? { time: false, distr: 3, range: (_, low, high) => [low, high] } : { time: false }, y },
      axes: [
        axis(chart.x, 32, chart.marks.length ? marked(chart.marks) : chart.logX ? logarithmic : {}),
        axis(chart.y, 50, { size: room, ...(chart.logY ? logarithmic : {}) } as Partial<uPlot.Axis>),
      ],
      series: [{ label: chart.x }, ...series],
      bands: found.bands,
      cursor: { drag: { x: true, y: false, uni: 20 }, focus: { prox: 24 }, bind: { dblclick: () => null } },
      focus: { alpha: 0.35 },
      legend: { show: false },
      hooks: { setCursor: [(plot) => this.show(plot.cursor.idx ?? null)] },
    };
  }

  values(): uPlot.AlignedData {
    return this.found.values;
  }

  private reach(low: number, high: number): uPlot.Range.MinMax {
    return this.chart.stepped ? [0, 1.02] : reach(low, high);
  }

  private draw(): uPlot {
    const { place } = this;
    const plot = new uPlot(
      this.options(state.printing ? PAPER / 2 - 20 : place.clientWidth || 600, 260),
      this.values(),
      place,
    );
    this.show(null);
    place.tabIndex = 0;
    place.setAttribute("role", "application");
    place.setAttribute("aria-label", `Chart: ${this.chart.title}. Plus and minus zoom, arrows move, 0 resets.`);
    const x = plot.data[0];
    const whole: Range = { min: x[0] ?? 0, max: x.at(-1) ?? 1 };
    const range = () => ({ min: plot.scales.x?.min ?? 0, max: plot.scales.x?.max ?? 1 });
    zooms(place, plot, { range, whole: () => whole, zoom: (to) => plot.setScale("x", to), log: this.chart.logX });
    return plot;
  }

  /** Shows the values at a point of x with their intervals; without one, the legend. */
  private show(at: number | null): void {
    const { chart, found } = this;
    const x = at === null ? undefined : found.values[0][at];
    const [name, across] = parted(chart.x);
    const [, up] = parted(chart.y);
    const entries = chart.lines.map((line) => {
      const own = found.owners.findIndex((owner) => owner.line === line && !owner.edge) + 1;
      const value = (part: number) => (at === null ? null : (found.values[own + part]?.[at] ?? null));
      const band = line.low.length && value(1) !== null ? ` [${rounded(value(1))}, ${rounded(value(2))}]` : "";
      const look = { label: line.label, color: color(line.color, line.shade), dash: dash(line.dash) };
      return entry(look, x === undefined ? "" : measured(value(0), up) + band);
    });
    const place = x === undefined ? "" : `${name} ${measured(x, across)}`;
    this.legend_.replaceChildren(element("span", { class: "time" }, place), ...entries);
  }

  /** Returns what the CSV file has: the points of each line. */
  rows(): string[][] {
    const { chart } = this;
    const head = ["line", chart.x, chart.y, "low", "high"];
    const each = (line: Line) =>
      line.x.map((x, at) => [
        line.label,
        `${x}`,
        `${line.y[at] ?? ""}`,
        `${line.low[at] ?? ""}`,
        `${line.high[at] ?? ""}`,
      ]);
    return [head, ...chart.lines.flatMap(each)];
  }

  again(): void {
    this.plot.destroy();
    this.found = joined(this.chart.lines);
    this.plot = this.draw();
  }

  resize(): void {
    this.plot.setSize({ width: this.place.clientWidth, height: 260 });
  }
}

/** Returns the width that the longest label of a y axis needs. */
function room(_plot: uPlot, values: string[] | null): number {
  return Math.max(50, ...(values ?? []).map((text) => 16 + 7 * String(text).length));
}

export function lineCharts(): LinesChart[] {
  return Array.from(document.querySelectorAll<HTMLElement>("figure .chart"), (place) => {
    const chart = data.charts[Number(place.dataset.chart)];
    return chart ? new LinesChart(place, chart) : [];
  }).flat();
}
