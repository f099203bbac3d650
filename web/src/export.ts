// Saves a chart as PNG, SVG or CSV.
import uPlot from "uplot";
import { SvgContext, traced } from "./svg";
import { button, element, ink, paper } from "./theme";

export interface Exported {
  title: string;
  /** Labels and colors of the lines. */
  legend: [string, string][];
  options(width: number, height: number): uPlot.Options;
  values(): uPlot.AlignedData;
  rows(): string[][] | Promise<string[][]>;
}

const [WIDTH, HEIGHT] = [1280, 720]; // 16:9, for slides
const ROW = 20;

function save(chart: Exported, ending: string, content: Blob): void {
  const name = chart.title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
  const link = element("a", { download: `${name || "chart"}.${ending}`, href: URL.createObjectURL(content) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

type Context = Pick<CanvasRenderingContext2D, "fillText" | "fillRect" | "measureText"> & {
  fillStyle: unknown;
  font: string;
  textAlign: string;
  textBaseline: string;
};

/** Draws title and legend above a chart, and returns their height. */
function head(chart: Exported, context: Context): number {
  context.textAlign = "left";
  context.textBaseline = "alphabetic";
  context.fillStyle = ink();
  context.font = "20px sans-serif";
  context.fillText(chart.title, 16, 28);
  context.font = "14px sans-serif";
  let [x, y] = [16, 51];
  for (const [label, color] of chart.legend) {
    const width = 24 + context.measureText(label).width;
    if (x > 16 && x + width > WIDTH - 16) [x, y] = [16, y + ROW];
    context.fillStyle = color;
    context.fillRect(x, y - 7, 18, 4);
    context.fillStyle = ink();
    context.fillText(label, x + 24, y);
    x += width + 24;
  }
  return y + 13;
}

function still(chart: Exported, height: number): uPlot.Options {
  const options = chart.options(WIDTH, height);
  return { ...options, cursor: { show: false }, legend: { show: false } };
}

export async function svg(chart: Exported): Promise<string> {
  const above = new SvgContext(element("canvas"));
  above.fillStyle = paper();
  above.fillRect(0, 0, WIDTH, HEIGHT);
  const top = head(chart, above as unknown as Context);
  const height = HEIGHT - top;
  let plot: uPlot | undefined;
  const context = await traced(() => {
    plot = new uPlot(still(chart, height), chart.values(), document.createElement("div"));
  });
  plot?.destroy();
  if (!context) throw new Error("the browser gives no canvas");
  const ratio = uPlot.pxRatio;
  const inner = context
    .text(WIDTH * ratio, height * ratio)
    .replace(/^<svg /, `<svg x="0" y="${top}" `)
    .replace(/ width="[\d.]+" height="[\d.]+"/, ` width="${WIDTH}" height="${height}"`);
  return above.text(WIDTH, HEIGHT).replace(/<\/svg>\n$/, `${inner}</svg>\n`);
}

async function png(chart: Exported): Promise<Blob | null> {
  const ratio = uPlot.pxRatio;
  const canvas = element("canvas", { width: `${WIDTH * ratio}`, height: `${HEIGHT * ratio}` });
  const context = canvas.getContext("2d");
  if (!context) return null;
  context.scale(ratio, ratio);
  context.fillStyle = paper();
  context.fillRect(0, 0, WIDTH, HEIGHT);
  const top = head(chart, context as unknown as Context);
  const box = document.body.appendChild(element("div", { class: "unseen" }));
  const plot = new uPlot(still(chart, HEIGHT - top), chart.values(), box);
  await new Promise((done) => requestAnimationFrame(done));
  context.drawImage(plot.ctx.canvas, 0, top, WIDTH, HEIGHT - top);
  plot.destroy();
  box.remove();
  return new Promise((done) => canvas.toBlob(done));
}

/** Quotes a field as RFC 4180 says. */
const field = (text: string): string => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

export async function csv(chart: Exported): Promise<string> {
  const rows = await chart.rows();
  return rows.map((row) => `${row.map(field).join(",")}\r\n`).join("");
}

/** Returns the buttons that save a chart. */
export function buttons(chart: Exported): HTMLElement {
  const name = chart.title;
  const made = (ending: string, content: () => Promise<Blob | null>) =>
    button(ending.toUpperCase(), () => content().then((each) => each && save(chart, ending, each)), {
      "aria-label": `Save "${name}" as ${ending.toUpperCase()}`,
    });
  return element(
    "span",
    { class: "exports" },
    made("png", () => png(chart)),
    made("svg", async () => new Blob([await svg(chart)], { type: "image/svg+xml" })),
    made("csv", async () => new Blob([await csv(chart)], { type: "text/csv" })),
  );
}
