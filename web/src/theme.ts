// Colors, numbers and axes that all charts share.
import type uPlot from "uplot";
import type { Data, Timeline } from "./format";
import { form } from "./marks";
import { Outline } from "./svg";

export const data = JSON.parse(document.getElementById("data")?.textContent ?? "{}") as Data;
const dark = matchMedia("(prefers-color-scheme: dark)");
export const state = { printing: false };
/** Room for the labels of the y axis, the same for all charts of a run, so that their times are aligned. */
export const LEFT = 68;

const onDark = () => dark.matches && !state.printing;
export const ink = () => (onDark() ? "#e8e8e8" : "#1a1a1a");
export const grid = () => (onDark() ? "#33383e" : "#dddddd");
export const paper = () => (onDark() ? "#16181b" : "#ffffff");

/** Shares by which lines of one color are moved toward white in turn; below zero, toward black. */
const SHADES = [0, 0.45, -0.4, 0.6, -0.65, 0.2];

/** Returns the color of a line. */
export function color(index: number, shade = 0): string {
  const colors = onDark() ? data.onDark : data.colors;
  return shaded(colors[index % colors.length] ?? ink(), SHADES[shade % SHADES.length] ?? 0);
}

function shaded(css: string, toward: number): string {
  const parts = [1, 3, 5].map((at) => Number.parseInt(css.slice(at, at + 2), 16));
  const sum = parts.reduce((all, each) => all + each, 0);
  // black can only become lighter, white only darker
  const share = sum === 0 ? Math.abs(toward) : sum > 700 ? -Math.abs(toward) : toward;
  const mixed = parts.map((each) => Math.round(each + ((share > 0 ? 255 : 0) - each) * Math.abs(share)));
  return `#${mixed.map((each) => each.toString(16).padStart(2, "0")).join("")}`;
}

/** Returns the color of drops or of marks, which no algorithm has. */
export const eventColor = (column: string): string =>
  column === "drops" ? (onDark() ? "#ff6b7a" : "#a50026") : onDark() ? "#c4a0f5" : "#6a3d9a";

export const dash = (index: number): number[] => data.dashes[index % data.dashes.length] ?? [];
export const faded = (css: string, alpha: number): string =>
  css +
  Math.round(alpha * 255)
    .toString(16)
    .padStart(2, "0");

export function onTheme(again: () => void): void {
  dark.addEventListener("change", again);
}

/** Formats a value with four digits, and its unit. */
export function measured(value: number | null | undefined, unit: string): string {
  const text = rounded(value);
  return unit && text !== "–" ? `${text} ${unit}` : text;
}

/** Returns the color of a word of a timeline, on the page as it is. */
export const wordColor = (timeline: Timeline, index: number): string =>
  (onDark() ? timeline.wordColorsOnDark : timeline.wordColors)[index] ?? "#969696";

/** Returns the width of one of several lines, the last of which is above the others: where they coincide, all can be seen. */
export const widthOf = (number: number, count: number): number => (count < 2 ? 1 : 1.8 - (0.9 * number) / (count - 1));

/** Formats a value with four digits. */
export function rounded(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return "–";
  return Math.abs(value) >= 1e4 ? Math.round(value).toLocaleString("en") : Number(value.toPrecision(4)).toString();
}

export function axis(label: string, size: number, more: Partial<uPlot.Axis> = {}): uPlot.Axis {
  const line = { stroke: grid(), width: 1 };
  const fonts = { font: "12px sans-serif", labelFont: "12px sans-serif" };
  return {
    label,
    stroke: ink(),
    grid: line,
    ticks: line,
    labelSize: label ? 18 : 0,
    labelGap: 0,
    size,
    gap: 4,
    ...fonts,
    ...more,
  };
}

/** Formats the labels of an axis of time. */
export const inSeconds = (_plot: uPlot, values: number[]): string[] =>
  values.map((value) => `${Number(value.toPrecision(6))} s`);

/** Returns a range for a y axis, which begins at zero unless all values are far from zero. */
export function reach(low: number | null, high: number | null): [number, number] {
  if (low == null || high == null) return [0, 1];
  const room = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
  return [low >= 0 && low < high / 2 ? 0 : low - room, high + room];
}

/** Makes an element with attributes and children. */
export function element<K extends keyof HTMLElementTagNameMap>(
  kind: K,
  attributes: Record<string, string> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Makes the mark of a line in a legend: a piece of it, with its dashes and the form of its points. */
export function swatch(stroke: string, dashes: number[] = [], width = 2, point = -1): SVGSVGElement {
  const space = "http://www.w3.org/2000/svg";
  const mark = document.createElementNS(space, "svg");
  const line = document.createElementNS(space, "line");
  const all = { x1: "0", x2: "26", y1: "4", y2: "4", stroke, "stroke-width": `${width}` };
  for (const [name, value] of Object.entries({ ...all, "stroke-dasharray": dashes.join(" ") })) {
    if (value) line.setAttribute(name, value);
  }
  for (const [name, value] of [
    ["width", "26"],
    ["height", "8"],
    ["aria-hidden", "true"],
  ] as const)
    mark.setAttribute(name, value);
  mark.append(line);
  if (point >= 0) {
    const outline = new Outline();
    form(outline, point, 13, 4, 3);
    const drawn = document.createElementNS(space, "path");
    for (const [name, value] of Object.entries({ d: outline.d, stroke, fill: stroke })) drawn.setAttribute(name, value);
    mark.append(drawn);
  }
  return mark;
}

/** What a legend shows of a line. */
export interface Entry {
  label: string;
  /** Empty for what has its name in the chart: then it is shown with its value only. */
  color: string;
  dash?: number[];
  /** The form of its points; below zero for none. */
  point?: number;
  /** A block in the legend instead of a piece of a line. */
  block?: boolean;
  /** A point in the legend: its form. */
  mark?: string;
}

/** Makes the entry of a legend, with a value if there is one. */
export function entry(each: Entry, value: string): HTMLElement {
  const mark = each.block
    ? element("i", { style: `background:${each.color}` })
    : each.mark === undefined
      ? swatch(each.color, each.dash, 2, each.point)
      : element("b", { class: "mark", style: `color:${each.color}` }, each.mark);
  return element("span", {}, ...(each.color ? [mark] : []), each.label, element("b", {}, value ? ` ${value}` : ""));
}

/** Writes text on a chart that lines below it do not cross. */
export function written(context: CanvasRenderingContext2D, text: string, x: number, y: number, fill: string): void {
  context.save();
  context.setLineDash([]);
  context.strokeStyle = paper();
  context.lineWidth = context.measureText("n").width / 2;
  context.lineJoin = "round";
  context.strokeText(text, x, y);
  context.fillStyle = fill;
  context.fillText(text, x, y);
  context.restore();
}

export function button(text: string, act: () => void, attributes: Record<string, string> = {}): HTMLButtonElement {
  const made = element("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", act);
  return made;
}
