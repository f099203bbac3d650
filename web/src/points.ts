// Reads tracks: chunks of points at several levels of detail, decoded when they are first drawn.
import type { Chunk, Points } from "./format";

export interface Line {
  x: Float64Array;
  y: Float32Array;
}

const texts = new Map<string, string>();
const decoded = new Map<Chunk, Promise<Line>>();

/** Returns the text of an element with points; that of later points, when the browser has read them. */
async function store(late: boolean): Promise<string> {
  const id = late ? "late" : "points";
  if (late && document.readyState === "loading") {
    await new Promise((done) => document.addEventListener("DOMContentLoaded", done, { once: true }));
  }
  const text = texts.get(id) ?? document.getElementById(id)?.textContent ?? "";
  texts.set(id, text);
  return text;
}

async function inflate(packed: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Puts the bytes of 4-byte numbers, stored byte by byte, together. */
function planes(bytes: Uint8Array, at: number, count: number): ArrayBuffer {
  const whole = new Uint8Array(4 * count);
  for (let plane = 0; plane < 4; plane++) {
    const from = at + plane * count;
    for (let number = 0; number < count; number++) whole[4 * number + plane] = bytes[from + number] ?? 0;
  }
  return whole.buffer;
}

async function decode(chunk: Chunk): Promise<Line> {
  const text = await store(chunk.late);
  const packed = Uint8Array.from(atob(text.slice(chunk.at, chunk.at + chunk.size)), (letter) => letter.charCodeAt(0));
  const bytes = await inflate(packed);
  const steps = new Uint32Array(planes(bytes, 0, chunk.count));
  const y = new Float32Array(planes(bytes, 4 * chunk.count, chunk.count));
  const x = new Float64Array(chunk.count);
  let ticks = 0;
  for (let at = 0; at < chunk.count; at++) {
    ticks += steps[at] ?? 0;
    x[at] = chunk.first + ticks * chunk.tick;
  }
  return { x, y };
}

function read(chunk: Chunk): Promise<Line> {
  let found = decoded.get(chunk);
  if (!found) {
    found = decode(chunk);
    decoded.set(chunk, found);
  }
  return found;
}

/** Returns the chunks of a level that have points within a range, or beside it. */
function within(level: Chunk[], min: number, max: number): Chunk[] {
  const first = level.findLastIndex((chunk) => chunk.first <= min);
  const last = level.findIndex((chunk) => chunk.last >= max);
  return level.slice(Math.max(first, 0), last < 0 ? level.length : last + 1);
}

/** Estimates the number of points of a level within a range. */
function count(level: Chunk[], min: number, max: number): number {
  return within(level, min, max).reduce((sum, chunk) => {
    const span = chunk.last - chunk.first;
    const part = span > 0 ? (Math.min(max, chunk.last) - Math.max(min, chunk.first)) / span : 1;
    return sum + chunk.count * Math.max(part, 0);
  }, 0);
}

/** Returns the points within a range, and one beside each end, of the finest level that has at most `most` there. */
export async function points(track: Points, min: number, max: number, most: number): Promise<Line> {
  const level = track.levels.find((each) => count(each, min, max) <= most) ?? track.levels.at(-1) ?? [];
  const parts = await Promise.all(within(level, min, max).map(read));
  const x: number[] = [];
  const y: number[] = [];
  for (const part of parts) {
    let from = lower(part.x, min) - 1;
    const to = Math.min(lower(part.x, max) + 1, part.x.length);
    for (from = Math.max(from, 0); from < to; from++) {
      x.push(part.x[from] as number);
      y.push(part.y[from] as number);
    }
  }
  return { x: Float64Array.from(x), y: Float32Array.from(y) };
}

/** Returns the index of the first value that is not below `wanted`. */
export function lower(values: ArrayLike<number>, wanted: number): number {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((values[middle] as number) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the value of a line at some time: between two points, that of the line through them; null outside. */
export function valueAt(line: Line, time: number): number | null {
  const at = lower(line.x, time);
  if (at === line.x.length || (at === 0 && line.x[0] !== time)) return null;
  const [x1, y1] = [line.x[at] as number, line.y[at] as number];
  if (x1 === time || at === 0) return y1;
  const [x0, y0] = [line.x[at - 1] as number, line.y[at - 1] as number];
  return y0 + ((y1 - y0) * (time - x0)) / (x1 - x0);
}

/** Returns the mean increase per second of a growing count, in bins of a width, as a line through their middles. */
export function rate(line: Line, min: number, max: number, width: number): Line {
  const x: number[] = [];
  const y: number[] = [];
  const first = line.x[0] ?? 0;
  const last = line.x.at(-1) ?? 0;
  // Bins begin at the first point, so that those of a coarse track are its own intervals.
  const skipped = Math.max(Math.floor((min - first) / width), 0);
  for (let number = skipped; first + number * width < Math.min(max, last); number++) {
    const from = first + number * width;
    const to = Math.min(from + width, last);
    const [begin, end] = [valueAt(line, from), valueAt(line, to)];
    if (begin === null || end === null || to - from < width * 0.99) continue;
    x.push((from + to) / 2);
    y.push((end - begin) / (to - from));
  }
  return { x: Float64Array.from(x), y: Float32Array.from(y) };
}
