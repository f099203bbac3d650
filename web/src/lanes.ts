// Rows of bars for each flow: states, limits, requests and transfers.
import uPlot from "uplot";
import { bars, type Content, word } from "./content";
import type { Panel } from "./format";
import { lower } from "./points";
import { ink, rounded, written } from "./theme";
import type { View } from "./view";

const ROW = 22;

/** Rows of colored bars: states, or what limits each flow. */
export function lanes(panel: Panel, view: View): Content {
  const rows = view.sources("flow").flatMap((shown) =>
    Object.entries(shown.source.stays)
      .filter(([name]) => name === panel.stays || (panel.stays === "state" && name.endsWith(".state")))
      .map(([name, stays]) => ({
        shown,
        stays,
        label: name === panel.stays ? shown.label : `${shown.label}, ${name}`,
      })),
  );
  const used = new Set(rows.flatMap((row) => row.stays.word));
  return {
    ...laneFrame(
      rows.map((row) => row.label),
      view,
    ),
    words: [...used].sort((a, b) => a - b).map((index) => word(view, index).text),
    drawn: rows.map((row) => ({
      label: row.label,
      color: "",
      valueAt: (time: number) => {
        const at = lower(row.stays.till, time);
        return at < row.stays.since.length && (row.stays.since[at] ?? 0) <= time
          ? word(view, row.stays.word[at] ?? 0).text
          : "–";
      },
    })),
    above: (plot) => {
      const names = rows.map((row) => row.label);
      inLanes(plot, names, (number, top, height) => {
        const stays = rows[number]?.stays;
        if (stays) bars(plot, view, stays, top, height, 0.85);
      });
    },
    names: (plot) =>
      nameLanes(
        plot,
        rows.map((row) => row.label),
      ),
  };
}

/** Whether names are too long for the room at the axis, so that they are above their rows. */
const above = (names: string[]): boolean => names.some((name) => name.length > 9);

/** Calls a function for each row with the place of its bars. */
function inLanes(plot: uPlot, names: string[], draw: (row: number, top: number, height: number) => void): void {
  const each = plot.bbox.height / Math.max(names.length, 1);
  const ratio = uPlot.pxRatio;
  const head = above(names) ? 15 * ratio : 0;
  names.forEach((_, number) => {
    const top = plot.bbox.top + number * each;
    draw(number, top + head + 2 * ratio, each - head - 4 * ratio);
  });
}

/** Writes long names above their rows. */
function nameLanes(plot: uPlot, names: string[]): void {
  if (!above(names)) return;
  const each = plot.bbox.height / Math.max(names.length, 1);
  const ratio = uPlot.pxRatio;
  plot.ctx.font = `${12 * ratio}px sans-serif`;
  plot.ctx.textAlign = "left";
  plot.ctx.textBaseline = "alphabetic";
  names.forEach((name, number) => {
    written(plot.ctx, name, plot.bbox.left + 4 * ratio, plot.bbox.top + number * each + 13 * ratio, ink());
  });
}

/** A chart with a row for each name. */
function laneFrame(names: string[], view: View) {
  const count = Math.max(names.length, 1);
  const long = above(names);
  return {
    data: [
      [view.range.min, view.range.max],
      [null, null],
    ] as uPlot.AlignedData,
    series: [{ points: { show: false } }],
    height: (long ? ROW + 12 : ROW) * count + 56,
    y: {
      label: "",
      range: () => [0, count] as uPlot.Range.MinMax,
      axis: {
        splits: () => names.map((_, row) => count - row - 0.5),
        values: () => names.map((name) => (long ? "" : name)),
        grid: { show: false },
        ticks: { show: false },
      },
    },
  };
}

/** Bars from request to last byte: those that overlap are below each other. */
export function spans(view: View): Content {
  const rows: { label: string; color: string; bars: [number, number, string][] }[] = [];
  for (const { source, label, color } of view.sources("flow")) {
    const ends: number[] = [];
    const first = rows.length;
    source.spans.start.forEach((start, at) => {
      const end = source.spans.end[at] ?? start;
      let row = ends.findIndex((each) => each <= start);
      if (row < 0) row = Math.min(ends.length, 7);
      ends[row] = Math.max(end, ends[row] ?? 0);
      rows[first + row] ??= { label: row ? "" : label, color, bars: [] };
      rows[first + row]?.bars.push([start, end, source.spans.text[at] ?? ""]);
    });
  }
  return {
    ...laneFrame(
      rows.map((row) => row.label),
      view,
    ),
    rows: () => [
      ["flow", "content", "start, s", "end, s"],
      ...view
        .sources("flow")
        .flatMap(({ source, label }) =>
          source.spans.start.map((start, at) => [
            label,
            source.spans.text[at] ?? "",
            `${start}`,
            `${source.spans.end[at]}`,
          ]),
        ),
    ],
    drawn: rows
      .filter((row) => row.label)
      .map((row) => ({
        label: row.label,
        color: row.color,
        block: true,
        valueAt: (time: number) => {
          const bar = row.bars.find(([start, end]) => start <= time && time <= end);
          return bar ? `${bar[2]} in ${rounded((bar[1] - bar[0]) * 1e3)} ms` : "–";
        },
      })),
    above: (plot) => {
      inLanes(
        plot,
        rows.map((row) => row.label),
        (number, top, height) => {
          plot.ctx.fillStyle = rows[number]?.color ?? ink();
          for (const [start, end] of rows[number]?.bars ?? []) {
            const x = plot.valToPos(start, "x", true);
            plot.ctx.fillRect(x, top, Math.max(plot.valToPos(end, "x", true) - x - 1, 1), height);
          }
        },
      );
    },
    names: (plot) =>
      nameLanes(
        plot,
        rows.map((row) => row.label),
      ),
  };
}
