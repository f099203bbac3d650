// The charts of a run over time, with a pinned run behind it.
import uPlot from "uplot";
import { axis, element, entry, eventColor, faded, ink, inSeconds, LEFT, reach, widthOf } from "../theme";
import { flowColor, flowDash } from "./colors";
import type { Described, Shown } from "./format";
import { type Events, events, isTraced, type Line, MOST, ofColumn, queues, rates, windows } from "./lines";
import { bandOptions, drawBands, heightOf, legend, type Stays, staysOf, told } from "./states";

interface Kind {
  title: string;
  unit: string;
  lines: (shown: Shown, pinned: boolean) => Line[];
}

const KINDS: Kind[] = [
  { title: "Throughput", unit: "Mbit/s", lines: rates },
  { title: "Congestion window", unit: "kB", lines: windows },
  { title: "RTT", unit: "ms", lines: (shown, pinned) => ofColumn(shown, "rtt", 1e3, pinned) },
  { title: "Queue", unit: "kB", lines: queues },
];
const QUEUE = 3;
/** The place of the states among the charts: below the two that they explain. */
const STATES = 2;
const HEIGHT = 190;

/** What captions say of lines beside the chart's own. */
const SAID = { inflight: "pale: data in flight", bdp: "dotted: BDP", rate: "dashed: link rate", value: "" };
const STYLES: Record<Line["kind"], { dash: number[]; width: number }> = {
  value: { dash: [], width: 1.5 },
  inflight: { dash: [], width: 1 },
  rate: { dash: [5, 3], width: 1 },
  bdp: { dash: [1.5, 2.5], width: 1.5 },
};

interface Place {
  plot: HTMLElement;
  note: HTMLElement;
}

export class Charts {
  private plots: (uPlot | undefined)[] = [];
  private signatures: string[] = [];
  private readonly places: Place[];
  private readonly states: Place;
  private readonly words = element("p", { class: "legend words" });
  private bands?: uPlot;
  private stays: Stays[] = [];
  private events: Events[] = [];
  private now?: Described;
  private pinned?: Described;
  /** The time that charts mark. */
  at = 0;

  constructor(
    place: HTMLElement,
    private readonly chosen: (time: number) => void,
  ) {
    const figure = (title: string, label: string, attributes: Record<string, string> = {}): [HTMLElement, Place] => {
      const plot = element("div", { class: "plot", role: "img", "aria-label": `${label} over time` });
      const note = element("small", {});
      return [element("figure", attributes, element("figcaption", {}, title, " ", note), plot), { plot, note }];
    };
    const made = KINDS.map(({ title, unit }) => figure(`${title}, ${unit}`, title));
    const [states, at] = figure("States", "States", { class: "states" });
    states.append(this.words);
    this.states = at;
    this.places = made.map(([, place]) => place);
    place.append(...made.map(([each]) => each));
    place.insertBefore(states, place.children[STATES] ?? null);
  }

  draw(now: Shown, pinned: Shown | null): void {
    [this.now, this.pinned, this.events] = [now.described, pinned?.described, events(now)];
    KINDS.forEach(({ lines }, number) => {
      const all = [...(pinned ? lines(pinned, true) : []), ...lines(now, false)].filter((line) => line.time.length > 1);
      if (!all.length) return;
      const data = uPlot.join(all.map((line) => [line.time, line.values] as uPlot.AlignedData));
      const signature = JSON.stringify([
        now.described.duration_s,
        all.map((line) => [line.label, line.flow, line.pinned, line.kind]),
        now.described.flows.map((flow) => flow.cc),
      ]);
      this.caption(number, all);
      const plot = this.plots[number];
      if (plot && this.signatures[number] === signature) {
        plot.setData(data);
        return;
      }
      plot?.destroy();
      this.signatures[number] = signature;
      this.plots[number] = this.make(number, all, data, now.described.duration_s);
    });
    this.drawStates(now, pinned);
  }

  /** Says behind a title what lines beside the chart's own and ticks are. */
  private caption(number: number, lines: Line[]): void {
    const place = this.places[number] as Place;
    const said = new Set(lines.map(({ kind }) => SAID[kind]).filter(Boolean));
    const [all, drawn] = [
      this.now?.flows.length ?? 0,
      new Set(lines.map(({ flow }) => flow).filter((flow) => flow >= 0)),
    ];
    if (number !== QUEUE && all > MOST) said.add(`${drawn.size} of ${all} flows`);
    if (KINDS[number]?.lines === windows && isTraced(this.now?.scenario.path))
      said.add("no BDP: the delay follows a trace");
    const parts: (Node | string)[] = said.size ? [[...said].join(", ")] : [];
    let label = `${KINDS[number]?.title} over time`;
    if (number === QUEUE) {
      for (const { name, count } of this.events) {
        if (count) parts.push(entry({ label: name, color: eventColor(name), block: true }, ""), " ");
      }
      // The table of results has those of the time that is measured.
      label += `: ${this.events.map(words).join(", ")} in the whole run`;
    }
    const now = parts.map((part) => (typeof part === "string" ? part : (part as HTMLElement).outerHTML)).join("");
    if (now !== place.note.innerHTML) place.note.replaceChildren(...parts);
    place.plot.setAttribute("aria-label", said.size ? `${label}; ${[...said].join(", ")}` : label);
  }

  private drawStates(now: Shown, pinned: Shown | null): void {
    const before = this.stays;
    this.stays = [...staysOf(now, false), ...(pinned ? staysOf(pinned, true) : [])];
    const { plot, note } = this.states;
    const figure = plot.parentElement as HTMLElement;
    figure.hidden = this.stays.length === 0;
    if (figure.hidden) {
      // It has no width until it is shown again.
      this.bands?.destroy();
      this.bands = undefined;
      return;
    }
    const [shown, flows] = [this.stays.filter((each) => !each.pinned).length, now.described.flows.length];
    note.textContent = shown < flows ? `of ${shown} of ${flows} flows` : "";
    plot.setAttribute("aria-label", told(this.stays));
    this.legend();
    const names = (rows: Stays[]) => rows.map(({ label }) => label).join("\n");
    const end = now.described.duration_s;
    if (this.bands && names(before) === names(this.stays) && this.bands.scales.x?.max === end) {
      this.bands.redraw();
      return;
    }
    this.bands?.destroy();
    const empty: uPlot.AlignedData = [
      [0, end],
      [null, null],
    ];
    const range = (from: number, to: number): uPlot.Range.MinMax => [from, to];
    const options: uPlot.Options = {
      ...this.frame(plot, (drawn) => drawBands(drawn, this.stays)),
      ...bandOptions(this.stays),
      scales: { x: { time: false, range: range(0, end) }, y: { range: range(0, this.stays.length) } },
    };
    this.bands = this.place(options, empty, plot);
  }

  private legend(): void {
    const made = legend(this.stays);
    const same = made.map((each) => each.outerHTML).join("") === this.words.innerHTML;
    if (!same) this.words.replaceChildren(...made);
  }

  /** Returns what all charts share. */
  private frame(place: HTMLElement, draw: (plot: uPlot) => void) {
    return {
      width: place.clientWidth,
      height: HEIGHT,
      cursor: { sync: { key: "explore" }, y: false },
      hooks: {
        draw: [
          (plot: uPlot) => {
            draw(plot);
            const x = plot.valToPos(this.at, "x", true);
            plot.ctx.fillStyle = faded(ink(), 0.35);
            plot.ctx.fillRect(x, plot.bbox.top, 2, plot.bbox.height);
          },
        ],
      },
    };
  }

  private place(options: uPlot.Options, data: uPlot.AlignedData, place: HTMLElement): uPlot {
    const plot = new uPlot(options, data, place);
    plot.over.addEventListener("click", () => this.chosen(plot.posToVal(plot.cursor.left ?? 0, "x")));
    return plot;
  }

  private make(number: number, lines: Line[], data: uPlot.AlignedData, duration: number): uPlot {
    const place = (this.places[number] as Place).plot;
    const stepped = uPlot.paths.stepped?.({ align: 1 });
    const frame = this.frame(place, (plot) => {
      if (number === QUEUE) this.drawEvents(plot);
    });
    // The ticks of drops and marks are above the line of a full queue.
    const room = (high: number | null) => (number === QUEUE && high !== null ? high * 1.12 : high);
    const options: uPlot.Options = {
      ...frame,
      legend: { live: false },
      scales: {
        x: { time: false, range: [0, duration] },
        y: { range: (_, low, high) => reach(low, room(high)) },
      },
      axes: [axis("", 28, { values: inSeconds }), axis("", LEFT - 14)],
      series: [
        {},
        ...lines.map((line) => ({
          label: line.pinned ? `${line.label}, pinned` : line.label,
          stroke: () => this.color(line),
          ...STYLES[line.kind],
          ...this.ownStyle(line, lines),
          ...(line.pinned ? { dash: [6, 4], width: 1 } : {}),
          ...(line.kind === "rate" || line.kind === "bdp" ? { paths: stepped } : {}),
          ...(line.kind === "inflight" ? { class: "beside" } : {}),
          spanGaps: true,
          points: { show: false },
        })),
      ],
      hooks: {
        ...frame.hooks,
        setSeries: [
          (plot, series, { show }) => {
            // Data in flight has no entry in the legend: it is shown with its flow's window.
            const of = lines[(series ?? 0) - 1];
            const beside = lines.findIndex((each) => each.kind === "inflight" && each.flow === of?.flow);
            if (show === undefined || of?.kind !== "value" || of.pinned || beside < 0) return;
            plot.setSeries(beside + 1, { show });
          },
        ],
      },
    };
    return this.place(options, data, place);
  }

  /** Returns dashes and width of a flow's line: where lines coincide, the first one is seen at the edges of the last. */
  private ownStyle(line: Line, lines: Line[]): { dash?: number[]; width?: number } {
    if (line.kind !== "value" || line.flow < 0 || line.pinned || !this.now) return {};
    const own = lines.filter((each) => each.kind === "value" && each.flow >= 0 && !each.pinned);
    return { dash: flowDash(this.now, line.flow), width: 1.5 * widthOf(own.indexOf(line), own.length) };
  }

  /** Draws a tick where packets were dropped or marked. */
  private drawEvents(plot: uPlot): void {
    const [ratio, { left, width, top }] = [uPlot.pxRatio, plot.bbox];
    const seen = this.events.filter(({ count }) => count > 0);
    seen.forEach(({ name, spans }, row) => {
      plot.ctx.fillStyle = eventColor(name);
      for (const [from, till] of spans) {
        const x0 = plot.valToPos(from, "x", true);
        const x1 = Math.min(plot.valToPos(till, "x", true), left + width);
        plot.ctx.fillRect(x0, top + (1 + 7 * row) * ratio, Math.max(x1 - x0, 1.5 * ratio), 6 * ratio);
      }
    });
  }

  private color(line: Line): string {
    const of = line.pinned ? this.pinned : this.now;
    const own = of ? flowColor(of, line.flow) : ink();
    if (line.pinned) return faded(own, 0.6);
    if (line.flow < -1 && line.kind === "value") return faded(own, 0.5);
    return line.kind === "inflight" ? faded(own, 0.6) : line.kind === "value" ? own : faded(own, 0.65);
  }

  /** Marks a time. */
  mark(at: number): void {
    // Packets that arrive for the time shown change no chart.
    if (at === this.at) return;
    this.at = at;
    for (const plot of [...this.plots, this.bands]) plot?.redraw(false);
  }

  resize(): void {
    this.plots.forEach((plot, number) => {
      plot?.setSize({ width: this.places[number]?.plot.clientWidth ?? 300, height: HEIGHT });
    });
    this.bands?.setSize({ width: this.states.plot.clientWidth, height: heightOf(this.stays) });
  }

  again(): void {
    this.legend();
    for (const plot of [...this.plots, this.bands]) plot?.redraw();
  }
}

const words = ({ name, count }: Events) => `${count} ${count === 1 ? name.slice(0, -1) : name}`;
