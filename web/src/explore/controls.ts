// The controls of a scenario: each change is a change of its text.
import { button, element } from "../theme";
import type { Catalogue, Described, Param } from "./format";
import { changed, quoted, type Section, withFlow, withoutFlow, withParam, written } from "./toml";

type Change = (change: (text: string) => string) => void;

interface Slider {
  key: string;
  name: string;
  range: [number, number, number];
  /** The value as it is written in a scenario. */
  text: (position: number) => string;
  position: (described: Described) => number;
}

const short = (value: number) => `${Number(value.toPrecision(2))}`;
const power = (position: number) => short(10 ** position);
const percentage = (text: unknown) => (typeof text === "string" && text.endsWith("%") ? Number.parseFloat(text) : 0);

const SLIDERS: Slider[] = [
  {
    key: "rate",
    name: "Rate",
    range: [-1, 3.001, 0.01],
    text: (at) => (at < 0 ? `${short(10 ** at * 1000)}kbit` : `${power(at)}mbit`),
    position: (now) => Math.log10(now.rate_bps / 1e6),
  },
  {
    key: "rtt",
    name: "RTT",
    range: [0, 2.8, 0.01],
    text: (at) => `${power(at)}ms`,
    position: (now) => Math.log10(now.rtt_s * 1e3),
  },
  {
    key: "buffer",
    name: "Buffer",
    range: [-1, 1.6, 0.01],
    text: (at) => `${power(at)}bdp`,
    position: (now) => Math.log10((now.buffer_bytes * 8) / (now.rate_bps * now.rtt_s)),
  },
  {
    key: "loss",
    name: "Random loss",
    range: [0, 5, 0.01],
    text: (at) => `${at}%`,
    position: (now) => percentage(now.scenario.path?.loss),
  },
];

export class Controls {
  private readonly sliders: [Slider, HTMLInputElement, HTMLOutputElement][] = [];
  private readonly queue: HTMLSelectElement;
  private readonly profile: HTMLSelectElement;
  private readonly duration: HTMLInputElement;
  private readonly seed: HTMLInputElement;
  private readonly flows = element("div", { class: "flows" });
  private drawn = "";

  constructor(
    place: HTMLElement,
    private readonly catalogue: Catalogue,
    private readonly change: Change,
  ) {
    for (const slider of SLIDERS) {
      const [min, max, step] = slider.range.map(String) as [string, string, string];
      const input = element("input", { type: "range", name: slider.key, min, max, step, "aria-label": slider.name });
      const output = element("output");
      input.addEventListener("input", () => this.set("path", slider.key, quoted(slider.text(input.valueAsNumber))));
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
    place.append(
      this.flows,
      button("Add a flow", () => change((text) => withFlow(text, "cubic"))),
    );
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
      const at = slider.position(described);
      if (document.activeElement !== input) input.value = `${at}`;
      const shown = written(text, "path", slider.key)?.replaceAll('"', "") ?? slider.text(Number(at.toFixed(2)));
      output.textContent = shown;
      input.setAttribute("aria-valuetext", shown);
    }
    const queue = described.scenario.path?.queue;
    this.queue.value = typeof queue === "string" ? queue : String((queue as { kind?: string })?.kind ?? "pfifo");
    this.profile.value = described.profile ?? "";
    if (document.activeElement !== this.duration) this.duration.value = described.scenario.duration ?? "";
    if (document.activeElement !== this.seed) this.seed.value = `${described.seed}`;
    const flows = described.scenario.flow ?? [];
    const signature = JSON.stringify(flows);
    if (signature === this.drawn || this.flows.contains(document.activeElement?.closest("input") ?? null)) return;
    this.drawn = signature;
    const open = [...this.flows.querySelectorAll("details")].map((each) => each.open);
    const focused = document.activeElement?.getAttribute("aria-label");
    this.flows.replaceChildren(...flows.map((flow, number) => this.flow(flow, number, open[number] ?? false)));
    const again = [...this.flows.querySelectorAll<HTMLElement>("[aria-label]")];
    if (focused) again.find((each) => each.getAttribute("aria-label") === focused)?.focus();
  }

  private flow(flow: Record<string, unknown>, number: number, open: boolean): HTMLElement {
    const name = String(flow.name);
    const algorithm = this.catalogue.algorithms.find((each) => each.name === flow.cc);
    const cc = select(`algorithm of ${name}`, this.catalogue.algorithms, (chosen) =>
      this.change((text) => changed(changed(text, number, "params", null), number, "cc", quoted(chosen))),
    );
    cc.value = String(flow.cc);
    const start = this.field("start", "text", (value) => this.set(number, "start", quoted(value)));
    start.value = String(flow.start ?? "0s");
    start.setAttribute("aria-label", `start of ${name}`);
    const rate = this.field("app_rate", "text", (value) => this.set(number, "app_rate", value ? quoted(value) : null));
    rate.value = typeof flow.app_rate === "string" ? flow.app_rate : "";
    rate.placeholder = "unlimited";
    rate.setAttribute("aria-label", `application's rate of ${name}`);
    const params = element("details", {}, element("summary", {}, "Parameters"));
    params.open = open;
    const values = (flow.params ?? {}) as Record<string, unknown>;
    for (const param of algorithm?.params ?? []) params.append(this.param(param, values[param.name], name, number));
    return element(
      "fieldset",
      {},
      element("legend", {}, name),
      element("label", {}, element("span", {}, "Algorithm"), cc),
      element("p", { class: "note" }, algorithm?.purpose ?? ""),
      element("label", {}, element("span", {}, "Start"), start),
      element("label", {}, element("span", {}, "Application's rate"), rate),
      params,
      button("Remove", () => this.change((text) => withoutFlow(text, number)), { "aria-label": `remove ${name}` }),
    );
  }

  private param(param: Param, value: unknown, flow: string, number: number): HTMLElement {
    const set = (text: string | null) => this.change((all) => withParam(all, number, param.name, text));
    const named = { "aria-label": `${param.name} of ${flow}`, title: param.purpose };
    const now = value ?? param.default;
    let control: HTMLElement;
    if (param.choices) {
      const choices = param.choices.map((name) => ({ name, purpose: name }));
      const made = select(`${param.name} of ${flow}`, choices, (chosen) => set(quoted(chosen)));
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
