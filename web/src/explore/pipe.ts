// A picture of the path at one time: packets on their way, the queue by flow, drops.

import { grid, ink } from "../theme";
import { flowColor } from "./colors";
import { flowOf, numbers, type Shown, type Tables, word } from "./format";

/** Where along the picture the queue stands, and how long a dropped packet falls, in RTTs. */
const [QUEUE, FALL] = [0.3, 0.25];

export interface Packets {
  from: number;
  to: number;
  trace: Tables;
}

/** Returns the last row at or before a time; -1 before the first. */
export function rowAt(time: Float32Array | Float64Array, at: number): number {
  let [low, high] = [0, time.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((time[middle] ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Draws the path; returns the number of packets under way. */
export function drawPipe(canvas: HTMLCanvasElement, shown: Shown, packets: Packets | null, at: number): number {
  const context = canvas.getContext("2d");
  if (!context) return 0;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  canvas.width = width * devicePixelRatio;
  canvas.height = height * devicePixelRatio;
  context.scale(devicePixelRatio, devicePixelRatio);
  const [left, right, lane] = [8, width - 8, height * 0.42];
  const x = (share: number) => left + (right - left) * share;
  context.font = "12px system-ui, sans-serif";
  context.fillStyle = ink();
  context.fillText("senders", left, 14);
  context.textAlign = "center";
  context.fillText("queue", x(QUEUE), 14);
  context.textAlign = "right";
  context.fillText("receivers", right, 14);
  context.strokeStyle = grid();
  context.lineWidth = 1;
  context.strokeRect(x(QUEUE), lane - 16, right - x(QUEUE), 32);
  drawQueue(context, shown, at, x(QUEUE), lane);
  return packets ? drawPackets(context, shown, packets, at, x, lane, height) : 0;
}

function drawQueue(context: CanvasRenderingContext2D, shown: Shown, at: number, end: number, lane: number): void {
  const time = numbers(shown.trace, "queues", "time");
  const bytes = numbers(shown.trace, "queues", "queue_bytes");
  const room = Math.max(shown.described.buffer_bytes, 1);
  const length = end * 0.6;
  context.strokeStyle = grid();
  context.strokeRect(end - length, lane - 16, length, 32);
  let [row, from] = [rowAt(time, at), end];
  const now = time[row];
  const waiting: [number, number][] = [];
  for (; row >= 0 && time[row] === now; row--) {
    waiting.unshift([flowOf(shown, "queues", row), bytes[row] ?? 0]);
  }
  for (const [flow, each] of waiting) {
    const part = Math.min((each / room) * length, from - (end - length));
    context.fillStyle = flowColor(shown.described, flow);
    context.fillRect(from - part, lane - 15, part, 30);
    from -= part;
  }
}

function drawPackets(
  context: CanvasRenderingContext2D,
  shown: Shown,
  { trace }: Packets,
  at: number,
  x: (share: number) => number,
  lane: number,
  height: number,
): number {
  const column = (name: string) => numbers(trace, "packets", name);
  const [time, flows, access, queue, path] = ["time", "flow", "access", "queue", "path"].map(column);
  if (!time || !flows || !access || !queue || !path) return 0;
  const rtt = Math.max(shown.described.rtt_s, 1e-4);
  const colors = shown.described.flows.map((_, flow) => flowColor(shown.described, flow));
  let underWay = 0;
  for (let row = rowAt(time, at); row >= 0 && at - (time[row] ?? 0) < 20 * rtt + 2; row--) {
    const age = at - (time[row] ?? 0) - (access[row] ?? 0);
    context.fillStyle = colors[flows[row] ?? 0] ?? ink();
    if (Number.isNaN(path[row])) {
      const share = age / (FALL * rtt);
      if (word(trace, "packets", "fate", row) === "under way") {
        underWay++;
        continue;
      }
      if (share < 0 || share > 1) continue;
      const y = lane + 20 + share * (height - lane - 34);
      context.font = "bold 15px system-ui, sans-serif";
      context.textAlign = "center";
      context.fillText("×", x(QUEUE) - 10, y);
      continue;
    }
    const crossing = (age - (queue[row] ?? 0)) / (path[row] || 1e-9);
    if (crossing > 1) continue;
    underWay++;
    if (crossing < 0) continue; // it waits, and the queue's bar shows it
    context.fillRect(x(QUEUE + (1 - QUEUE) * crossing) - 2, lane - 10 + ((row * 7) % 17), 4, 4);
  }
  return underWay;
}
