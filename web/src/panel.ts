// A panel of a timeline: its heading, the values under the cursor, and its chart.
import uPlot from "uplot";
import { type Content, lines, stack } from "./content";
import { buttons, type Exported } from "./export";
import type { Panel } from "./format";
import { lanes, spans } from "./lanes";
import { phase } from "./phase";
import { lower } from "./points";
import { axis, button, element, entry, ink, inSeconds, LEFT, reach, state, wordColor } from "./theme";
import type { View } from "./view";
import { type Range, zooms } from "./zoom";

const NEAR = 4; // distance from the pointer within which ticks are counted, in CSS pixels
const PAPER = 690; // the width of A4 with margins, in CSS pixels

export class PanelChart implements Exported {
  readonly box: HTMLElement;
  private readonly place = element("div", { class: "plot", tabindex: "0", role: "application" });
  private readonly values_ = element("p", { class: "values", "aria-live": "off" });
  private readonly words = element("ul", { class: "legend words" });
  private plot: uPlot | undefined;
  private content: Content | undefined;
  private drawing = 0;
  private shape = "";

  constructor(
    readonly panel: Panel,
    readonly view: View,
    private readonly zoomed: (to: Range, near?: Range) => void,
  ) {
    const title = element(
      "h3",
      {},
      panel.title,
      panel.unit ? element("span", { class: "hint" }, ` ${panel.unit}`) : "",
    );
    this.box = element(
      "div",
      { class: "panel", "data-panel": panel.key },
      element("div", { class: "head" }, title, buttons(this)),
    );
    this.place.setAttribute("aria-label", `Chart: ${panel.title}. Plus and minus zoom, arrows move, 0 resets.`);
    this.box.append(this.choice(), this.values_, this.words, this.place);
    const runs = view.runs();
    const labels = view.labels();
    const notes = runs
      .map((run, at) => [run.notes[panel.key], labels[at]])
      .filter(([note]) => note !== undefined)
      .map(([note, label], _, all) => (new Set(all.map(([each]) => each)).size > 1 ? `${label}: ${note}` : `${note}`));
    if (notes.length) this.box.append(element("p", { class: "note" }, [...new Set(notes)].join(" ")));
  }

  private get ofPackets(): boolean {
    return this.panel.curves.some((curve) => curve.style === "points");
  }

  private get range(): Range {
    return (this.ofPackets && this.view.near) || this.view.range;
  }

  /** Returns boxes for the curves of a panel with several, or the buttons of a panel of packets. */
  private choice(): HTMLElement {
    const { panel, view } = this;
    const place = element("div", { class: "curves" });
    const curves = view.optional(panel);
    if (curves.length > 1) {
      for (const curve of curves) {
        const box = element("input", { type: "checkbox", name: `${panel.key} ${curve.column}` });
        box.checked = !view.isOff(panel, curve);
        box.addEventListener("change", () => {
          view.turn(panel, curve, !box.checked);
          this.draw();
        });
        place.append(element("label", {}, box, ` ${view.title(curve.column)}`));
      }
    }
    const alone = view.alone(panel);
    if (alone.length > 1) {
      for (const name of [...alone, ""]) {
        const box = element("input", { type: "radio", name: `${panel.key}-${view.number}` });
        box.checked = name === view.flowOf(panel);
        box.addEventListener("change", () => {
          view.flow = name;
          this.draw();
        });
        place.append(element("label", {}, box, ` ${name || "all flows"}`));
      }
    }
    const only = view.runOf(panel);
    view.runs().forEach((run, number) => {
      if (!only) return;
      const box = element("input", { type: "radio", name: `${panel.key}-${view.number}` });
      box.checked = run === only;
      box.addEventListener("change", () => {
        view.run = run;
        this.draw();
      });
      place.append(element("label", {}, box, ` ${view.labels()[number]}`));
    });
    if (this.ofPackets && view.nearest()) {
      place.append(
        button("Single packets", () => this.zoomed(view.range, view.nearest()), { class: "near" }),
        button("Whole run", () => this.zoomed(view.whole()), { class: "far" }),
      );
    }
    return place;
  }

  get title(): string {
    return this.panel.title + (this.panel.unit ? `, ${this.panel.unit}` : "");
  }

  get legend(): [string, string][] {
    const words = this.view.timeline.words;
    const named = (this.content?.words ?? []).map((word): [string, string] => [
      word,
      wordColor(this.view.timeline, words.indexOf(word)),
    ]);
    const drawn = (this.content?.drawn ?? []).filter((each) => each.color);
    return [...drawn.map((each): [string, string] => [each.label, each.color]), ...named];
  }

  values(): uPlot.AlignedData {
    return this.content?.data ?? [[]];
  }

  private read(): Promise<Content> | Content {
    const { panel, view } = this;
    if (panel.stays) return lanes(panel, view);
    if (panel.view === "spans") return spans(view);
    if (panel.view === "stack") return stack(panel, view);
    return panel.view === "phase" ? phase(panel, view) : lines(panel, view, this.range);
  }

  /** Reads the points of the visible range and draws them; the latest call wins. */
  async draw(): Promise<void> {
    this.drawing++;
    const mine = this.drawing;
    const content = await this.read();
    if (mine !== this.drawing) return;
    const empty = content.drawn.length === 0;
    this.box.hidden = empty;
    if (empty) return;
    this.content = content;
    const shape = `${content.height} ${content.series.map((each) => `${each.label}${each.stroke}`).join()} ${content.drawn.length}`;
    if (this.plot && shape === this.shape && content.mode !== 2) {
      this.plot.batch(() => {
        this.plot?.setData(content.data, false);
        this.plot?.setScale("x", this.range);
      });
    } else {
      this.make(content);
    }
    this.shape = shape;
    this.say();
  }

  private make(content: Content): void {
    this.plot?.destroy();
    const width = state.printing ? PAPER : this.place.clientWidth || 600;
    const plot = new uPlot(this.options(width, content.height), content.data, this.place);
    this.plot = plot;
    const phase = content.mode === 2;
    zooms(this.place, plot, {
      range: () => this.range,
      whole: () => this.view.whole(),
      zoom: (to) => this.zoomed(to),
    });
    if (phase) plot.over.style.pointerEvents = "none";
    const names = new Set(content.words ?? []);
    this.words.replaceChildren(
      ...this.view.timeline.words
        .map((word, at) => [word, wordColor(this.view.timeline, at)] as const)
        .filter(([word]) => names.has(word))
        .map(([word, color]) => element("li", {}, element("i", { style: `background:${color}` }), word)),
    );
    this.show(null);
  }

  options(width: number, height: number): uPlot.Options {
    const content = this.content;
    if (!content) throw new Error("nothing is drawn yet");
    const phase = content.mode === 2;
    const range: uPlot.Range.Function = content.y.range ?? ((_, low, high) => reach(low, high));
    const x: uPlot.Scale = phase
      ? { time: false, range: () => content.x?.range ?? [0, 1] }
      : { time: false, range: () => [this.range.min, this.range.max] };
    const facets = {
      facets: [
        { scale: "x", auto: true },
        { scale: "y", auto: true },
      ],
    };
    return {
      width,
      height,
      mode: content.mode ?? 1,
      scales: { x, y: { range } },
      axes: [
        axis(content.x?.label ?? "", content.x ? 32 : 24, content.x ? {} : { values: inSeconds }),
        axis("", LEFT, content.y.axis),
      ],
      series: [
        phase ? (null as unknown as uPlot.Series) : {},
        ...content.series.map((each) => (phase ? { ...each, ...facets } : each)),
      ],
      bands: content.bands ?? [],
      padding: [8, 24, 0, 0],
      cursor: {
        drag: { x: true, y: false, setScale: false },
        points: { show: false },
        ...(phase ? {} : { sync: { key: `timeline-${this.view.number}`, setSeries: false } }),
        bind: { dblclick: () => null },
      },
      legend: { show: false },
      hooks: {
        drawClear: [(plot) => this.clipped(plot, () => this.content?.below?.(plot))],
        draw: [(plot) => this.clipped(plot, () => this.marks(plot))],
        setCursor: [
          (plot) => this.show(phase || (plot.cursor.left ?? -1) < 0 ? null : plot.posToVal(plot.cursor.left ?? 0, "x")),
        ],
        setSelect: [(plot) => this.select(plot)],
      },
    };
  }

  private clipped(plot: uPlot, draw: () => void): void {
    const { left, top, width, height } = plot.bbox;
    plot.ctx.save();
    plot.ctx.beginPath();
    plot.ctx.rect(left, top, width, height);
    plot.ctx.clip();
    draw();
    plot.ctx.restore();
  }

  /** Draws what is above the lines: bars, ticks, upright lines, and names on these. */
  private marks(plot: uPlot): void {
    this.content?.above?.(plot);
    if (this.content?.mode !== 2) this.upright(plot);
    this.content?.names?.(plot);
  }

  /** Draws lines at changes of the path, and at the start of measuring. */
  private upright(plot: uPlot): void {
    const context = plot.ctx;
    context.strokeStyle = ink();
    context.globalAlpha = 0.55;
    context.lineWidth = uPlot.pxRatio;
    for (const run of this.view.runs()) {
      const times: [number, number[]][] = run.changes.map((change) => [change.time, [2, 3]]);
      if (run.measureFrom > 0) times.push([run.measureFrom, [8, 4]]);
      for (const [time, dashes] of times) {
        const x = Math.round(plot.valToPos(time, "x", true));
        context.setLineDash(dashes.map((each) => each * uPlot.pxRatio));
        context.beginPath();
        context.moveTo(x, plot.bbox.top);
        context.lineTo(x, plot.bbox.top + plot.bbox.height);
        context.stroke();
      }
    }
    context.globalAlpha = 1;
    context.setLineDash([]);
  }

  private select(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width < 4) return;
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.zoomed({ min: plot.posToVal(left, "x"), max: plot.posToVal(left + width, "x") });
  }

  /** Shows the values at a time; without a time, the legend. */
  private show(time: number | null): void {
    const { min, max } = this.range;
    const within = (NEAR * (max - min)) / (this.plot?.over.clientWidth || 600);
    const entries = (this.content?.drawn ?? [])
      .filter((each) => each.color || time !== null)
      .map((each) => entry(each, time === null ? "" : each.valueAt(time, within)));
    const at = time === null ? "" : `${Number(time.toPrecision(5))} s`;
    this.values_.replaceChildren(element("span", { class: "time" }, at), ...entries);
  }

  /** Describes the visible range for screen readers. */
  private say(): void {
    const { min, max } = this.range;
    this.place.setAttribute(
      "aria-description",
      `time, s from ${Number(min.toPrecision(4))} to ${Number(max.toPrecision(4))}`,
    );
  }

  /** Returns the values of all lines within the visible range, a row for each point. */
  async rows(): Promise<string[][]> {
    if (this.content?.rows) return this.content.rows();
    const rows = [["line", "time, s", this.title]];
    const { min, max } = this.range;
    for (const { label, line } of this.content?.drawn ?? []) {
      if (!line) continue;
      for (let at = lower(line.x, min); at < line.x.length && (line.x[at] ?? 0) <= max; at++) {
        rows.push([label, `${line.x[at]}`, `${line.y[at]}`]);
      }
    }
    if (rows.length === 1 && this.panel.stays)
      rows.splice(0, 1, ["flow", "word", "since, s", "till, s"], ...this.stays());
    return rows;
  }

  private stays(): string[][] {
    return this.view.sources("flow").flatMap(({ label, source }) => {
      const stays = source.stays[this.panel.stays];
      const words = this.view.timeline.words;
      return (stays?.word ?? []).map((word, at) => [
        label,
        words[word] ?? "",
        `${stays?.since[at]}`,
        `${stays?.till[at]}`,
      ]);
    });
  }

  resize(): void {
    this.plot?.setSize({ width: this.place.clientWidth, height: this.content?.height ?? 200 });
  }

  again(): void {
    this.shape = "";
    this.draw();
  }

  destroy(): void {
    this.drawing++;
    this.plot?.destroy();
  }
}
