// The controls of a scenario: each change is a change of its text.
import { button, element } from "../theme";
import type { Catalogue, Described, Param } from "./format";
import { changed, type Kind, quoted, type Section, tables, withFlow, without, withParam, written } from "./toml";

type Change = (change: (text: string) => string) => void;

/** A `[[flow]]`, which may stand for several flows, or a `[[workload]]`. */
interface Entry {
  section: `${Kind}.${number}`;
  name: string;
  count: number;
  /** Those of its values that have controls, with every default. */
  values: Record<string, unknown>;
}

/** Returns the values that have controls: others, like a receive window, may change with the path. */
const shownOf = ({ cc, start, app_rate, load, params }: Record<string, unknown>) => ({
  cc,
  start,
  app_rate,
  load,
  params,
});

/** Returns the tables of the text; none if they can't be told from each other, as in `flow = [{ cc = "cubic" }]`. */
function tablesOf({ scenario }: Described, text: string): Entry[] {
  const flows = scenario.flow ?? [];
  const found: Entry[] = [];
  let first = 0;
  for (let at = 0; at < tables(text, "flow"); at++) {
    const section = `flow.${at}` as const;
    const count = Number((written(text, section, "count") ?? "1").replace(/["'_]/g, ""));
    const [values, last] = [flows[first], flows[first + count - 1]];
    if (!values || !last) return [];
    const name = count > 1 ? `${values.name} to ${last.name}` : `${values.name}`;
    found.push({ section, name, count, values: shownOf(values) });
    first += count;
  }
  const workloads = scenario.workload ?? [];
  if (first !== flows.length || tables(text, "workload") !== workloads.length) return [];
  workloads.forEach((values, at) => {
    found.push({ section: `workload.${at}`, name: `${values.name}`, count: 1, values: shownOf(values) });
  });
  return found;
}

interface Slider {
  key: string;
  name: string;
  /** The values of its positions. */
  values: number[];
  /** A value as it is written in a scenario. */
  text: (value: number) => string;
  value: (described: Described) => number;
}

/** Returns round numbers, each 2 to 5 % above the one before: every position of a slider is another value. */
function rounds(from: number, to: number): number[] {
  const all: number[] = [];
  for (let power = -1; 10 ** power <= to; power++) {
    for (let part = 100; part < 1000; part += part < 200 ? 5 : part < 500 ? 10 : 20) {
      all.push(Number((part * 10 ** (power - 2)).toPrecision(3)));
    }
  }
  return all.filter((each) => each >= from && each <= to);
}

const percentage = (text: unknown) => (typeof text === "string" && text.endsWith("%") ? Number.parseFloat(text) : 0);

const SLIDERS: Slider[] = [
  {
    key: "rate",
    name: "Rate",
    values: rounds(0.1, 1000),
    text: (value) => (value < 1 ? `${Math.round(value * 1000)}kbit` : `${value}mbit`),
    value: (now) => now.rate_bps / 1e6,
  },
  {
    key: "rtt",
    name: "RTT",
    values: rounds(1, 640),
    text: (value) => `${value}ms`,
    value: (now) => now.rtt_s * 1e3,
  },
  {
    key: "buffer",
    name: "Buffer",
    values: rounds(0.1, 40),
    text: (value) => `${value}bdp`,
    value: (now) => (now.buffer_bytes * 8) / (now.rate_bps * now.rtt_s),
  },
  {
    key: "loss",
    name: "Random loss",
    values: Array.from({ length: 501 }, (_, number) => number / 100),
    text: (value) => `${value}%`,
    value: (now) => percentage(now.scenario.path?.loss),
  },
];

/** Returns the position of the value that is nearest to a value. */
function nearest(values: number[], value: number): number {
  const above = values.findIndex((each) => each >= value);
  if (above < 0) return values.length - 1;
  return above > 0 && value - (values[above - 1] ?? 0) < (values[above] ?? 0) - value ? above - 1 : above;
}

export class Controls {
  private readonly sliders: [Slider, HTMLInputElement, HTMLOutputElement][] = [];
  private readonly queue: HTMLSelectElement;
  private readonly profile: HTMLSelectElement;
  private readonly duration: HTMLInputElement;
  private readonly seed: HTMLInputElement;
  private readonly flows = element("div", { class: "flows" });
  private readonly add: HTMLButtonElement;
  private drawn = "";

  constructor(
    place: HTMLElement,
    private readonly catalogue: Catalogue,
    private readonly change: Change,
  ) {
    for (const slider of SLIDERS) {
      const max = `${slider.values.length - 1}`;
      const input = element("input", { type: "range", name: slider.key, min: "0", max, "aria-label": slider.name });
      const output = element("output");
      const text = () => slider.text(slider.values[input.valueAsNumber] ?? 0);
      input.addEventListener("input", () => this.set("path", slider.key, quoted(text())));
      place.append(element("label", {}, element("span", {}, slider.name, " ", output), input));
      this.sliders.push([slider, input, output]);
    }
    this.queue = select("queue", catalogue.queues, (name) => this.set("path", "queue", quoted(name)));
    this.profile = select("profile", [{ name: "", purpose: "no profile" }, ...catalogue.profiles], (name) =>
      this.set("path", "profile", name ? quoted(name) : null),
    );
    this.duration = this.field("duration", "text", (value) => this.set("", "duration", quoted(value)));
    this.seed = this.field("seed", "number", (value) => this.set("", "seed", value || "1"));
    for (const [name, control] of [
      ["Queue", this.queue],
      ["Profile", this.profile],
      ["Duration", this.duration],
      ["Seed", this.seed],
    ] as const) {
      place.append(element("label", {}, element("span", {}, name), control));
    }
    this.add = button("Add a flow", () => change((text) => withFlow(text, "cubic")));
    place.append(this.flows, this.add);
  }

  private set(section: Section, key: string, value: string | null): void {
    this.change((text) => changed(text, section, key, value));
  }

  private field(name: string, type: string, set: (value: string) => void): HTMLInputElement {
    const input = element("input", { type, name, min: "0", autocomplete: "off" });
    input.addEventListener("change", () => set(input.value.trim()));
    return input;
  }

  /** Shows the values of a scenario, except in the control that has the focus. */
  show(described: Described, text: string): void {
    for (const [slider, input, output] of this.sliders) {
      const value = slider.value(described);
      if (document.activeElement !== input) input.value = `${nearest(slider.values, value)}`;
      const shown = written(text, "path", slider.key)?.replaceAll('"', "") ?? slider.text(Number(value.toPrecision(3)));
      output.textContent = shown;
      input.setAttribute("aria-valuetext", shown);
    }
    const queue = described.scenario.path?.queue;
    this.queue.value = typeof queue === "string" ? queue : String((queue as { kind?: string })?.kind ?? "pfifo");
    this.profile.value = described.profile ?? "";
    if (document.activeElement !== this.duration) this.duration.value = described.scenario.duration ?? "";
    if (document.activeElement !== this.seed) this.seed.value = `${described.seed}`;
    const entries = tablesOf(described, text);
    const signature = JSON.stringify(entries);
    if (signature === this.drawn) return;
    const open = [...this.flows.querySelectorAll("details")].map((each) => each.open);
    const made = entries.map((entry, number) => this.table(entry, open[number] ?? false));
    const note = "The page can't find the flows in the text as tables `[[flow]]`: change them in the text.";
    const focused = this.flows.contains(document.activeElement) ? (document.activeElement as HTMLInputElement) : null;
    const again = made
      .flatMap((each) => [...each.querySelectorAll<HTMLInputElement>("[name]")])
      .find((each) => each.name === focused?.name);
    // Not while a value is being typed.
    if (focused && again && again.value !== focused.value) return;
    this.drawn = signature;
    this.flows.replaceChildren(...(made.length ? made : [element("p", { class: "note" }, note)]));
    this.add.hidden = made.length === 0;
    again?.focus();
  }

  /** Returns the controls of a table. */
  private table({ section, name, count, values }: Entry, open: boolean): HTMLElement {
    const algorithm = this.catalogue.algorithms.find((each) => each.name === values.cc);
    const cc = select(`algorithm of ${name}`, this.catalogue.algorithms, (chosen) =>
      this.change((text) => changed(changed(text, section, "params", null), section, "cc", quoted(chosen))),
    );
    cc.name = `${section}.cc`;
    cc.value = String(values.cc);
    const field = (key: string, label: string, value: unknown, set: (value: string) => string | null) => {
      const made = this.field(`${section}.${key}`, "text", (value) => this.set(section, key, set(value)));
      made.value = typeof value === "string" || typeof value === "number" ? `${value}` : "";
      made.setAttribute("aria-label", `${label.toLowerCase()} of ${name}`);
      return [made, element("label", {}, element("span", {}, label), made)] as const;
    };
    const [, start] = field("start", "Start", values.start ?? "0s", quoted);
    const own = [start];
    if (section.startsWith("flow.")) {
      const [counted, labeled] = field("count", "Count", count, (value) => (value === "1" ? null : value || null));
      counted.type = "number";
      counted.min = "1";
      const [rate, limited] = field("app_rate", "Application's rate", values.app_rate, (value) =>
        value ? quoted(value) : null,
      );
      rate.placeholder = "unlimited";
      own.push(limited, labeled);
    } else {
      own.push(field("load", "Load", values.load, (value) => value || null)[1]);
    }
    const params = element("details", {}, element("summary", {}, "Parameters"));
    params.open = open;
    const given = (values.params ?? {}) as Record<string, unknown>;
    for (const param of algorithm?.params ?? []) params.append(this.param(param, given[param.name], name, section));
    return element(
      "fieldset",
      {},
      element("legend", {}, name),
      element("label", {}, element("span", {}, "Algorithm"), cc),
      element("p", { class: "note" }, algorithm?.purpose ?? ""),
      ...own,
      params,
      button("Remove", () => this.change((text) => without(text, section)), { "aria-label": `remove ${name}` }),
    );
  }

  private param(param: Param, value: unknown, flow: string, section: Section): HTMLElement {
    const set = (text: string | null) => this.change((all) => withParam(all, section, param.name, text));
    const name = `${section}.params.${param.name}`;
    const named = { name, "aria-label": `${param.name} of ${flow}`, title: param.purpose };
    const now = value ?? param.default;
    let control: HTMLElement;
    if (param.choices) {
      const choices = param.choices.map((name) => ({ name, purpose: name }));
      const made = select(`${param.name} of ${flow}`, choices, (chosen) => set(quoted(chosen)));
      made.name = name;
      made.value = String(now);
      control = made;
    } else if (typeof param.default === "boolean") {
      const made = element("input", { type: "checkbox", ...named });
      made.checked = Boolean(now);
      made.addEventListener("change", () => set(`${made.checked}`));
      control = made;
    } else {
      const [min, max] = param.range ?? [0, 1];
      const made = element("input", { type: "number", step: "any", min: `${min}`, max: `${max}`, ...named });
      made.value = String(now);
      made.addEventListener("change", () => set(made.value || null));
      control = made;
    }
    const unit = param.unit ? `, ${param.unit}` : "";
    return element("label", { title: param.purpose }, element("span", {}, `${param.name}${unit}`), control);
  }
}

function select(
  name: string,
  choices: { name: string; purpose: string }[],
  chosen: (name: string) => void,
): HTMLSelectElement {
  const made = element("select", { name, "aria-label": name });
  for (const { name: value, purpose } of choices) {
    made.append(element("option", { value, title: purpose }, value || purpose));
  }
  made.addEventListener("change", () => chosen(made.value));
  return made;
}
