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
