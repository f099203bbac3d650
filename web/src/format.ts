// Types of the data of a report's page. tools/page_format.py writes this file from page_data.py.

export const VERSION = 5;

/** Some points of a level. */
export interface Chunk {
  late: boolean;
  at: number;
  size: number;
  count: number;
  tick: number;
  first: number;
  last: number;
}

/** A track: its levels of detail, from the finest to the coarsest, each as chunks in order of time. */
export interface Points {
  levels: Chunk[][];
}

/** Times in states: index of the word, begin and end in seconds, for each. */
export interface Stays {
  word: number[];
  since: number[];
  till: number[];
}

/** Requests or transfers: begin and end in seconds, and a text, for each. */
export interface Spans {
  start: number[];
  end: number[];
  text: string[];
}

/** A flow, a link, a flow's part of a queue, a workload, or the run as a whole. */
export interface Source {
  name: string;
  kind: string;
  algorithm: string;
  color: number;
  dash: number;
  tracks: Record<string, Points>;
  stays: Record<string, Stays>;
  spans: Spans;
}

/** A change of the path. */
export interface Change {
  time: number;
  text: string;
}

/** A recorded run. */
export interface Run {
  label: string;
  command: string;
  end: number;
  measureFrom: number;
  changes: Change[];
  notes: Record<string, string>;
  near: number[];
  sources: Source[];
}

/** A column of all sources of a kind, in a panel. */
export interface Curve {
  of: string;
  column: string;
  style: string;
}

/** A chart of a run, see :class:`fullpipe.report.model.Panel`. */
export interface Panel {
  key: string;
  title: string;
  unit: string;
  curves: Curve[];
  view: string;
  stays: string;
  behind: string;
  ticks: string[];
  first: boolean;
}

/** Title and unit of a column. */
export interface Column {
  title: string;
  unit: string;
}

/** Runs over time. */
export interface Timeline {
  panels: Panel[];
  columns: Record<string, Column>;
  words: string[];
  wordColors: string[];
  wordColorsOnDark: string[];
  runs: Run[];
  first: number[];
}

/** A line of a chart: its label, indices of color, dashes, shade and mark, and values; null makes a gap. */
export interface Line {
  label: string;
  color: number;
  dash: number;
  shade: number;
  mark: number;
  x: (number | null)[];
  y: (number | null)[];
  low: (number | null)[];
  high: (number | null)[];
}

/** A chart of lines that is not over time, perhaps in a row of charts; with marks, these are the ticks of x. */
export interface Chart {
  title: string;
  row: string;
  x: string;
  y: string;
  marks: number[];
  stepped: boolean;
  logX: boolean;
  logY: boolean;
  lines: Line[];
}

/** All data of a page. */
export interface Data {
  format: "fullpipe-report";
  version: number;
  colors: string[];
  onDark: string[];
  dashes: number[][];
  charts: Chart[];
  timelines: Timeline[];
}
