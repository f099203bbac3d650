// A band for each flow with the states of its algorithm over time.
import uPlot from "uplot";
import { axis, data, entry, ink, inSeconds, LEFT, written } from "../theme";
import { type Catalogue, numbers, type Shown, words } from "./format";
import { byFlow, chosen } from "./lines";

/** The times that a flow spent in each state, in their order. */
export interface Stays {
  label: string;
  pinned: boolean;
  since: number[];
  till: number[];
  states: string[];
}

/** The most bands; a run with more flows has those of its first flows of each algorithm. */
const MOST = 12;
const [ROW, HEAD, AXIS, FONT] = [20, 14, 28, "11px sans-serif"];

const { states: declared, otherStates: others } = (data as unknown as { explore: Catalogue }).explore;

/** Returns the color of each state: those that fullpipe declares first, in their order. */
export function stateColors(rows: Stays[]): Map<string, string> {
  const seen = new Set(rows.flatMap((row) => row.states));
  const known = Object.keys(declared).filter((state) => seen.has(state));
  const own = [...seen].filter((state) => !(state in declared));
  const pairs = [
    ...known.map((state) => [state, declared[state]] as const),
    ...own.map((state, number) => [state, others[number % others.length]] as const),
  ];
  return new Map(pairs.map(([state, colors]) => [state, colors?.[dark.matches ? 1 : 0] ?? ink()]));
}

/** Returns the stays of each flow: between its changes of state, from its first to its last sample. */
export function staysOf({ described, trace }: Shown, pinned: boolean): Stays[] {
  const [time, flows] = [numbers(trace, "flows", "time"), byFlow(trace)];
  const [changed, of] = [numbers(trace, "transitions", "time"), numbers(trace, "transitions", "flow")];
  const [from, to] = [words(trace, "transitions", "from"), words(trace, "transitions", "to")];
  const columns = trace.tables.find((table) => table.name === "flows")?.columns ?? [];
  const named = columns.filter(({ name }) => name.endsWith(".state")).map(({ name }) => words(trace, "flows", name));
  const changes = new Map<number, number[]>(chosen(described.flows, MOST).map((flow) => [flow, []]));
  of.forEach((flow, row) => {
    changes.get(flow)?.push(row);
  });
  const made = [...changes].map(([flow, turns]): Stays => {
    const rows = flows[flow] ?? [];
    const [first, [turn]] = [rows[0] ?? -1, turns];
    const begin = turn === undefined ? named.map((each) => each(first)).find(Boolean) : from(turn);
    const since = [time[first] ?? 0, ...turns.map((row) => changed[row] ?? 0)];
    return {
      label: `${described.flows[flow]?.name}${pinned ? ", pinned" : ""}`,
      pinned,
      since,
      till: [...since.slice(1), Math.max(time[rows.at(-1) ?? -1] ?? 0, since.at(-1) ?? 0)],
      states: [begin ?? "", ...turns.map((row) => to(row) ?? "")],
    };
  });
  return made.filter(({ states }) => states.some(Boolean));
}

/** Returns in words how much of its time each flow spent in each state. */
export function told(rows: Stays[]): string {
  const all = rows.map(({ label, since, till, states }) => {
    const spent = new Map<string, number>();
    states.forEach((state, at) => {
      spent.set(state, (spent.get(state) ?? 0) + (till[at] ?? 0) - (since[at] ?? 0));
    });
    const whole = (till.at(-1) ?? 0) - (since[0] ?? 0) || 1;
    const parts = [...spent].map(([state, time]) => `${state} ${Number(((100 * time) / whole).toPrecision(2))}%`);
    return `${label}: ${parts.join(", ")}`;
  });
  return `States over time. ${all.join("; ")}`;
}

/** Returns the legend of the states. */
export const legend = (rows: Stays[]): HTMLElement[] =>
  [...stateColors(rows)].map(([label, color]) => entry({ label, color, block: true }, ""));

const dark = matchMedia("(prefers-color-scheme: dark)");
const measure = document.createElement("canvas").getContext("2d");
/** Whether a name is too long for the room at the axis: then names are above their bands. */
function above(rows: Stays[]): boolean {
  if (measure) measure.font = FONT;
  return rows.some(({ label }) => (measure?.measureText(label).width ?? 0) > LEFT - 18);
}
const rowHeight = (rows: Stays[]) => (above(rows) ? ROW + HEAD : ROW);
export const heightOf = (rows: Stays[]) => rowHeight(rows) * rows.length + AXIS + 4;

/** Returns what a chart of bands has in place of values on its y axis. */
export function bandOptions(rows: Stays[]) {
  const count = rows.length;
  const names = {
    font: FONT,
    splits: () => rows.map((_, row) => count - row - 0.5),
    values: () => rows.map(({ label }) => (above(rows) ? "" : label)),
    grid: { show: false },
    ticks: { show: false },
  };
  return {
    height: heightOf(rows),
    padding: [4, null, 0, null] as uPlot.Padding,
    legend: { show: false },
    axes: [axis("", AXIS, { values: inSeconds }), axis("", LEFT - 14, names)],
    series: [{}, { points: { show: false } }],
  };
}

/** Draws the bands. */
export function drawBands(plot: uPlot, rows: Stays[]): void {
  const [{ ctx: context, bbox }, ratio, colors] = [plot, uPlot.pxRatio, stateColors(rows)];
  const [each, head] = [bbox.height / rows.length, above(rows) ? HEAD * ratio : 0];
  rows.forEach((row, number) => {
    const top = bbox.top + number * each;
    context.save();
    context.globalAlpha = row.pinned ? 0.55 : 1;
    drawBand(plot, row, top + head + 1.5 * ratio, each - head - 3 * ratio, colors);
    context.restore();
    if (!head) return;
    context.font = `${12 * ratio}px sans-serif`;
    context.textAlign = "left";
    context.textBaseline = "alphabetic";
    written(context, row.label, bbox.left + 2 * ratio, top + head - ratio, ink());
  });
}

function drawBand(plot: uPlot, row: Stays, top: number, height: number, colors: Map<string, string>): void {
  const context = plot.ctx;
  const [min, max] = [plot.scales.x?.min ?? 0, plot.scales.x?.max ?? 1];
  // Stays shorter than a pixel share it, in proportion to their times: a short one is not hidden by longer ones.
  const shares = new Map<string, number>();
  let pixel = Number.NaN;
  const flush = () => {
    let [total, y] = [0, top];
    for (const share of shares.values()) total += share;
    for (const [state, share] of shares) {
      context.fillStyle = colors.get(state) ?? ink();
      context.fillRect(pixel, y, 1, (height * share) / total);
      y += (height * share) / total;
    }
    shares.clear();
  };
  row.states.forEach((state, at) => {
    const [since, till] = [row.since[at] ?? 0, row.till[at] ?? 0];
    if (till < min || since > max) return;
    const x0 = plot.valToPos(Math.max(since, min), "x", true);
    const x1 = plot.valToPos(Math.min(till, max), "x", true);
    if (x1 - x0 >= 1) {
      flush();
      context.fillStyle = colors.get(state) ?? ink();
      context.fillRect(x0, top, x1 - x0, height);
      return;
    }
    if (Math.floor(x0) !== pixel) flush();
    pixel = Math.floor(x0);
    shares.set(state, (shares.get(state) ?? 0) + Math.max(x1 - x0, 1e-6));
  });
  flush();
}
