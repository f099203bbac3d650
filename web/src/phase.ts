// One quantity over another.
import uPlot from "uplot";
import { type Content, track } from "./content";
import type { Panel } from "./format";
import { valueAt } from "./points";
import { faded, ink } from "./theme";
import type { Shown, View } from "./view";

const MARKS = ["■", "×", "△", "+"]; // forms of the points of each run

/** One quantity over another within the range of time: a point for each time, connected. */
export async function phase(panel: Panel, view: View): Promise<Content> {
  const [a, b] = panel.curves;
  const flows = view.sources("flow");
  const found: { label: string; color: string; mark: number; x: number[]; y: number[] }[] = [];
  const runs = view.runs();
  const pair = async (first: Shown, second: Shown, label: string) => {
    const x = a && (await track(first.source, a.column, view.range));
    const y = b && (await track(second.source, b.column, view.range));
    if (!x?.x.length || !y?.x.length) return;
    const times = Array.from(y.x).filter((time) => valueAt(x, time) !== null);
    found.push({
      label,
      color: first.color,
      mark: runs.indexOf(first.run),
      x: times.map((time) => valueAt(x, time) as number),
      y: times.map((time) => valueAt(y, time) as number),
    });
  };
  const fair = panel.key === "rate-rate";
  if (fair) {
    for (const run of view.runs()) {
      const [first, second] = flows.filter((flow) => flow.run === run);
      if (first && second) await pair(first, second, `${second.label} over ${first.label}`);
    }
  } else {
    for (const flow of flows) await pair(flow, flow, flow.label);
  }
  const xs = found.flatMap((each) => each.x);
  const most = Math.max(...xs, ...(fair ? found.flatMap((each) => each.y) : []), 1e-9);
  const xLabel = fair
    ? `${flows[0]?.label ?? ""}, ${panel.unit}`
    : `${view.title(a?.column ?? "")}, ${view.unit(a?.column ?? "")}`;
  return {
    mode: 2,
    data: [null, ...found.map((each) => [each.x, each.y])] as unknown as uPlot.AlignedData,
    series: found.map((each) => ({
      label: each.label,
      stroke: each.color,
      paths: scatter(each.color, each.mark) as uPlot.Series.PathBuilder,
    })),
    height: 320,
    x: { label: xLabel, range: [fair ? 0 : Math.max(0, Math.min(...xs) * 0.9), most * 1.05] },
    y: {
      axis: {},
      label: fair ? `${flows[1]?.label ?? ""}, ${panel.unit}` : panel.unit,
      ...(fair ? { range: () => [0, most * 1.05] } : {}),
    },
    drawn: found.map((each) => ({
      label: each.label,
      color: each.color,
      mark: MARKS[each.mark % MARKS.length],
      valueAt: () => "",
    })),
    rows: () => [
      ["line", xLabel, panel.unit ? `${panel.title}, ${panel.unit}` : panel.title],
      ...found.flatMap((each) => each.x.map((x, at) => [each.label, `${x}`, `${each.y[at]}`])),
    ],
    below: (plot) => {
      if (fair) diagonal(plot, most);
    },
  };
}

/** Draws the line of equal rates. */
function diagonal(plot: uPlot, most: number): void {
  const context = plot.ctx;
  context.save();
  context.strokeStyle = ink();
  context.setLineDash([4, 4]);
  context.beginPath();
  context.moveTo(plot.valToPos(0, "x", true), plot.valToPos(0, "y", true));
  context.lineTo(plot.valToPos(most, "x", true), plot.valToPos(most, "y", true));
  context.stroke();
  context.restore();
}

/** Adds the mark of the second run, a cross, the third, a triangle, or the fourth, a plus. */
function outline(context: CanvasRenderingContext2D, mark: number, x: number, y: number, size: number): void {
  const paths: [number, number][][] = [
    [],
    [
      [-1, -1],
      [1, 1],
    ],
    [
      [-1, 1],
      [0, -1],
      [1, 1],
      [-1, 1],
    ],
    [
      [-1, 0],
      [1, 0],
    ],
  ];
  const path = paths[mark] ?? [];
  const draw = (turn: (at: [number, number]) => [number, number]) =>
    path.map(turn).forEach(([left, top], at) => {
      if (at) context.lineTo(x + left * size, y + top * size);
      else context.moveTo(x + left * size, y + top * size);
    });
  draw((at) => at);
  if (mark === 1) draw(([left, top]) => [-left, top]);
  if (mark === 3) draw(([left, top]) => [top, left]);
}

/** Returns a path builder that draws points with a thin line through them, in order of time. */
function scatter(stroke: string, mark: number) {
  return (plot: uPlot, number: number): null => {
    const [x, y] = plot.data[number] as unknown as [number[], number[]];
    const context = plot.ctx;
    const ratio = uPlot.pxRatio;
    const at = x.map(
      (value, index) => [plot.valToPos(value, "x", true), plot.valToPos(y[index] ?? 0, "y", true)] as const,
    );
    context.save();
    context.beginPath();
    context.rect(plot.bbox.left, plot.bbox.top, plot.bbox.width, plot.bbox.height);
    context.clip();
    context.strokeStyle = faded(stroke, 0.12);
    context.fillStyle = faded(stroke, 0.75);
    context.lineWidth = ratio;
    context.beginPath();
    at.forEach(([left, top], index) => {
      if (index) context.lineTo(left, top);
      else context.moveTo(left, top);
    });
    context.stroke();
    context.strokeStyle = faded(stroke, 0.9);
    context.beginPath();
    const size = 3 * ratio;
    for (const [left, top] of at) {
      if (mark % MARKS.length === 0) context.fillRect(left - size / 2, top - size / 2, size, size);
      else outline(context, mark % MARKS.length, left, top, size);
    }
    context.stroke();
    context.restore();
    return null;
  };
}
