// What a timeline shows: the selected runs, the visible flows, the range of time.
import type { Curve, Panel, Run, Source, Timeline } from "./format";
import { color, dash } from "./theme";
import type { Range } from "./zoom";

const MOST_LINES = 9; // of a panel at first

/** A source of a selected run, with its look. */
export interface Shown {
  run: Run;
  source: Source;
  /** Its name in legends, with the run's if there are several. */
  label: string;
  color: string;
  dash: number[];
}

export class View {
  selected: number[];
  range: Range;
  readonly hidden = new Set<string>();
  readonly panels: Set<string>;
  readonly columns = new Set<string>();
  /** The range of the panels of single packets, if it is not that of the others. */
  near: Range | undefined;
  /** The chosen run of panels that show one at a time. */
  run: Run | undefined;
  /** The chosen flow of panels that show one at a time; empty for all. */
  flow: string | undefined;
  private readonly off = new Map<string, boolean>();

  constructor(
    readonly timeline: Timeline,
    readonly number: number,
  ) {
    this.selected = timeline.first.filter((each) => timeline.runs[each]);
    this.panels = new Set(timeline.panels.filter((panel) => panel.first).map((panel) => panel.key));
    this.range = this.whole();
    this.near = this.nearest();
  }

  /** Returns a time in which single packets can be told apart. */
  nearest(): Range | undefined {
    const [min, max] = this.runs().find((run) => run.near.length)?.near ?? [];
    return min === undefined || max === undefined ? undefined : { min, max };
  }

  /** Whether a panel leaves out a curve: so chosen, or not the main one of a panel with too many lines. */
  isOff(panel: Panel, curve: Curve): boolean {
    const chosen = this.off.get(`${panel.key} ${curve.column}`);
    if (chosen !== undefined) return chosen;
    return this.optional(panel).includes(curve) && this.countOf(panel) > MOST_LINES && curve !== panel.curves[0];
  }

  /** Returns the sources of a curve that a panel shows. Two flows on one axis of sequence numbers would flatten both slopes. */
  of(panel: Panel, curve: Curve): Shown[] {
    const flow = this.flowOf(panel);
    const run = this.runOf(panel);
    return this.sources(curve.of).filter(
      (each) => (flow === "" || each.source.name === flow) && (!run || each.run === run),
    );
  }

  /** Returns the only run that a panel shows: of areas, which stand on each other, those of one run. */
  runOf(panel: Panel): Run | undefined {
    const runs = this.runs();
    if (panel.view !== "stack" || runs.length < 2) return undefined;
    return runs.find((run) => run === this.run) ?? runs[0];
  }

  /** Returns the flows that a panel shows one at a time. */
  alone(panel: Panel): string[] {
    const [first] = panel.curves;
    if (panel.key !== "packets" || !first) return [];
    const names = this.sources(first.of)
      .filter((each) => each.source.tracks[first.column])
      .map((each) => each.source.name);
    return [...new Set(names)];
  }

  /** Returns the only flow that a panel shows: the chosen one, or the first; empty for all. */
  flowOf(panel: Panel): string {
    const names = this.alone(panel);
    if (names.length < 2 || this.flow === "") return "";
    return names.find((name) => name === this.flow) ?? names[0] ?? "";
  }

  /** Returns the style of a curve; a flow without the panel's main curve, such as a measured one, has a full line for the next. */
  styleOf(panel: Panel, curve: Curve, shown: Shown): string {
    const main = panel.curves[0]?.column ?? "";
    return curve.style === "pale" && panel.behind && !shown.source.tracks[main] ? "" : curve.style;
  }

  turn(panel: Panel, curve: Curve, off: boolean): void {
    this.off.set(`${panel.key} ${curve.column}`, off);
  }

  /** Returns the curves of flows that a reader can choose from: those of packets belong together. */
  optional(panel: Panel): Curve[] {
    if (panel.view !== "lines" || panel.curves.some((curve) => curve.style === "points")) return [];
    const flows = this.sources("flow");
    return panel.curves.filter(
      (curve) => curve.of === "flow" && flows.some((each) => each.source.tracks[curve.column]),
    );
  }

  private countOf(panel: Panel): number {
    const counts = panel.curves.map(
      (curve) => this.sources(curve.of, true).filter((each) => each.source.tracks[curve.column]).length,
    );
    return counts.reduce((sum, count) => sum + count, 0);
  }

  whole(): Range {
    return { min: 0, max: Math.max(...this.runs().map((run) => run.end)) || 1 };
  }

  runs(): Run[] {
    return this.selected.map((each) => this.timeline.runs[each]).filter((run) => run !== undefined);
  }

  /** Returns the sources of the selected runs of a kind; the flows of later runs have other dashes and shades. */
  sources(kind: string, all = false): Shown[] {
    const several = this.selected.length > 1;
    const runs = this.runs();
    const labels = this.labels();
    const kept = runs.map((run) => run.sources.filter((source) => source.kind === kind));
    // Those of one color differ in shades and dashes, in whichever run they are; a part of a queue is like its flow.
    const like = kind === "queue" ? "flow" : kind;
    const own = (source: Source, order: number) =>
      source.dash +
      runs
        .slice(0, order)
        .flatMap((run) => run.sources)
        .filter((each) => each.kind === like && each.color === source.color).length;
    return runs.flatMap((run, order) =>
      (kept[order] ?? [])
        .filter((source) => all || !this.hidden.has(source.name))
        .map((source) => ({
          run,
          source,
          label: several ? told(source.name, labels[order] ?? "") : source.name,
          color: color(source.color, own(source, order)),
          dash: dash(own(source, order)),
        })),
    );
  }

  /** Returns the labels of the selected runs, without a last part that all of them have, such as the seed. */
  labels(): string[] {
    const labels = this.runs().map((run) => run.label);
    const ends = new Set(labels.map((label) => label.slice(Math.max(label.lastIndexOf(", "), 0))));
    const [end = ""] = ends;
    return labels.length > 1 && ends.size === 1 && end.startsWith(", ")
      ? labels.map((label) => label.slice(0, -end.length))
      : labels;
  }

  title(column: string): string {
    return this.timeline.columns[column]?.title ?? column;
  }

  unit(column: string): string {
    return this.timeline.columns[column]?.unit ?? "";
  }
}

/** Returns the name of a source of one of several runs; "cubic alone" has the flow's name already. */
function told(name: string, run: string): string {
  return run.startsWith(`${name} `) ? run : `${name}, ${run}`;
}
