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
    const step = 1 + Math.max(0, ...kept.flat().map((source) => source.dash));
    return runs.flatMap((run, order) =>
      (kept[order] ?? [])
        .filter((source) => all || !this.hidden.has(source.name))
        .map((source) => ({
          run,
          source,
          label: several ? told(source.name, labels[order] ?? "") : source.name,
          color: color(source.color, source.dash + order * step),
          dash: dash(source.dash + order * step),
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
