// What each kind of panel draws: lines, stacked areas, bars of states, requests, one quantity over another.
import uPlot from "uplot";
import type { Panel, Source } from "./format";
import { spaced } from "./marks";
import { type Line, lower, points, rate, valueAt } from "./points";
import { color, type Entry, eventColor, faded, measured, reach, widthOf, wordColor, written } from "./theme";
import type { Shown, View } from "./view";
import type { Range } from "./zoom";

const MOST = 4000; // points of a line on the screen
const BINS = 300; // means of a rate on the screen
const TICK = 9; // height of a row of ticks, in CSS pixels

/** A line of a legend, its value at some time, and its rows for a file. */
export interface Drawn extends Entry {
  line?: Line;
  /** The value at a time, with its unit; that of ticks within a time of it. */
  valueAt(time: number, within: number): string;
}

/** What a chart draws for a range of time. */
export interface Content {
  data: uPlot.AlignedData;
  series: uPlot.Series[];
  bands?: uPlot.Band[];
  height: number;
  y: { range?: uPlot.Range.Function; axis: Partial<uPlot.Axis>; label: string };
  x?: { label: string; range: uPlot.Range.MinMax };
  drawn: Drawn[];
  /** Drawn before and after the lines, and last. */
  below?(plot: uPlot): void;
  above?(plot: uPlot): void;
  names?(plot: uPlot): void;
  /** Swatches of words: states or limits. */
  words?: string[];
  /** The rows of a file, if they are not those of the lines. */
  rows?(): string[][];
  mode?: 1 | 2;
}

interface Style {
  alpha: number;
  width: number;
  dash?: number[];
  points?: number;
  own?: number;
}
const USUAL: Style = { alpha: 1, width: 1.6 };
const STYLES: Record<string, Style> = {
  "": USUAL,
  pale: { alpha: 0.45, width: 1 },
  dashed: { alpha: 0.8, width: 1, dash: [6, 4] },
  dotted: { alpha: 0.9, width: 1, dash: [2, 3] },
  reference: { alpha: 0.5, width: 1.2 },
  // Points of this size, in a color of their own if they do not have the flow's.
  points: { alpha: 1, width: 0, points: 4 },
  small: { alpha: 0.6, width: 0, points: 3 },
  again: { alpha: 1, width: 0, points: 7, own: 3 },
  gone: { alpha: 1, width: 0, points: 8, own: -1 },
};

/** Reads a track for a range; of a growing count, its mean increase. */
export async function track(source: Source, column: string, range: Range): Promise<Line | undefined> {
  const found = source.tracks[column];
  const finest = found?.levels[0];
  if (!found || !finest?.length) return undefined;
  const { min, max } = range;
  const line = await points(found, min, max, column === "delivered" ? 4 * MOST : MOST);
  if (column !== "delivered") return line;
  const count = finest.reduce((sum, chunk) => sum + chunk.count, 0);
  const spacing = ((finest.at(-1)?.last ?? 0) - (finest[0]?.first ?? 0)) / Math.max(count - 1, 1);
  const width = Math.max((max - min) / BINS, spacing);
  return rate(line, min - width, max + width, width);
}

const named = (view: View, shown: Shown, column: string, plain: boolean) =>
  plain ? shown.label : `${shown.label}: ${view.title(column)}`;

export async function lines(panel: Panel, view: View, range: Range): Promise<Content> {
  const drawn: (Drawn & { line: Line })[] = [];
  const series: uPlot.Series[] = [];
  // A rate of a link alone has nothing to be compared with.
  let compared = false;
  for (const [number, curve] of panel.curves.entries()) {
    if (view.isOff(panel, curve)) continue;
    const sources = view.of(panel, curve);
    for (const [order, shown] of sources.entries()) {
      const line = await track(shown.source, curve.column, range);
      if (!line?.x.length) continue;
      compared ||= curve.style !== "reference";
      const style = STYLES[view.styleOf(panel, curve, shown)] ?? USUAL;
      const stroke = faded(style.own === undefined ? shown.color : color(style.own), style.alpha);
      const label = named(view, shown, curve.column, number === 0 && curve.style !== "points");
      const isMain = curve.of === "flow" && (style === USUAL || curve.style === "points");
      const wide = isMain ? widthOf(order, sources.length) : 1;
      const size = (style.points ?? 0) * wide;
      const dashes = style.dash ?? shown.dash;
      const mark = style.points ? { mark: "●" } : {};
      const isMarked = curve.of === "link" && curve.style === "" && sources.length > 1;
      drawn.push({
        label,
        color: stroke,
        dash: dashes,
        ...mark,
        ...(isMarked ? { point: order } : {}),
        line,
        valueAt: (time) => measured(valueAt(line, time), view.unit(curve.column)),
      });
      series.push({
        label,
        stroke,
        width: style.width * wide,
        dash: dashes,
        points: style.points
          ? { show: true, size, width: 0, fill: stroke }
          : isMarked
            ? spaced(order, sources.length, stroke)
            : { show: false },
        ...(style.points ? { paths: () => null } : {}),
        spanGaps: true,
      });
    }
  }
  if (!compared) drawn.length = series.length = 0;
  const ticks = await counts(panel, view, range);
  const ofSequences = panel.key === "packets";
  const behindLines = panel.behind && view.runs().length < 2;
  return {
    data: join(drawn.map((each) => each.line)),
    series,
    height: 220,
    y: {
      axis: {},
      label: panel.unit,
      // A window of sequence numbers is far from zero.
      ...(ofSequences ? { range: (_, low, high) => around(low, high) } : {}),
      ...(ticks.length ? { range: (plot, low, high) => below(reach(low, high), plot, ticks.length) } : {}),
    },
    drawn: [...drawn, ...ticks.map((tick) => tick.drawn)],
    // The states of several runs behind the same lines can't be told apart.
    words: behindLines ? used(view, panel.behind) : [],
    below: (plot) => {
      if (behindLines) behind(plot, panel, view);
    },
    above: (plot) => {
      for (const tick of ticks) tick.draw(plot);
    },
    names: (plot) => {
      if (behindLines) nameStrips(plot, panel, view);
    },
  };
}

function join(found: Line[]): uPlot.AlignedData {
  if (!found.length) return [[0], [null]];
  const tables = found.map((line) => [Array.from(line.x), Array.from(line.y)] as uPlot.AlignedData);
  return uPlot.join(
    tables,
    tables.map(() => [0, 1]),
  );
}

function around(low: number, high: number): uPlot.Range.MinMax {
  const room = (high - low) * 0.06 || 1;
  return [Math.max(low - room, 0), high + room];
}

/** Returns a range whose lines stay below some rows of ticks. */
function below([low, high]: [number, number], plot: uPlot, rows: number): uPlot.Range.MinMax {
  const height = Math.max(plot.bbox.height / uPlot.pxRatio, 100);
  return [low, low + (high - low) / (1 - Math.min((rows * TICK) / height, 0.6))];
}

/** Rows of ticks at the upper edge for each increase of a count: drops at a link, losses of a flow. */
async function counts(panel: Panel, view: View, range: Range) {
  const found: { drawn: Drawn; draw(plot: uPlot): void }[] = [];
  for (const column of panel.ticks) {
    for (const shown of [...view.sources("link"), ...view.sources("flow")]) {
      const source = shown.source.tracks[column];
      if (!source) continue;
      const line = await points(source, range.min, range.max, MOST);
      const times = Array.from(line.x).filter((_, at) => at > 0 && (line.y[at] ?? 0) > (line.y[at - 1] ?? 0));
      const stroke = shown.source.kind === "flow" ? shown.color : eventColor(column);
      const label = `${shown.label}: ${view.title(column)}`;
      if (!times.length) continue;
      const row = found.length;
      found.push({
        drawn: {
          label,
          color: stroke,
          block: true,
          line,
          valueAt: (time, within) => {
            const until = (end: number) => line.y[Math.max(lower(line.x, end + 1e-9) - 1, 0)] ?? 0;
            return measured(until(time + within) - until(time - within), view.unit(column));
          },
        },
        draw: (plot) => {
          plot.ctx.fillStyle = stroke;
          for (const time of times) {
            const x = plot.valToPos(time, "x", true);
            plot.ctx.fillRect(x, plot.bbox.top + row * TICK * uPlot.pxRatio, uPlot.pxRatio, (TICK - 1) * uPlot.pxRatio);
          }
        },
      });
    }
  }
  return found;
}

export function word(view: View, index: number): { text: string; color: string } {
  return { text: view.timeline.words[index] ?? "", color: wordColor(view.timeline, index) };
}

/** Draws the stays of a source as rectangles between two heights. */
export function bars(
  plot: uPlot,
  view: View,
  stays: Source["stays"][string],
  top: number,
  height: number,
  alpha: number,
): void {
  const context = plot.ctx;
  const [min, max] = [plot.scales.x?.min ?? 0, plot.scales.x?.max ?? 1];
  context.globalAlpha = alpha;
  // Stays shorter than a pixel share it, in proportion to their times: a short one is not hidden by longer ones.
  const shares = new Map<string, number>();
  let pixel = Number.NaN;
  const flush = () => {
    let total = 0;
    for (const share of shares.values()) total += share;
    let y = top;
    for (const [color, share] of [...shares].sort(([one], [other]) => (one < other ? -1 : 1))) {
      context.fillStyle = color;
      context.fillRect(pixel, y, 1, (height * share) / total);
      y += (height * share) / total;
    }
    shares.clear();
  };
  for (let at = Math.max(lower(stays.till, min), 0); at < stays.since.length; at++) {
    const [since, till] = [stays.since[at] as number, stays.till[at] as number];
    if (since > max) break;
    const x0 = plot.valToPos(Math.max(since, min), "x", true);
    const x1 = plot.valToPos(Math.min(till, max), "x", true);
    const { color } = word(view, stays.word[at] as number);
    if (x1 - x0 >= 1) {
      if (shares.size) flush();
      context.fillStyle = color;
      context.fillRect(x0, top, x1 - x0, height);
      continue;
    }
    if (shares.size && Math.floor(x0) !== pixel) flush();
    pixel = Math.floor(x0);
    shares.set(color, (shares.get(color) ?? 0) + Math.max(x1 - x0, 1e-6));
  }
  if (shares.size) flush();
  context.globalAlpha = 1;
}

/** Returns the words of the visible flows, in the page's order. */
function used(view: View, stays: string): string[] {
  const found = new Set(view.sources("flow").flatMap((each) => each.source.stays[stays]?.word ?? []));
  return [...found].sort((a, b) => a - b).map((index) => word(view, index).text);
}

const strips = (panel: Panel, view: View): Shown[] =>
  view.sources("flow").filter((each) => each.source.stays[panel.behind]);

/** Writes whose states a strip has, if there are several. */
function nameStrips(plot: uPlot, panel: Panel, view: View): void {
  const flows = strips(panel, view);
  if (flows.length < 2) return;
  const { left, top, width, height } = plot.bbox;
  const ratio = uPlot.pxRatio;
  plot.ctx.font = `${11 * ratio}px sans-serif`;
  plot.ctx.textAlign = "right";
  plot.ctx.textBaseline = "top";
  flows.forEach((each, row) => {
    const y = top + (row * height) / flows.length + 3 * ratio;
    written(plot.ctx, `states of ${each.label}`, left + width - 4 * ratio, y, each.color);
  });
}

/** Draws states as colors behind the lines: a strip for each flow. */
function behind(plot: uPlot, panel: Panel, view: View): void {
  if (!panel.behind) return;
  const flows = strips(panel, view);
  const { top, height } = plot.bbox;
  flows.forEach((each, row) => {
    const stays = each.source.stays[panel.behind];
    if (stays) bars(plot, view, stays, top + (row * height) / flows.length, height / flows.length, 0.2);
  });
}

/** Areas on top of each other, such as the flows' parts of a queue; those of each run from zero. */
export async function stack(panel: Panel, view: View): Promise<Content> {
  const parts: { shown: Shown; line: Line }[] = [];
  for (const curve of panel.curves) {
    for (const shown of view.of(panel, curve)) {
      const line = await track(shown.source, curve.column, view.range);
      if (line?.x.length) parts.push({ shown, line });
    }
  }
  const x = Array.from(new Set(parts.flatMap((part) => Array.from(part.line.x)))).sort((a, b) => a - b);
  const sum = x.map(() => 0);
  const rows = parts.map(({ line }) =>
    x.map((time, at) => {
      sum[at] = (sum[at] ?? 0) + (valueAt(line, time) ?? 0);
      return sum[at] as number;
    }),
  );
  return {
    data: [x, ...rows] as uPlot.AlignedData,
    // Without outlines, which would hide small parts of a queue that varies much.
    series: parts.map(({ shown }) => ({ label: shown.label, stroke: shown.color, width: 0, points: { show: false } })),
    bands: parts
      .map(({ shown }, number) => ({
        series: [number + 1, number] as [number, number],
        fill: area(shown),
      }))
      .slice(1),
    height: 200,
    y: { axis: {}, label: panel.unit },
    drawn: parts.map(({ shown, line }) => ({
      label: shown.label,
      color: shown.color,
      block: true,
      line,
      valueAt: (time: number) => measured(valueAt(line, time), panel.unit),
    })),
    below: (plot) => {
      const [lowest, series] = [parts[0], plot.series[1]];
      if (lowest && series) series.fill = () => area(lowest.shown);
    },
  };
}

/** The color of a part; the second flow of an algorithm, whose lines are dashed, is paler than the first. */
const area = (shown: Shown) => faded(shown.color, shown.dash.length ? 0.35 : 0.6);
