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

const [WIDTH, HEIGHT, HEAD] = [1280, 720, 64]; // 16:9, for slides

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

/** Draws title and legend above a chart. */
function head(chart: Exported, context: Context): void {
  context.textAlign = "left";
  context.textBaseline = "alphabetic";
  context.fillStyle = ink();
  context.font = "20px sans-serif";
  context.fillText(chart.title, 16, 28);
  context.font = "14px sans-serif";
  let x = 16;
  for (const [label, color] of chart.legend) {
    context.fillStyle = color;
    context.fillRect(x, 44, 18, 4);
    context.fillStyle = ink();
    context.fillText(label, x + 24, 51);
    x += 48 + context.measureText(label).width;
  }
}

function still(chart: Exported): uPlot.Options {
  const options = chart.options(WIDTH, HEIGHT - HEAD);
  return { ...options, cursor: { show: false }, legend: { show: false } };
}

export async function svg(chart: Exported): Promise<string> {
  let plot: uPlot | undefined;
  const context = await traced(() => {
    plot = new uPlot(still(chart), chart.values(), document.createElement("div"));
  });
  plot?.destroy();
  if (!context) throw new Error("the browser gives no canvas");
  const ratio = uPlot.pxRatio;
  const drawn = context.text(WIDTH * ratio, (HEIGHT - HEAD) * ratio);
  const above = new SvgContext(context.canvas);
  above.fillStyle = paper();
  above.fillRect(0, 0, WIDTH, HEIGHT);
  head(chart, above as unknown as Context);
  const inner = drawn
    .replace(/^<svg /, `<svg x="0" y="${HEAD}" `)
    .replace(/ width="\d+" height="\d+"/, ` width="${WIDTH}" height="${HEIGHT - HEAD}"`);
  return above.text(WIDTH, HEIGHT).replace(/<\/svg>\n$/, `${inner}</svg>\n`);
}

async function png(chart: Exported): Promise<Blob | null> {
  const box = document.body.appendChild(element("div", { class: "unseen" }));
  const plot = new uPlot(still(chart), chart.values(), box);
  await new Promise((done) => requestAnimationFrame(done));
  const ratio = plot.ctx.canvas.width / WIDTH;
  const canvas = element("canvas", { width: `${WIDTH * ratio}`, height: `${HEIGHT * ratio}` });
  const context = canvas.getContext("2d");
  if (!context) return null;
  context.scale(ratio, ratio);
  context.fillStyle = paper();
  context.fillRect(0, 0, WIDTH, HEIGHT);
  head(chart, context as unknown as Context);
  context.drawImage(plot.ctx.canvas, 0, HEAD, WIDTH, HEIGHT - HEAD);
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
