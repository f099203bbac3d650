// A run's results: the verdicts on them, and a table with those of the pinned run beside them.
import { element, rounded } from "../theme";
import type { Metrics, Verdict } from "./format";

type Flow = Metrics["flows"][number];
type Link = Metrics["links"][number];

const COLUMNS: [string, (flow: Flow) => string][] = [
  ["Goodput, Mbit/s", (flow) => rounded(flow.goodput_bps / 1e6)],
  ["RTT p50, ms", (flow) => rounded((flow.rtt_s?.p50 ?? Number.NaN) * 1e3)],
  ["Retransmissions", (flow) => `${flow.retransmits}`],
];
const LINK: [string, (link: Link) => string][] = [
  ["utilization", (link) => `${rounded(link.utilization * 100)}%`],
  ["drops", (link) => `${link.drops}`],
  ["marks", (link) => `${link.marks}`],
];

/** Greatest count of drifting numbers in the line. */
const MOST_TOLD = 3;
/** Words, unit and scale of the numbers that are tested for drift. */
const DRIFTS: Record<string, [string, string, number]> = {
  goodput_bps: ["goodput", " Mbit/s", 1e-6],
  rtt_s: ["RTT", " ms", 1e3],
  queue_delay_s: ["queueing delay", " ms", 1e3],
  loss_fraction: ["retransmission rate", "%", 100],
  utilization: ["utilization", "%", 100],
};

/** Returns flows or links of two runs in pairs: those of one name, then those left over in their order. */
function pairs<Kind extends { name: string }>(now: Kind[], pinned: Kind[]): [Kind | null, Kind | null][] {
  const left = pinned.filter(({ name }) => !now.some((each) => each.name === name));
  const found = now.map((each): [Kind, Kind | null] => {
    const same = pinned.find(({ name }) => name === each.name);
    return [each, same ?? left.shift() ?? null];
  });
  return [...found, ...left.map((each): [null, Kind] => [null, each])];
}

/** Returns the names of a pair. */
function named(now: { name: string } | null, pinned: { name: string } | null): string {
  const before = pinned && pinned.name !== now?.name ? `pinned ${pinned.name}` : "";
  return [now?.name, before].filter(Boolean).join(", ");
}

/** Returns the list of verdicts; nothing without any. */
export function verdictsOf(verdicts: Verdict[]): HTMLElement[] {
  if (!verdicts.length) return [];
  const items = verdicts.map(({ name, met, shown }) =>
    element(
      "li",
      {},
      element("span", { class: met ? "better" : "worse" }, met ? "✓ met" : "✗ missed"),
      " ",
      element("code", {}, name),
      `: ${shown}`,
    ),
  );
  return [element("ul", { class: "verdicts", "aria-label": "Conditions of expect" }, ...items)];
}

/** Returns a line on the numbers that drift within the measured window, or are not tested; nothing if all are steady. */
export function steadinessOf({ flows, links, steadiness }: Metrics): HTMLElement[] {
  const said = steadiness.drifting.slice(0, MOST_TOLD).map(({ of, name, metric, test }) => {
    const course = (of === "flow" ? flows : links).find((each) => each.name === name)?.drift?.[metric];
    const [words, unit, scale] = DRIFTS[metric] ?? [metric, "", 1];
    const shown = (value: number | undefined): string => rounded((value ?? Number.NaN) * scale) + unit;
    return test === "warm-up"
      ? `${words} of ${name} is ${shown(course?.settled)} from ${rounded(course?.warm_up_s ?? Number.NaN)} s on`
      : `${words} of ${name} goes from ${shown(course?.first)} to ${shown(course?.last)}`;
  });
  const more = steadiness.drifting.length - said.length;
  if (more > 0) said.push(`and ${more} more`);
  const texts = {
    steady: "",
    drifts: `Not steady within the measured window: ${said.join("; ")}.`,
    changes: `Not tested for drift: ${steadiness.changes}.`,
    untested: "Not tested for drift: the window is too short.",
  };
  const text = texts[steadiness.verdict];
  return text ? [element("p", { class: "note steadiness" }, text)] : [];
}

/** Returns the table of flows and a line about the links. */
export function tableOf(now: Metrics, pinned: Metrics | null | undefined): HTMLElement[] {
  const heads = COLUMNS.map(([title]) =>
    element("th", pinned ? { colspan: "2", scope: "colgroup" } : { scope: "col" }, title),
  );
  const rows = [element("tr", {}, element("th", { scope: "col" }, "Flow"), ...heads)];
  if (pinned) {
    const below = COLUMNS.flatMap(() => ["now", "pinned"]).map((each) => element("th", { scope: "col" }, each));
    rows.push(element("tr", {}, element("th"), ...below));
  }
  const body = pairs(now.flows, pinned?.flows ?? []).map(([flow, before]) =>
    element(
      "tr",
      {},
      element("td", {}, named(flow, before)),
      ...COLUMNS.flatMap(([, value]) => {
        const cells = [element("td", {}, flow ? value(flow) : "–")];
        if (pinned) cells.push(element("td", { class: "pinned" }, before ? value(before) : "–"));
        return cells;
      }),
    ),
  );
  const links = pairs(now.links, pinned?.links ?? []).map(([link, before]) => {
    const values = LINK.map(([name, value]) => {
      const beside = pinned ? ` (pinned ${before ? value(before) : "–"})` : "";
      const shown = link ? value(link) : "–";
      return name === "utilization" ? `${name} ${shown}${beside}` : `${shown}${beside} ${name}`;
    });
    return `${named(link, before)}: ${values.join(", ")}`;
  });
  return [
    element("table", {}, element("thead", {}, ...rows), element("tbody", {}, ...body)),
    element("p", { class: "note" }, links.join(" · ")),
  ];
}
