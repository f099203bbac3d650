// What the page, its worker and the engine say to each other.

import type { Lesson } from "./lessons";
import type { About } from "./own";

export interface Column {
  name: string;
  unit: string;
  kind: "f32" | "f64";
  at: number;
  rows: number;
  labels: string[] | null;
}

export interface Table {
  name: string;
  columns: Column[];
}

/** A scenario as the engine has read it. */
export interface Described {
  title: string | null;
  /** With every default; each `count` is expanded. */
  scenario: {
    duration?: string;
    path?: Record<string, unknown>;
    flow?: Record<string, unknown>[];
    workload?: Record<string, unknown>[];
  };
  duration_s: number;
  seed: number;
  rate_bps: number;
  rtt_s: number;
  buffer_bytes: number;
  profile: string | null;
  flows: { name: string; cc: string; start_s: number }[];
  links: string[];
}

/** The verdict of a condition of `expect` on one of its metrics. */
export interface Verdict {
  /** The condition with its subject. */
  name: string;
  met: boolean;
  /** What was measured, in words. */
  shown: string;
}

/** The trace of a run: descriptions of columns, and their numbers. */
export interface Tables {
  tables: Table[];
  block: ArrayBuffer;
}

/** A run, or its part so far. */
export interface Shown {
  described: Described;
  trace: Tables;
  /** Its scenario. */
  text: string;
  /** Null until the run is over. */
  metrics: Metrics | null;
  /** Empty until then. */
  verdicts: Verdict[];
}

export type Ask =
  | { kind: "engine"; packed: ArrayBuffer }
  | { kind: "run"; id: number; text: string }
  | { kind: "packets"; id: number; text: string; from: number; to: number }
  | { kind: "stop" };

export type Answer =
  | { kind: "ready"; version: string; own: About | null }
  | { kind: "alive"; id: number; patience_ms?: number }
  | { kind: "opened"; id: number; described: Described; interval_ns: number }
  | { kind: "refused"; id: number; error: string; key?: string; thrown?: boolean }
  | { kind: "progress"; id: number; now: number; trace: Tables }
  | {
      kind: "done";
      id: number;
      stopped: boolean;
      hash: string;
      trace: Tables;
      metrics: Metrics;
      verdicts: Verdict[];
      wall_ms: number;
    }
  | { kind: "packets"; id: number; from: number; to: number; trace: Tables };

export interface Metrics {
  flows: {
    name: string;
    cc: string;
    goodput_bps: number;
    retransmits: number;
    rtt_s: { p50?: number | null } | null;
    drift?: Record<string, Course>;
  }[];
  links: {
    name: string;
    utilization: number;
    drops: number;
    marks: number;
    queue_delay_s: { max?: number | null } | null;
    drift?: Record<string, Course>;
  }[];
  steadiness: {
    verdict: "steady" | "drifts" | "changes" | "untested";
    /** Changes on purpose within the measured window, in clauses. */
    changes: string;
    drifting: { of: "flow" | "link"; name: string; metric: string; test: "trend" | "warm-up" }[];
  };
}

/** The course of a number within the measured window: means of its first and its last third. */
export interface Course {
  first: number;
  last: number;
  warm_up_s?: number;
  settled?: number;
}

/** An algorithm's parameter, as its descriptor declares it. */
export interface Param {
  name: string;
  unit: string;
  default: number | boolean | string;
  range: [number, number] | null;
  choices: string[] | null;
  purpose: string;
}

export interface Catalogue {
  name: string;
  text: string;
  algorithms: { name: string; purpose: string; color: number; params: Param[] }[];
  queues: { name: string; purpose: string; needs_buffer: boolean }[];
  profiles: { name: string; purpose: string }[];
  scenarios: Record<string, string>;
  /** Colors of states, on white and on a dark page, in the order of legends. */
  states: Record<string, [string, string]>;
  /** Colors of states that an algorithm of the reader's has, in turn. */
  otherStates: [string, string][];
  lessons: Lesson[];
  /** The name of the lesson to begin with. */
  lesson: string | null;
}

/** Returns the numbers of a column; empty without it. */
export function numbers(trace: Tables, table: string, name: string): Float32Array | Float64Array {
  const column = find(trace, table, name);
  if (!column) return new Float64Array();
  const kind = column.kind === "f32" ? Float32Array : Float64Array;
  return new kind(trace.block, column.at, column.rows);
}

/** Returns a function that returns the word of a row; null without one. */
export function words(trace: Tables, table: string, name: string): (row: number) => string | null {
  const [labels, codes] = [find(trace, table, name)?.labels, numbers(trace, table, name)];
  return (row) => labels?.[codes[row] ?? -1] ?? null;
}

/** Returns the word of a row; null without one. */
export const word = (trace: Tables, table: string, name: string, row: number): string | null =>
  words(trace, table, name)(row);

/** Returns the number of the flow that a row is about, whether the table names flows or numbers them; -1 for none. */
export function flowOf({ described, trace }: Shown, table: string, row: number): number {
  const name = word(trace, table, "flow", row);
  if (name !== null) return described.flows.findIndex((flow) => flow.name === name);
  return numbers(trace, table, "flow")[row] ?? -1;
}

function find(trace: Tables, table: string, name: string): Column | undefined {
  return trace.tables.find((each) => each.name === table)?.columns.find((each) => each.name === name);
}
