// The lines of the charts: columns of a trace by flow or link.
import { type Described, numbers, type Shown, type Tables } from "./format";

/** A line of a chart. `flow` is below zero for a link: -1 for the first. */
export interface Line {
  label: string;
  flow: number;
  pinned: boolean;
  /** What it is beside the chart's own value, drawn in its own way: see `STYLES` in charts.ts. */
  kind: "value" | "inflight" | "rate" | "bdp";
  time: number[];
  values: (number | null)[];
}

/** The most flows that have lines and places in lists: more would only hide each other, and cost seconds. */
export const MOST = 60;

/** Returns the numbers of the flows to show: the first ones of each algorithm. */
export function chosen(flows: { cc: string }[], most = MOST): number[] {
  if (flows.length <= most) return [...flows.keys()];
  const counts = new Map<string, number>();
  const before = flows.map(({ cc }) => {
    const count = counts.get(cc) ?? 0;
    counts.set(cc, count + 1);
    return count;
  });
  const order = [...flows.keys()].sort((a, b) => (before[a] ?? 0) - (before[b] ?? 0) || a - b);
  return order.slice(0, most).sort((a, b) => a - b);
}

/** The most flows for which data in flight is shown: more lines could not be told from each other. */
const FEW = 7;

const known = (value: number | undefined, scale: number) =>
  value === undefined || Number.isNaN(value) ? null : value * scale;

/** Returns a function that computes its result once for each trace or run. */
function once<Of extends object, Result>(make: (of: Of) => Result): (of: Of) => Result {
  const known = new WeakMap<Of, Result>();
  return (of) => {
    const before = known.get(of);
    if (before !== undefined) return before;
    const made = make(of);
    known.set(of, made);
    return made;
  };
}

function rowsBy(trace: Tables, table: string, column: string): number[][] {
  const rows: number[][] = [];
  numbers(trace, table, column).forEach((of, row) => {
    let all = rows[of];
    if (!all) {
      all = [];
      rows[of] = all;
    }
    all.push(row);
  });
  return rows;
}

/** Returns the rows of each flow. */
export const byFlow = once((trace: Tables) => rowsBy(trace, "flows", "flow"));
const byLink = once((trace: Tables) => rowsBy(trace, "links", "link"));
const ofLink = (trace: Tables, link: number) => byLink(trace)[link] ?? [];

/** Returns a line of one column for each flow that is shown. */
export function ofColumn({ described, trace }: Shown, name: string, scale: number, pinned: boolean): Line[] {
  const [time, values] = [numbers(trace, "flows", "time"), numbers(trace, "flows", name)];
  const rowsOf = byFlow(trace);
  return chosen(described.flows).map((flow) => {
    const rows = rowsOf[flow] ?? [];
    return {
      label: described.flows[flow]?.name ?? `flow ${flow}`,
      flow,
      pinned,
      kind: "value",
      time: rows.map((row) => time[row] ?? 0),
      values: rows.map((row) => known(values[row], scale)),
    };
  });
}

/** Returns a line per flow of the rate at which its data is delivered, over a two-hundredth of the run. */
function delivered(shown: Shown, pinned: boolean): Line[] {
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

/** Returns a line of the means over equal parts of the run, each at the time of one of its samples. */
function means(line: Line, duration: number, parts: number): Line {
  const [time, values]: [number[], number[]] = [[], []];
  let [part, first, sum, count] = [-1, 0, 0, 0];
  const end = (behind: number) => {
    if (!count) return;
    time.push(line.time[(first + behind) >> 1] ?? 0);
    values.push(sum / count);
    [sum, count] = [0, 0];
  };
  line.time.forEach((at, row) => {
    const now = Math.floor((at / duration) * parts);
    if (now !== part) {
      end(row - 1);
      [part, first] = [now, row];
    }
    const value = line.values[row];
    if (value == null) return;
    sum += value;
    count++;
  });
  end(line.time.length - 1);
  return { ...line, time, values };
}

/** Returns the links that data cross: ACKs alone cross the others. */
export function dataLinks({ links, scenario }: Described): number[] {
  const routes = [...(scenario.flow ?? []), ...(scenario.workload ?? [])].map(({ route }) => route as string[]);
  const crossed = new Set(routes.flat());
  return [...links.keys()].filter((link) => crossed.has(links[link] ?? ""));
}

/** Returns a line per link that data cross of its rate, with a point where it changes. */
const linkRates = once(({ described, trace }: Shown): Line[] => {
  const [all, end] = [numbers(trace, "links", "rate"), described.duration_s];
  const times = numbers(trace, "links", "time");
  const links = dataLinks(described);
  return links.map((link) => {
    const line: Line = {
      label: links.length > 1 ? `rate of ${described.links[link]}` : "link rate",
      flow: -1,
      pinned: false,
      kind: "rate",
      time: [0, end],
      values: link === 0 ? [described.rate_bps / 1e6, described.rate_bps / 1e6] : [null, null],
    };
    // The trace of a run that goes on has no rates yet.
    if (!all.length) return line;
    const rows = ofLink(trace, link);
    const [time, values] = [rows.map((row) => times[row] ?? 0), rows.map((row) => known(all[row], 1e-6))];
    const mean = means({ ...line, time, values }, end, 200);
    const changes = [...mean.values.keys()].filter((at) => mean.values[at] !== mean.values[at - 1]);
    const last = mean.values.at(-1) ?? null;
    const begin = changes.map((at, number) => (number ? (mean.time[at] ?? 0) : 0));
    return { ...line, time: [...begin, end], values: [...changes.map((at) => mean.values[at] ?? null), last] };
  });
});

export const rates = (shown: Shown, pinned: boolean): Line[] => [
  ...delivered(shown, pinned),
  ...(pinned ? [] : linkRates(shown)),
];

/** Whether the propagation delay follows a trace: `path.rtt` is then not the path's. */
export function isTraced(path: Record<string, unknown> = {}): boolean {
  const { delay_trace: there = "off", reverse_delay_trace: back = "off" } = path;
  return there !== "off" || back !== "off";
}

/** Returns the BDP of the path; none if keys of the path change, data cross several links, or the delay follows a trace. */
function bdp(shown: Shown): Line[] {
  const { rtt_s: rtt, scenario } = shown.described;
  const lines = linkRates(shown);
  if (lines.length !== 1 || !rtt || scenario.path?.change || isTraced(scenario.path)) return [];
  return lines.map((line) => ({
    ...line,
    label: "BDP",
    kind: "bdp",
    values: line.values.map((rate) => (rate === null ? null : (rate * rtt * 1e3) / 8)),
  }));
}

/** Returns the congestion windows, below them the data in flight, and the BDP. */
export function windows(shown: Shown, pinned: boolean): Line[] {
  const windows = ofColumn(shown, "cwnd", 1e-3, pinned);
  if (pinned) return windows;
  const few = shown.described.flows.length <= FEW;
  const inflight = few ? ofColumn(shown, "inflight", 1e-3, false) : [];
  const pale = inflight.map(
    (line): Line => ({
      ...means(line, shown.described.duration_s, 300),
      label: `${line.label}, in flight`,
      kind: "inflight",
    }),
  );
  return [...pale, ...windows, ...bdp(shown)];
}

export function queues({ described, trace }: Shown, pinned: boolean): Line[] {
  const [time, bytes] = [numbers(trace, "links", "time"), numbers(trace, "links", "queue_bytes")];
  return described.links.map((label, link) => {
    const rows = ofLink(trace, link);
    return {
      label,
      flow: -1 - link,
      pinned,
      kind: "value",
      time: rows.map((row) => time[row] ?? 0),
      values: rows.map((row) => known(bytes[row], 1e-3)),
    };
  });
}

/** Times between samples within which packets were dropped or marked, and their number. */
export interface Events {
  name: "drops" | "marks";
  count: number;
  spans: [number, number][];
}

/** Returns the drops and the CE marks of all links. */
export function events({ described, trace }: Shown): Events[] {
  const time = numbers(trace, "links", "time");
  return (["drops", "marks"] as const).map((name) => {
    const column = numbers(trace, "links", name);
    const found: Events = { name, count: 0, spans: [] };
    described.links.forEach((_, link) => {
      let [before, from] = [0, 0];
      for (const row of ofLink(trace, link)) {
        const [now, count] = [time[row] ?? 0, column[row] ?? 0];
        if (count > before) found.spans.push([from, now]);
        [before, from] = [count, now];
      }
      found.count += before;
    });
    return found;
  });
}
