// Zooming a chart by drag, wheel, two fingers and keyboard.
import type uPlot from "uplot";

export interface Range {
  min: number;
  max: number;
}

export interface Zoomable {
  range(): Range;
  whole(): Range;
  zoom(to: Range): void;
  log?: boolean;
}

const there = (chart: Zoomable) => (chart.log ? Math.log10 : Number);
const back = (chart: Zoomable) => (chart.log ? (value: number) => 10 ** value : Number);

/** Scales the visible range around a point: `at` is 0 at the left edge and 1 at the right one. */
function scale(chart: Zoomable, factor: number, at: number, shift = 0): void {
  const to = there(chart);
  const [min, max] = [to(chart.range().min), to(chart.range().max)];
  const [first, last] = [to(chart.whole().min), to(chart.whole().max)];
  const length = Math.min((max - min) * factor, last - first);
  const wanted = min + (max - min - length) * at + shift * (max - min);
  const start = Math.min(Math.max(wanted, first), last - length);
  const from = back(chart);
  chart.zoom({ min: from(start), max: from(start + length) });
}

function keys(event: KeyboardEvent, chart: Zoomable): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const acts: Record<string, () => void> = {
    "+": () => scale(chart, 0.5, 0.5),
    "=": () => scale(chart, 0.5, 0.5),
    "-": () => scale(chart, 2, 0.5),
    ArrowLeft: () => scale(chart, 1, 0.5, -0.2),
    ArrowRight: () => scale(chart, 1, 0.5, 0.2),
    0: () => chart.zoom(chart.whole()),
    Escape: () => chart.zoom(chart.whole()),
  };
  const act = acts[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

/** Lets two fingers spread or move the range. */
function pinch(over: HTMLElement, chart: Zoomable): void {
  const fingers = new Map<number, number>();
  let before: [number, number] | undefined;
  const placed = (): [number, number] => {
    const [a = 0, b = 0] = [...fingers.values()].sort((x, y) => x - y);
    return [a, b];
  };
  over.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "touch") return;
    fingers.set(event.pointerId, event.clientX);
    before = fingers.size === 2 ? placed() : undefined;
  });
  over.addEventListener("pointermove", (event) => {
    if (!fingers.has(event.pointerId)) return;
    fingers.set(event.pointerId, event.clientX);
    if (!before || fingers.size !== 2) return;
    const [now, box] = [placed(), over.getBoundingClientRect()];
    const spread = Math.max(now[1] - now[0], 20) / Math.max(before[1] - before[0], 20);
    const middle = (now[0] + now[1]) / 2;
    scale(chart, 1 / spread, (middle - box.left) / box.width, ((before[0] + before[1]) / 2 - middle) / box.width);
    before = now;
  });
  for (const end of ["pointerup", "pointercancel", "pointerleave"] as const) {
    over.addEventListener(end, (event) => {
      fingers.delete(event.pointerId);
      before = undefined;
    });
  }
}

/** Connects a chart's element with its zoom. The wheel alone zooms only a chart that has the focus, so that pages scroll. */
export function zooms(place: HTMLElement, plot: uPlot, chart: Zoomable): void {
  place.onkeydown = (event) => keys(event, chart);
  plot.over.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && document.activeElement !== place) return;
      event.preventDefault();
      const box = plot.over.getBoundingClientRect();
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        scale(chart, 1, 0.5, (event.deltaX || event.deltaY) / box.width);
      } else {
        scale(chart, 1.002 ** event.deltaY, (event.clientX - box.left) / box.width);
      }
    },
    { passive: false },
  );
  plot.over.addEventListener("mousedown", () => place.focus({ preventScroll: true }));
  plot.over.addEventListener("dblclick", () => chart.zoom(chart.whole()));
  plot.over.style.touchAction = "pan-y";
  pinch(plot.over, chart);
}
