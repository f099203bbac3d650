// The charts of a run over time, with a pinned run behind it.
import uPlot from "uplot";
import { axis, element, faded, ink, LEFT, reach } from "../theme";
import { flowColor } from "./colors";
import { type Described, numbers, type Shown, type Tables } from "./format";

/** `flow` is -1 for a line of a link. */
type Line = { label: string; flow: number; pinned: boolean; time: number[]; values: (number | null)[] };

const known = (value: number | undefined, scale: number) =>
  value === undefined || Number.isNaN(value) ? null : value * scale;

/** Returns the rows of each flow. */
function byFlow(trace: Tables): number[][] {
  const rows: number[][] = [];
  numbers(trace, "flows", "flow").forEach((flow, row) => {
    let all = rows[flow];
    if (!all) {
      all = [];
      rows[flow] = all;
    }
    all.push(row);
  });
  return rows;
}

/** Returns a line per flow of one column. */
function ofColumn({ described, trace }: Shown, name: string, scale: number, pinned: boolean): Line[] {
  const [time, values] = [numbers(trace, "flows", "time"), numbers(trace, "flows", name)];
  return byFlow(trace).map((rows, flow) => ({
    label: described.flows[flow]?.name ?? `flow ${flow}`,
    flow,
    pinned,
    time: rows.map((row) => time[row] ?? 0),
    values: rows.map((row) => known(values[row], scale)),
  }));
}

/** Returns a line per flow of the rate at which its data is delivered, over a two-hundredth of the run. */
function rates(shown: Shown, pinned: boolean): Line[] {
  const width = shown.described.duration_s / 200;
  return ofColumn(shown, "delivered", 8e-6, pinned).map((line) => {
    const [time, values]: [number[], number[]] = [[], []];
    let [from, at] = [line.time[0] ?? 0, line.values[0] ?? 0];
    line.time.forEach((now, row) => {
      if (now - from < width) return;
      const delivered = line.values[row] ?? 0;
      time.push((from + now) / 2);
      values.push((delivered - at) / (now - from));
      [from, at] = [now, delivered];
    });
    return { ...line, time, values };
  });
}

function queue({ described, trace }: Shown, pinned: boolean): Line[] {
  const [time, bytes] = [numbers(trace, "links", "time"), numbers(trace, "links", "queue_bytes")];
  const links = numbers(trace, "links", "link");
  return described.links.map((label, link) => {
    const rows = [...links.keys()].filter((row) => links[row] === link);
    return {
      label,
      flow: -1,
      pinned,
      time: rows.map((row) => time[row] ?? 0),
      values: rows.map((row) => known(bytes[row], 1e-3)),
    };
  });
}

const KINDS: [string, string, (shown: Shown, pinned: boolean) => Line[]][] = [
  ["Throughput", "Mbit/s", rates],
  ["Congestion window", "kB", (shown, pinned) => ofColumn(shown, "cwnd", 1e-3, pinned)],
  ["RTT", "ms", (shown, pinned) => ofColumn(shown, "rtt", 1e3, pinned)],
  ["Queue", "kB", queue],
];

export class Charts {
  private plots: (uPlot | undefined)[] = [];
  private signatures: string[] = [];
  private readonly places: HTMLElement[];
  private now?: Described;
  private pinned?: Described;
  /** The time that charts mark. */
  at = 0;

  constructor(
    place: HTMLElement,
    private readonly chosen: (time: number) => void,
  ) {
    this.places = KINDS.map(([title, unit]) => {
      const plot = element("div", { class: "plot", role: "img", "aria-label": `${title} over time` });
      place.append(element("figure", {}, element("figcaption", {}, `${title}, ${unit}`), plot));
      return plot;
    });
  }

  draw(now: Shown, pinned: Shown | null): void {
    [this.now, this.pinned] = [now.described, pinned?.described];
    KINDS.forEach(([, , lines], number) => {
      const all = [...(pinned ? lines(pinned, true) : []), ...lines(now, false)].filter((line) => line.time.length > 1);
      if (!all.length) return;
      const data = uPlot.join(all.map((line) => [line.time, line.values] as uPlot.AlignedData));
      const signature = JSON.stringify([
        now.described.duration_s,
        all.map((line) => [line.label, line.flow, line.pinned]),
        now.described.flows.map((flow) => flow.cc),
      ]);
      const plot = this.plots[number];
      if (plot && this.signatures[number] === signature) {
        plot.setData(data);
        return;
      }
      plot?.destroy();
      this.signatures[number] = signature;
      this.plots[number] = this.make(number, all, data, now.described.duration_s);
    });
  }

  private make(number: number, lines: Line[], data: uPlot.AlignedData, duration: number): uPlot {
    const place = this.places[number] as HTMLElement;
    const options: uPlot.Options = {
      width: place.clientWidth,
      height: 190,
      legend: { live: false },
      cursor: { sync: { key: "explore" }, y: false },
      scales: { x: { time: false, range: [0, duration] }, y: { range: (_, low, high) => reach(low, high) } },
      axes: [axis("", 28), axis("", LEFT - 14)],
      series: [
        {},
        ...lines.map((line) => ({
          label: line.pinned ? `${line.label}, pinned` : line.label,
          stroke: () => (line.pinned ? faded(this.color(line), 0.6) : this.color(line)),
          dash: line.pinned ? [6, 4] : [],
          width: line.pinned ? 1 : 1.5,
          spanGaps: true,
          points: { show: false },
        })),
      ],
      hooks: {
        draw: [
          (plot) => {
            const x = plot.valToPos(this.at, "x", true);
            plot.ctx.fillStyle = faded(ink(), 0.35);
            plot.ctx.fillRect(x, plot.bbox.top, 2, plot.bbox.height);
          },
        ],
      },
    };
    const plot = new uPlot(options, data, place);
    plot.over.addEventListener("click", () => this.chosen(plot.posToVal(plot.cursor.left ?? 0, "x")));
    return plot;
  }

  private color(line: Line): string {
    const of = line.pinned ? this.pinned : this.now;
    return of ? flowColor(of, line.flow) : ink();
  }

  /** Marks a time. */
  mark(at: number): void {
    this.at = at;
    for (const plot of this.plots) plot?.redraw(false);
  }

  resize(): void {
    this.plots.forEach((plot, number) => {
      plot?.setSize({ width: this.places[number]?.clientWidth ?? 300, height: 190 });
    });
  }

  again(): void {
    for (const plot of this.plots) plot?.redraw();
  }
}
