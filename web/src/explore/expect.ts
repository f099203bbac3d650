// Judges a run by the conditions of its scenario, as `fullpipe check` does.
import { element, rounded } from "../theme";
import type { Condition, Described, Metrics } from "./format";

const HOLDS: Record<Condition["comparison"], (value: number, bound: number) => boolean> = {
  ">=": (value, bound) => value >= bound,
  "<=": (value, bound) => value <= bound,
  ">": (value, bound) => value > bound,
  "<": (value, bound) => value < bound,
};

export interface Verdict {
  text: string;
  met: boolean;
  /** What was measured, in words. */
  measured: string;
}

/** Returns the value of a column like `goodput_bps`, `rtt_s.p95`, `link.bottleneck.utilization` or `jain`. */
export function measuredIn(metrics: Metrics, flow: number | null, column: string): number {
  let at: unknown = metrics;
  let names = column.split(".");
  if (column.startsWith("link.")) {
    // The name of a link may have dots.
    const link = metrics.links.find(({ name }) => column.startsWith(`link.${name}.`));
    [at, names] = [link, column.slice(`link.${link?.name}.`.length).split(".")];
  } else if (flow !== null) {
    const workloads = (metrics as { workloads?: unknown[] }).workloads ?? [];
    at = [...metrics.flows, ...workloads][flow];
  }
  for (const name of names) at = (at as Record<string, unknown> | null | undefined)?.[name];
  return typeof at === "number" ? at : Number.NaN;
}

export function judge(described: Described, metrics: Metrics): Verdict[] {
  return described.expect.map(({ text, comparison, measured }) => {
    const found = measured.map((each) => ({ ...each, value: measuredIn(metrics, each.flow, each.column) }));
    const wrong = found.find(({ value, bound }) => !HOLDS[comparison](value, bound));
    const told = wrong ?? found[0];
    return { text, met: !wrong, measured: told ? words(told.value, told.bound, told.unit, text) : "nothing" };
  });
}

/** Returns a value with its unit, as `fullpipe check` has it: by the larger of the value and its bound. */
function words(value: number, bound: number, unit: string, condition: string): string {
  if (Number.isNaN(value)) return "no value";
  const largest = Math.max(value, bound);
  if (unit === "bit/s") {
    const [worth, name] = largest >= 1e9 ? [1e9, "Gbit/s"] : largest >= 1e6 ? [1e6, "Mbit/s"] : [1e3, "kbit/s"];
    return `${rounded(value / worth)} ${name}`;
  }
  if (unit === "s") return largest >= 10 ? `${rounded(value)} s` : `${rounded(value * 1e3)} ms`;
  if (unit === "B") return `${rounded(value / 1e6)} MB`;
  if (unit) return `${rounded(value)} ${unit}`;
  return condition.includes("%") ? `${rounded(value * 100)} %` : rounded(value);
}

/** Returns the verdicts as a list; an empty text without any. */
export function shown(verdicts: Verdict[]): HTMLElement | string {
  if (!verdicts.length) return "";
  const items = verdicts.map(({ text, met, measured }) =>
    element(
      "li",
      {},
      element("span", { class: met ? "better" : "worse" }, met ? "✓ met" : "✗ missed"),
      " ",
      element("code", {}, text),
      `: ${measured}`,
    ),
  );
  return element("ul", { class: "verdicts", "aria-label": "Conditions of expect" }, ...items);
}
