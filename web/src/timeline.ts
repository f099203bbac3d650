// Runs over time: which runs, flows, panels and columns are shown, and their charts.
import type { Panel, Source, Timeline } from "./format";
import { PanelChart } from "./panel";
import { button, color, element } from "./theme";
import { View } from "./view";
import type { Range } from "./zoom";

export class TimelineView {
  private readonly view: View;
  private readonly runs = element("div", { class: "runs" });
  private readonly flows = element("div", { class: "flows", role: "group", "aria-label": "Flows" });
  private readonly commands = element("div", { class: "commands" });
  private readonly choices = element("details", { class: "choices" });
  private readonly charts = element("div", { class: "panels" });
  private shown: PanelChart[] = [];

  constructor(place: HTMLElement, timeline: Timeline, number: number) {
    this.view = new View(timeline, number);
    const reset = button("Reset zoom", () => this.zoom(this.view.whole(), this.view.nearest()), { class: "reset" });
    const hint =
      "Drag to zoom, double-click to reset; the wheel zooms a chart after a click on it, two fingers zoom it at any time. Keys: + − ← → 0.";
    const bar = element("div", { class: "bar" }, this.runs, reset, this.choices);
    place.append(bar, this.flows, element("p", { class: "note" }, hint), this.commands, this.charts);
    this.chooseRuns();
    this.rebuild();
  }

  /** Offers the runs: with several, a list in which any number can be selected. */
  private chooseRuns(): void {
    const { timeline } = this.view;
    if (timeline.runs.length < 2) {
      this.runs.append(element("strong", {}, timeline.runs[0]?.label ?? ""));
      return;
    }
    const list = element("ul", { class: "picker" });
    timeline.runs.forEach((run, number) => {
      const box = element("input", { type: "checkbox" });
      box.checked = this.view.selected.includes(number);
      box.addEventListener("change", () => this.select(number, box.checked));
      const only = button("only", () => this.only(number), { "aria-label": `Show only ${run.label}` });
      list.append(element("li", {}, element("label", {}, box, ` ${run.label}`), only));
    });
    const summary = element("summary", {}, "");
    this.runs.append(element("details", {}, summary, list));
  }

  private select(number: number, on: boolean): void {
    const kept = this.view.selected.filter((each) => each !== number);
    this.view.selected = (on ? [...kept, number] : kept).sort((a, b) => a - b);
    this.rebuild();
  }

  private only(number: number): void {
    this.view.selected = [number];
    this.rebuild();
  }

  /** Builds everything anew that depends on the selected runs. */
  private rebuild(): void {
    const { view } = this;
    view.near = view.nearest();
    this.runs.querySelectorAll("input").forEach((box, number) => {
      box.checked = view.selected.includes(number);
    });
    const summary = this.runs.querySelector("summary");
    const names = view.runs().map((run) => run.label);
    if (summary)
      summary.textContent = `Runs: ${names.join(" · ") || "none"} (${names.length} of ${view.timeline.runs.length})`;
    this.commands.replaceChildren(...view.runs().map((run) => command(run.command)));
    const changes = view.runs().flatMap((run) => run.changes.map((change) => `${change.time} s: ${change.text}`));
    const lines = [...new Set(changes)];
    if (lines.length)
      this.commands.append(
        element("p", { class: "note" }, `Dotted lines are changes of the path: ${lines.join("; ")}.`),
      );
    if (view.runs().some((run) => run.measureFrom > 0)) {
      this.commands.append(element("p", { class: "note" }, "The dashed line is the start of the measured time."));
    }
    view.range = view.whole();
    this.offerFlows();
    this.offerPanels();
    this.arrange();
  }

  private offerFlows(): void {
    const names = new Map<string, Source[]>();
    for (const { source } of ["flow", "workload"].flatMap((kind) => this.view.sources(kind, true)))
      names.set(source.name, [...(names.get(source.name) ?? []), source]);
    const toggles = [...names].map(([name, sources]) => {
      // A flow can have another algorithm in each run.
      const algorithms = [...new Set(sources.map((each) => each.algorithm))].filter(
        (each) => each && each !== "unknown" && !name.startsWith(each),
      );
      const label = algorithms.length ? `${name} (${algorithms.join(", ")})` : name;
      const toggle = button(
        label,
        () => {
          if (!this.view.hidden.delete(name)) this.view.hidden.add(name);
          toggle.setAttribute("aria-pressed", `${!this.view.hidden.has(name)}`);
          this.draw();
        },
        { "aria-pressed": `${!this.view.hidden.has(name)}`, "data-flow": name },
      );
      const colors = new Set(sources.map((each) => color(each.color, each.dash)));
      toggle.prepend(...[...colors].map((each) => element("i", { style: `background:${each}` })));
      return toggle;
    });
    this.flows.replaceChildren(...toggles);
    this.flows.hidden = toggles.length < 2;
  }

  /** Offers each panel, and each column that no panel shows. */
  private offerPanels(): void {
    const { timeline, panels, columns } = this.view;
    const usual = new Set(timeline.panels.flatMap((panel) => panel.curves.map((curve) => curve.column)));
    const own = Object.keys(timeline.columns).filter((name) => !usual.has(name));
    const option = (key: string, title: string, set: Set<string>) => {
      const box = element("input", { type: "checkbox", name: key });
      box.checked = set.has(key);
      box.addEventListener("change", () => {
        if (box.checked) set.add(key);
        else set.delete(key);
        this.arrange();
      });
      return element("label", {}, box, ` ${title}`);
    };
    this.choices.replaceChildren(
      element("summary", {}, "Panels and columns"),
      element("div", { class: "options" }, ...timeline.panels.map((panel) => option(panel.key, panel.title, panels))),
      element("div", { class: "options" }, ...own.map((name) => option(name, this.view.title(name), columns))),
    );
  }

  /** Makes the charts of the chosen panels, in their order, and of the chosen columns. */
  private arrange(): void {
    for (const chart of this.shown) chart.destroy();
    const { timeline, panels, columns } = this.view;
    const chosen = [
      ...timeline.panels.filter((panel) => panels.has(panel.key)),
      ...[...columns].map((name) => this.ofColumn(name)),
    ];
    this.shown = chosen.map((panel) => new PanelChart(panel, this.view, (to, near) => this.zoom(to, near)));
    this.charts.replaceChildren(...this.shown.map((chart) => chart.box));
    this.draw();
  }

  private ofColumn(name: string): Panel {
    const curves = ["flow", "link"].map((of) => ({ of, column: name, style: "" }));
    const title = this.view.title(name);
    return {
      key: name,
      title,
      unit: this.view.unit(name),
      curves,
      view: "lines",
      stays: "",
      behind: "",
      ticks: [],
      first: false,
    };
  }

  /** Shows a range of time, and another one in the panels of single packets, if one is given. */
  private zoom(to: Range, near?: Range): void {
    const whole = this.view.whole();
    const least = (whole.max - whole.min) * 1e-7;
    if (to.max - to.min < least) return;
    this.view.near = near;
    this.view.range = { min: Math.max(to.min, whole.min), max: Math.min(to.max, whole.max) };
    this.draw();
  }

  private draw(): void {
    for (const chart of this.shown) void chart.draw();
  }

  again(): void {
    this.offerFlows();
    for (const chart of this.shown) chart.again();
  }

  resize(): void {
    for (const chart of this.shown) chart.resize();
  }
}

function command(text: string): HTMLElement {
  const copy = button("Copy", () => navigator.clipboard?.writeText(text), { "aria-label": `Copy the command ${text}` });
  return element("p", {}, element("code", { class: "command" }, text), " ", copy);
}
