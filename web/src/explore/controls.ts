// The controls of a scenario: each change is a change of its text.
import { button, element } from "../theme";
import type { Catalogue, Described, Param } from "./format";
import { isTraced } from "./lines";
import {
  changed,
  type Kind,
  keys,
  quoted,
  type Section,
  tables,
  withAlgorithm,
  withFlow,
  without,
  withParam,
  written,
} from "./toml";

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
  const count = tables(text, "flow");
  for (let at = 0; at < count; at++) {
    const section = `flow.${at}` as const;
    const those = Number((written(text, section, "count") ?? "1").replace(/["'_]/g, ""));
    const [values, last] = [flows[first], flows[first + those - 1]];
    if (!values || !last) return [];
    const name = those > 1 ? `${values.name} to ${last.name}` : `${values.name}`;
    found.push({ section, name, count: those, values: shownOf(values) });
    first += those;
  }
  const workloads = scenario.workload ?? [];
  if (first !== flows.length || tables(text, "workload") !== workloads.length) return [];
  workloads.forEach((values, at) => {
    found.push({ section: `workload.${at}`, name: `${values.name}`, count: 1, values: shownOf(values) });
  });
  return found;
}

/** Returns the text with another profile in place of its path; without one, the path keeps rate, RTT and buffer as numbers. */
function withProfile(text: string, name: string, now: Described | null): string {
  const gone = name ? keys(text, "path") : ["profile", "kind"];
  let made = text;
  for (const key of gone) made = changed(made, "path", key, null);
  if (name) return changed(made, "path", "profile", quoted(name));
  const path = now?.scenario.path ?? {};
  const kept = { rate: `${now?.rate_bps}bit`, rtt: path.rtt, buffer: path.buffer ?? `${now?.buffer_bytes}B` };
  for (const [key, value] of Object.entries(kept)) {
    if (key === "rate" && keys(made, "path").includes("rate_pattern")) continue;
    if (written(made, "path", key) === null) made = changed(made, "path", key, quoted(`${path[key] ?? value}`));
  }
  return made;
}

/** Returns the text with another queue, and with the buffer so far if the queue needs one. */
function withQueue(text: string, name: string, { queues }: Catalogue, now: Described | null): string {
  const made = changed(text, "path", "queue", quoted(name));
  const queue = queues.find((each) => each.name === name);
  if (!now || !queue?.needs_buffer || now.profile || written(made, "path", "buffer") !== null) return made;
  return changed(made, "path", "buffer", quoted(`${now.scenario.path?.buffer ?? `${now.buffer_bytes}B`}`));
}

interface Slider {
  key: string;
  name: string;
  /** The values of its positions. */
  values: number[];
  /** A value as it is written in a scenario, in the unit of the text that it replaces. */
  text: (value: number, now: Described | null, written: string) => string;
  value: (described: Described) => number;
  /** What the path has in place of a number; null if it has one. */
  instead: (path: Record<string, unknown>) => string | null;
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

const percentage = (text: unknown) => (/^[\d.]+%$/.test(`${text}`) ? Number.parseFloat(`${text}`) : Number.NaN);

/** Returns a buffer of some BDP, in the unit of another one: packets stay packets. */
function bufferText(bdp: number, now: Described | null, written: string): string {
  const [, number, unit] = /^([\d.]+)\s*([A-Za-z]+)$/.exec(written) ?? [];
  if (!now || !unit || unit === "bdp") return `${bdp}bdp`;
  const scaled = (Number(number) * bdp) / bufferOf(now);
  return unit === "packets" || unit === "packet" || unit === "B"
    ? `${Math.max(1, Math.round(scaled))}${unit}`
    : `${Number(scaled.toPrecision(3))}${unit}`;
}

const bufferOf = (now: Described) => (now.buffer_bytes * 8) / (now.rate_bps * now.rtt_s);

const SLIDERS: Slider[] = [
  {
    key: "rate",
    name: "Rate",
    values: rounds(0.1, 1000),
    text: (value) => (value < 1 ? `${Math.round(value * 1000)}kbit` : `${value}mbit`),
    value: (now) => now.rate_bps / 1e6,
    instead: ({ rate_pattern }) => (rate_pattern === undefined ? null : `${rate_pattern}`),
  },
  {
    key: "rtt",
    name: "RTT",
    values: rounds(1, 640),
    text: (value) => `${value}ms`,
    value: (now) => now.rtt_s * 1e3,
    instead: (path) => (isTraced(path) ? "by the delay trace" : null),
  },
  {
    key: "buffer",
    name: "Buffer",
    values: rounds(0.1, 40),
    text: bufferText,
    value: bufferOf,
    instead: ({ buffer }) => (buffer === undefined ? "the queue's own limit" : null),
  },
  {
    key: "loss",
    name: "Random loss",
    values: Array.from({ length: 501 }, (_, number) => number / 100),
    text: (value) => `${value}%`,
    value: (now) => percentage(now.scenario.path?.loss ?? "0%"),
    instead: ({ loss = "0%" }) => (Number.isNaN(percentage(loss)) ? `${loss}` : null),
  },
];

/** Returns the position of the value that is nearest to a value. */
function nearest(values: number[], value: number): number {
  const above = values.findIndex((each) => each >= value);
  if (above < 0) return values.length - 1;
  return above > 0 && value - (values[above - 1] ?? 0) < (values[above] ?? 0) - value ? above - 1 : above;
}

/** The most tables that have controls: those of hundreds would cost seconds, and nobody finds one of them. */
const MOST_GROUPS = 50;

export class Controls {
  private readonly sliders: [Slider, HTMLInputElement, HTMLOutputElement][] = [];
  private readonly queue: HTMLSelectElement;
  private readonly profile: HTMLSelectElement;
  private readonly duration: HTMLInputElement;
  private readonly seed: HTMLInputElement;
  private readonly flows = element("div", { class: "flows" });
  private readonly add: HTMLButtonElement;
  private drawn = "";
  private described: Described | null = null;

  constructor(
    place: HTMLElement,
    private readonly catalogue: Catalogue,
    private readonly change: Change,
  ) {
    for (const slider of SLIDERS) {
      const max = `${slider.values.length - 1}`;
      const input = element("input", { type: "range", name: slider.key, min: "0", max, "aria-label": slider.name });
      const output = element("output");
      input.addEventListener("input", () => {
        const value = slider.values[input.valueAsNumber] ?? 0;
        const before = `${this.described?.scenario.path?.[slider.key] ?? ""}`;
        this.set("path", slider.key, quoted(slider.text(value, this.described, before)));
      });
      place.append(element("label", {}, element("span", {}, slider.name, " ", output), input));
      this.sliders.push([slider, input, output]);
    }
    this.queue = select("queue", catalogue.queues, (name) =>
      this.change((text) => withQueue(text, name, this.catalogue, this.described)),
    );
    this.profile = select("profile", [{ name: "", purpose: "no profile" }, ...catalogue.profiles], (name) =>
      this.change((text) => withProfile(text, name, this.described)),
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
    this.described = described;
    for (const [slider, input, output] of this.sliders) {
      const value = slider.value(described);
      const instead = slider.instead(described.scenario.path ?? {});
      input.disabled = instead !== null;
      if (document.activeElement !== input) input.value = `${nearest(slider.values, value || 0)}`;
      const given = () => written(text, "path", slider.key)?.replace(/^["']|["']$/g, "");
      const shown = instead ?? given() ?? slider.text(Number(value.toPrecision(3)), null, "");
      output.textContent = shown;
      output.className = instead === null ? "" : "pattern";
      input.setAttribute("aria-valuetext", shown);
    }
    const queue = described.scenario.path?.queue;
    this.queue.value = typeof queue === "string" ? queue : String((queue as { kind?: string })?.kind ?? "pfifo");
    this.profile.value = described.profile ?? "";
    if (document.activeElement !== this.duration) this.duration.value = described.scenario.duration ?? "";
    if (document.activeElement !== this.seed) this.seed.value = `${described.seed}`;
    const all = tablesOf(described, text);
    const entries = all.slice(0, MOST_GROUPS);
    const without = `${all.length - entries.length} of ${all.length} tables have no controls here: change them in the text.`;
    const signature = JSON.stringify([entries, all.length]);
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
    const left = all.length > made.length ? [element("p", { class: "note" }, without)] : [];
    this.flows.replaceChildren(...(made.length ? [...made, ...left] : [element("p", { class: "note" }, note)]));
    this.add.hidden = made.length === 0;
    // A scenario without any flow does not run.
    const [only, more] = [...this.flows.querySelectorAll<HTMLButtonElement>("fieldset > button")];
    if (only && !more) only.disabled = true;
    again?.focus();
  }

  /** Returns the controls of a table. */
  private table({ section, name, count, values }: Entry, open: boolean): HTMLElement {
    const algorithm = this.catalogue.algorithms.find((each) => each.name === values.cc);
    const cc = select(`algorithm of ${name}`, this.catalogue.algorithms, (chosen) =>
      this.change((text) => withAlgorithm(text, section, chosen)),
    );
    cc.name = `${section}.cc`;
    // A flow may have what the list lacks, like "none".
    if (!algorithm) cc.append(element("option", { value: `${values.cc}` }, `${values.cc}`));
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
