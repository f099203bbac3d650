// Draws a chart as SVG: a canvas context that writes elements, for uPlot to draw on.

type Point = [number, number];
const number = (value: number): string => Number(value.toFixed(2)).toString();
const escaped = (text: string): string => text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);

/** Writes the commands of a path as the attribute `d`. */
export class Outline {
  d = "";
  moveTo(x: number, y: number): void {
    this.d += `M${number(x)} ${number(y)}`;
  }
  /** As on a canvas, the first point begins the path; an outline that begins with L is not drawn at all. */
  lineTo(x: number, y: number): void {
    this.d += `${this.d ? "L" : "M"}${number(x)} ${number(y)}`;
  }
  bezierCurveTo(a: number, b: number, c: number, d: number, x: number, y: number): void {
    this.d += `C${[a, b, c, d, x, y].map(number).join(" ")}`;
  }
  rect(x: number, y: number, width: number, height: number): void {
    this.d += `M${number(x)} ${number(y)}h${number(width)}v${number(height)}h${number(-width)}z`;
  }
  arc(x: number, y: number, radius: number, from: number, to: number): void {
    const [r, full] = [number(radius), Math.abs(to - from) >= 2 * Math.PI - 1e-6];
    if (full) {
      this.d += `M${number(x - radius)} ${number(y)}a${r} ${r} 0 1 0 ${number(2 * radius)} 0a${r} ${r} 0 1 0 ${number(-2 * radius)} 0z`;
      return;
    }
    const at = (angle: number): Point => [x + radius * Math.cos(angle), y + radius * Math.sin(angle)];
    const [begin, end] = [at(from), at(to)];
    this.d += `${this.d ? "L" : "M"}${begin.map(number).join(" ")}A${r} ${r} 0 ${to - from > Math.PI ? 1 : 0} 1 ${end.map(number).join(" ")}`;
  }
  closePath(): void {
    this.d += "z";
  }
  addPath(other: { outline?: Outline }): void {
    this.d += other.outline?.d ?? "";
  }
}

const NativePath = window.Path2D;
const COMMANDS = ["moveTo", "lineTo", "bezierCurveTo", "rect", "arc", "closePath", "addPath"] as const;

/** A path that canvases can draw and that also has its outline as text. */
class TracedPath extends NativePath {
  readonly outline = new Outline();

  constructor(from?: Path2D | string) {
    super(from);
    if (from instanceof TracedPath) this.outline.d = from.outline.d;
  }
}
for (const command of COMMANDS) {
  const native = NativePath.prototype[command] as (...given: never[]) => void;
  Object.defineProperty(TracedPath.prototype, command, {
    value(this: TracedPath, ...given: never[]) {
      (this.outline[command] as (...given: never[]) => void)(...given);
      native.apply(this, given);
    },
  });
}

interface State {
  fillStyle: string;
  strokeStyle: string;
  lineWidth: number;
  font: string;
  textAlign: string;
  textBaseline: string;
  globalAlpha: number;
  lineDash: number[];
  transform: string;
  clip: string;
}

/** The part of a canvas context that uPlot and our own drawing use. */
export class SvgContext {
  fillStyle = "#000";
  strokeStyle = "#000";
  lineWidth = 1;
  font = "12px sans-serif";
  textAlign = "start";
  textBaseline = "alphabetic";
  globalAlpha = 1;
  lineJoin = "";
  lineCap = "";
  private lineDash: number[] = [];
  private transform = "";
  private clipped = "";
  private readonly saved: State[] = [];
  private path = new Outline();
  private clips = 0;
  private readonly written: string[] = [];
  private readonly measure = document.createElement("canvas").getContext("2d");

  constructor(readonly canvas: HTMLCanvasElement) {}

  text(width: number, height: number): string {
    const size = `viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`;
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="sans-serif">${this.written.join("\n")}</svg>\n`;
  }

  save(): void {
    const { fillStyle, strokeStyle, lineWidth, font, textAlign, textBaseline, globalAlpha } = this;
    const { lineDash, transform, clipped: clip } = this;
    this.saved.push({
      fillStyle,
      strokeStyle,
      lineWidth,
      font,
      textAlign,
      textBaseline,
      globalAlpha,
      lineDash,
      transform,
      clip,
    });
  }
  restore(): void {
    const { lineDash, transform, clip, ...rest } = this.saved.pop() ?? {};
    Object.assign(this, rest);
    this.lineDash = lineDash ?? [];
    this.transform = transform ?? "";
    this.clipped = clip ?? "";
  }
  translate(x: number, y: number): void {
    const last = /translate\((\S+) (\S+)\)$/.exec(this.transform);
    const [a, b] = [x + Number(last?.[1] ?? 0), y + Number(last?.[2] ?? 0)];
    this.transform = this.transform.slice(0, last?.index);
    if (a || b) this.transform += `translate(${number(a)} ${number(b)})`;
  }
  rotate(angle: number): void {
    this.transform += `rotate(${number((angle * 180) / Math.PI)})`;
  }
  scale(x: number, y: number): void {
    this.transform += `scale(${x} ${y})`;
  }
  setTransform(): void {
    this.transform = "";
  }
  setLineDash(dash: number[]): void {
    this.lineDash = [...dash];
  }
  beginPath(): void {
    this.path = new Outline();
  }
  moveTo(x: number, y: number): void {
    this.path.moveTo(x, y);
  }
  lineTo(x: number, y: number): void {
    this.path.lineTo(x, y);
  }
  rect(x: number, y: number, width: number, height: number): void {
    this.path.rect(x, y, width, height);
  }
  arc(x: number, y: number, radius: number, from: number, to: number): void {
    this.path.arc(x, y, radius, from, to);
  }
  closePath(): void {
    this.path.closePath();
  }
  clip(path?: TracedPath): void {
    const d = (path?.outline ?? this.path).d;
    if (!d) return;
    this.clips++;
    const within = this.clipped ? ` clip-path="url(#${this.clipped})"` : "";
    this.written.push(`<clipPath id="c${this.clips}"${within}><path d="${d}"/></clipPath>`);
    this.clipped = `c${this.clips}`;
  }
  clearRect(): void {}
  drawImage(): void {}
  stroke(path?: TracedPath): void {
    const d = (path?.outline ?? this.path).d;
    if (!d || this.strokeStyle === "transparent" || this.lineWidth === 0) return;
    const dashes = this.lineDash.length ? ` stroke-dasharray="${this.lineDash.join(" ")}"` : "";
    this.add(
      `<path d="${d}" fill="none" stroke="${this.strokeStyle}" stroke-width="${number(this.lineWidth)}"${dashes}`,
    );
  }
  fill(path?: TracedPath): void {
    const d = (path?.outline ?? this.path).d;
    if (d && this.fillStyle !== "transparent") this.add(`<path d="${d}" fill="${this.fillStyle}"`);
  }
  fillRect(x: number, y: number, width: number, height: number): void {
    const size = `width="${number(width)}" height="${number(height)}"`;
    this.add(`<rect x="${number(x)}" y="${number(y)}" ${size} fill="${this.fillStyle}"`);
  }
  fillText(text: string, x: number, y: number): void {
    const anchor = { center: "middle", right: "end", end: "end" }[this.textAlign] ?? "start";
    const size = /([\d.]+)px/.exec(this.font)?.[1] ?? "12";
    const baseline = { top: "hanging", middle: "central", bottom: "text-after-edge" }[this.textBaseline];
    const line = baseline ? ` dominant-baseline="${baseline}"` : "";
    const place = `x="${number(x)}" y="${number(y)}" text-anchor="${anchor}"${line}`;
    this.add(`<text ${place} font-size="${size}" fill="${this.fillStyle}"`, `${escaped(text)}</text>`);
  }
  strokeText(text: string, x: number, y: number): void {
    const { fillStyle } = this;
    const outline = ` stroke="${this.strokeStyle}" stroke-width="${number(this.lineWidth)}" stroke-linejoin="round"`;
    this.fillStyle = `${this.strokeStyle}"${outline} class="halo`;
    this.fillText(text, x, y);
    this.fillStyle = fillStyle;
  }
  measureText(text: string): TextMetrics | { width: number } {
    if (!this.measure) return { width: 7 * text.length };
    this.measure.font = this.font;
    return this.measure.measureText(text);
  }

  private add(open: string, rest?: string): void {
    const alpha = this.globalAlpha < 1 ? ` opacity="${number(this.globalAlpha)}"` : "";
    const turned = this.transform ? ` transform="${this.transform}"` : "";
    const tag = `${open}${alpha}${turned}${rest === undefined ? "/>" : `>${rest}`}`;
    this.written.push(this.clipped ? `<g clip-path="url(#${this.clipped})">${tag}</g>` : tag);
  }
}

/** Calls `draw` while new canvases give a context that writes SVG, and returns the first such context. */
export async function traced(draw: () => void): Promise<SvgContext | undefined> {
  let made: SvgContext | undefined;
  const native = HTMLCanvasElement.prototype.getContext;
  window.Path2D = TracedPath;
  HTMLCanvasElement.prototype.getContext = function (this: HTMLCanvasElement, ...given: Parameters<typeof native>) {
    if (made) return native.apply(this, given);
    HTMLCanvasElement.prototype.getContext = native;
    made = new SvgContext(this);
    return made;
  } as typeof native;
  try {
    draw();
    await new Promise((done) => requestAnimationFrame(done));
  } finally {
    HTMLCanvasElement.prototype.getContext = native;
    window.Path2D = NativePath;
  }
  return made;
}
