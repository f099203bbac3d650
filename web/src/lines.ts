// Charts of lines that are not over time, such as curves of a sweep and distributions.
import uPlot from "uplot";
import { buttons } from "./export";
import type { Chart, Line } from "./format";
import { form } from "./marks";
import { axis, color, dash, data, element, entry, faded, measured, reach, rounded, state, widthOf } from "./theme";
import { type Range, zooms } from "./zoom";

const PAPER = 690; // the width of A4 with margins, in CSS pixels
const DECADE = 120; // width of a decade that has room for three labels, in CSS pixels
const NEAREST = 36; // least distance between labels of an axis, in CSS pixels

/** Returns the ticks of a logarithmic axis: 1 to 9 or 1, 2 and 5 times powers of ten, or round steps if fewer than two fit. */
function ticks(_plot: uPlot, _axis: number, low: number, high: number): number[] {
  const found: number[] = [];
  const digits = Math.log10(high / low) > 1.5 ? [1, 2, 5] : [1, 2, 3, 4, 5, 6, 7, 8, 9];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++) {
    for (const digit of digits) found.push(Number(`${digit}e${power}`));
  }
  const within = found.filter((value) => value >= low && value <= high);
  if (within.length > 1) return within;
  const step = 10 ** Math.floor(Math.log10((high - low) / 2));
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, at) => (first + at) * step);
}

/** Selects the ticks with a label: powers of ten; on short axes also 2 and 5 times these, or all. */
function numbered(plot: uPlot, values: number[], axis: number): (number | null)[] {
  const decades = Math.log10((values.at(-1) ?? 1) / (values[0] ?? 1));
  const narrow = axis === 0 && plot.over.clientWidth / decades < DECADE;
  const digits = decades > 3 || narrow ? ["1"] : ["1", "2", "5"];
  return values.map((value) => (decades < 0.7 || digits.includes(value.toExponential()[0] ?? "") ? value : null));
}

/** Formats the labels of ticks with as many digits as needed. */
function numbers(_plot: uPlot, values: (number | null)[]): string[] {
  return values.map((value) => (value === null ? "" : Number(value.toPrecision(3)).toLocaleString("en")));
}

/** Selects the ticks with a label among the swept values: the ends, and the shortest ones that are far enough apart. */
function apart(plot: uPlot, values: number[]): (number | null)[] {
  const rank = (value: number, at: number) => (at === 0 || at === values.length - 1 ? 0 : String(value).length);
  const order = values.map((value, at) => [rank(value, at), at] as const).sort(([a, i], [b, j]) => a - b || i - j);
  const taken: number[] = [];
  const labeled = new Set<number>();
  for (const [, at] of order) {
    const place = plot.valToPos(values[at] ?? 0, "x");
    if (taken.some((other) => Math.abs(place - other) < NEAREST)) continue;
    taken.push(place);
    labeled.add(at);
  }
  return values.map((value, at) => (labeled.has(at) ? value : null));
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

/** Draws the points of a line, each in the line's form. */
function points(mark: number, css: string): uPlot.Series.Points {
  const paths = (plot: uPlot, number: number, first: number, last: number) => {
    const path = new Path2D();
    const [x, y] = [plot.data[0], plot.data[number] ?? []];
    for (let at = first; at <= last; at++) {
      const value = y[at];
      if (value == null) continue;
      form(path, mark, plot.valToPos(x[at] ?? 0, "x", true), plot.valToPos(value, "y", true), 2.9 * uPlot.pxRatio);
    }
    const crossed = mark === 5 || mark === 6; // forms without an inside
    return { stroke: crossed ? path : null, fill: crossed ? null : path, clip: null, flags: 0 };
  };
  return { show: true, width: 1.6, stroke: css, fill: css, paths: paths as unknown as uPlot.Series.Points.PathBuilder };
}

/** Returns the least and the greatest value of the charts in a row, bands included. */
function together(charts: Chart[]): [number, number] {
  const all = charts.flatMap((chart) => chart.lines.flatMap((line) => [...line.y, ...line.low, ...line.high]));
  const known = all.filter((value): value is number => value !== null);
  return known.length ? [Math.min(...known), Math.max(...known)] : [0, 1];
}

const HEIGHT = 260;
const WIDE = 900; // width from which on a chart of a row names its y axis, as in a saved picture
const LOW = 200; // height of one of several charts side by side

export class LinesChart {
  private plot: uPlot;
  private found: ReturnType<typeof joined>;
  /** Where values are shown: that of the row, if there are several charts side by side. */
  private readonly legend_: HTMLElement;
  private readonly row: Chart[];

  constructor(
    readonly place: HTMLElement,
    readonly chart: Chart,
  ) {
    this.found = joined(chart.lines);
    this.row = chart.row ? data.charts.filter((each) => each.row === chart.row) : [chart];
    const shared = place.closest(".row")?.querySelector<HTMLElement>(".values");
    this.legend_ = shared ?? element("p", { class: "values", "aria-live": "off" });
    if (!shared) place.before(this.legend_);
    this.plot = this.draw();
    const title = place.parentElement?.querySelector("figcaption");
    (title ?? place).append(buttons(this));
  }

  get title(): string {
    const { row, title } = this.chart;
    return row ? `${row}, ${title}` : title;
  }

  private get height(): number {
    return this.chart.row ? LOW : HEIGHT;
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
      width: 1.6 * (line.mark < 0 ? widthOf(chart.lines.indexOf(line), chart.lines.length) : 1),
      dash: dash(line.dash),
      points:
        edge || bins || line.x.length >= 30
          ? { show: false }
          : line.mark < 0
            ? { show: true, size: 5 }
            : points(line.mark, color(line.color, line.shade)),
      spanGaps: !bins,
      ...(paths ? { paths } : {}),
    }));
    const [least, most] = together(this.row);
    const y: uPlot.Scale = chart.logY
      ? { distr: 3, ...(chart.row ? { range: () => [least / 1.15, most * 1.15] } : {}) }
      : { range: (_, low, high) => (chart.row ? this.reach(least, most) : this.reach(low, high)) };
    return {
      width,
      height,
      scales: { x: chart.logX ? { time: false, distr: 3, range: (_, low, high) => [low, high] } : { time: false }, y },
      axes: [
        axis(chart.x, 32, chart.marks.length ? marked(chart.marks) : chart.logX ? logarithmic : {}),
        axis(chart.row && width < WIDE ? "" : chart.y, 50, {
          size: room,
          ...(chart.logY ? logarithmic : {}),
        } as Partial<uPlot.Axis>),
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
      this.options(
        state.printing ? (this.chart.row ? PAPER / 4 : PAPER / 2) - 20 : place.clientWidth || 600,
        this.height,
      ),
      this.values(),
      place,
    );
    this.show(null);
    place.tabIndex = 0;
    place.setAttribute("role", "application");
    place.setAttribute("aria-label", `Chart: ${this.title}. Plus and minus zoom, arrows move, 0 resets.`);
    const every = this.row.flatMap((chart) => chart.lines.flatMap((line) => line.x)).filter((each) => each !== null);
    const whole: Range = every.length ? { min: Math.min(...every), max: Math.max(...every) } : { min: 0, max: 1 };
    if (this.chart.row) plot.setScale("x", whole);
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
    const lines = at === null ? this.everyLine() : chart.lines;
    const entries = lines.map((line) => {
      const own = found.owners.findIndex((owner) => owner.line === line && !owner.edge) + 1;
      const value = (part: number) => (at === null ? null : (found.values[own + part]?.[at] ?? null));
      const band = line.low.length && value(1) !== null ? ` [${rounded(value(1))}, ${rounded(value(2))}]` : "";
      const look = { label: line.label, color: color(line.color, line.shade), dash: dash(line.dash), point: line.mark };
      return entry(look, x === undefined ? "" : measured(value(0), up) + band);
    });
    const which = chart.row ? `${chart.title}, ` : "";
    const place = x === undefined ? "" : `${which}${name} ${measured(x, across)}`;
    this.legend_.replaceChildren(element("span", { class: "time" }, place), ...entries);
  }

  /** Returns the lines of all charts in the row, each once: those of its legend. */
  private everyLine(): Line[] {
    return [...new Map(this.row.flatMap((chart) => chart.lines).map((line) => [line.label, line])).values()];
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
    this.plot.setSize({ width: this.place.clientWidth, height: this.height });
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
