// Runs the engine, one run at a time, in slices between which a newer request or "stop" is heard.
import type { Answer, Ask, Described, Metrics, Table, Tables, Verdict } from "./format";
import { about, type Caller, Calls, type Layouts, ownClass } from "./own";

interface Engine extends Caller {
  text(length: number): number;
  open(interval: bigint): number;
  log_packets(from: bigint, to: bigint): void;
  advance(steps: bigint): number;
  advance_to(at: bigint): number;
  now(): number;
  so_far(): void;
  finish(): void;
  version(): void;
  own(): void;
  reply_at(): number;
  reply_length(): number;
  block_at(): number;
  block_length(): number;
}

/** Rows of the trace per flow, about, and of all flows of a run with many; each flow has some. */
const [ROWS, ROWS_OF_ALL, LEAST_ROWS] = [3000, 300_000, 200];
const [SLICE_MS, PICTURE_MS, ALIVE_MS] = [12, 300, 100];
/** How long a scenario may take to open, in which each flow makes its algorithm. */
const OPEN_MS = 4000;
const SECOND = 1e9;

let module: WebAssembly.Module | undefined;
let engine: Engine | undefined;
let latest = 0;
let heard = 0;
let stopped = false;
let calls: Calls | undefined;

const say = (answer: Answer, moved: Transferable[] = []) => postMessage(answer, { transfer: moved });
const tick = new MessageChannel();
const pause = () =>
  new Promise<void>((resolve) => {
    tick.port1.onmessage = () => resolve();
    tick.port2.postMessage(0);
  });

function reply<Kind>(of: Engine): Kind {
  const bytes = new Uint8Array(of.memory.buffer, of.reply_at(), of.reply_length());
  return JSON.parse(new TextDecoder().decode(bytes)) as Kind;
}

function block(of: Engine): ArrayBuffer {
  return of.memory.buffer.slice(of.block_at(), of.block_at() + of.block_length()) as ArrayBuffer;
}

/** Puts a text where the engine reads it. */
function give(of: Engine, text: string): void {
  const bytes = new TextEncoder().encode(text);
  const room = of.text(bytes.length); // before a look at the memory, which it may move
  new Uint8Array(of.memory.buffer, room, bytes.length).set(bytes);
}

/** Makes an engine; a class of the reader becomes one of its algorithms. */
function make(of: WebAssembly.Module): [Engine, Answer & { kind: "ready" }] {
  const own = ownClass();
  calls = new Calls(own);
  const made = new WebAssembly.Instance(of, calls.imports).exports as unknown as Engine;
  made.version();
  const { version, layouts, methods } = reply<{ version: string; layouts: Layouts; methods: string[] }>(made);
  calls.begin(made, layouts, methods);
  if (!own) return [made, { kind: "ready", version, own: null }];
  const told = about(own, methods, layouts);
  give(made, JSON.stringify(told));
  made.own();
  return [made, { kind: "ready", version, own: told }];
}

/** Tells the page now and then that a run goes on. */
function alive(id: number): void {
  if (performance.now() - heard < ALIVE_MS) return;
  heard = performance.now();
  say({ kind: "alive", id });
}

/** Tells the page that this worker will be silent for longer than a call of the reader's class may take. */
function busy(id: number, patience_ms = Number.POSITIVE_INFINITY): void {
  heard = performance.now();
  say({ kind: "alive", id, patience_ms });
}

/** What is wrong with a scenario, and the key that it is about. */
interface Refusal {
  error: string;
  key: string;
}

function open(of: Engine, text: string, interval: number): Described | Refusal {
  give(of, text);
  of.open(BigInt(interval));
  return reply<Described | Refusal>(of);
}

/** Returns an interval of 1, 2 or 5 times a power of ten. */
function suited({ duration_s, flows }: Described): number {
  const rows = Math.max(Math.min(ROWS, ROWS_OF_ALL / Math.max(flows.length, 1)), LEAST_ROWS);
  const exact = Math.max(duration_s / rows, 1e-6);
  const power = 10 ** Math.floor(Math.log10(exact));
  const step = [1, 2, 5, 10].find((each) => each * power >= exact * 0.999) ?? 10;
  return Math.round(step * power * SECOND);
}

async function run(of: Engine, id: number, text: string): Promise<void> {
  const begun = performance.now();
  busy(id, OPEN_MS);
  const first = open(of, text, SECOND);
  if ("error" in first) return say({ kind: "refused", id, error: first.error, key: first.key });
  const interval = suited(first);
  const described = open(of, text, interval);
  if ("error" in described) return say({ kind: "refused", id, error: described.error });
  say({ kind: "opened", id, described, interval_ns: interval });
  let shown = performance.now();
  let over = false;
  while (!over && !stopped) {
    const slice = performance.now();
    while (!over && performance.now() - slice < SLICE_MS) over = of.advance(2000n) !== 0;
    await pause();
    if (latest !== id) return;
    alive(id);
    if (!over && performance.now() - shown > PICTURE_MS) {
      shown = performance.now();
      of.so_far();
      const { tables } = reply<{ tables: Table[] }>(of);
      const trace: Tables = { tables, block: block(of) };
      say({ kind: "progress", id, now: of.now(), trace }, [trace.block]);
    }
  }
  // It calls no method of a class.
  busy(id);
  of.finish();
  const said = reply<{ tables: Table[]; hash: string; metrics: Metrics; verdicts: Verdict[] }>(of);
  const trace: Tables = { tables: said.tables, block: block(of) };
  const { hash, metrics, verdicts } = said;
  const wall_ms = performance.now() - begun;
  say({ kind: "done", id, stopped: !over, hash, metrics, verdicts, trace, wall_ms }, [trace.block]);
}

/** Runs until a window of time has passed, and answers with the packets that were sent in it. */
async function packets(of: Engine, ask: Ask & { kind: "packets" }): Promise<void> {
  if ("error" in open(of, ask.text, SECOND)) return;
  const at = (seconds: number) => BigInt(Math.round(seconds * SECOND));
  of.log_packets(at(ask.from), at(ask.to));
  for (let over = false; !over && of.now() < ask.to; ) {
    const slice = performance.now();
    while (!over && of.now() < ask.to && performance.now() - slice < SLICE_MS) {
      over = of.advance_to(at(Math.min(of.now() + 0.05, ask.to))) !== 0;
    }
    await pause();
    if (latest !== ask.id) return;
    alive(ask.id);
  }
  of.finish();
  const trace: Tables = { tables: reply<Tables>(of).tables, block: block(of) };
  say({ kind: "packets", id: ask.id, from: ask.from, to: ask.to, trace }, [trace.block]);
}

const words = (error: unknown) => (error instanceof Error ? error.message : `${error}`);

async function handle(ask: Ask): Promise<void> {
  if (ask.kind === "engine") {
    const unpacked = new Blob([ask.packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    module = await WebAssembly.compile(await new Response(unpacked).arrayBuffer());
    const [made, ready] = make(module);
    engine = made;
    return say(ready);
  }
  if (ask.kind === "stop") {
    stopped = true;
    return;
  }
  latest = ask.id;
  stopped = false;
  if (!engine || !module) return;
  try {
    await (ask.kind === "run" ? run(engine, ask.id, ask.text) : packets(engine, ask));
  } catch (error) {
    // A fault leaves the instance in an unknown state.
    [engine] = make(module);
    const fault = error instanceof WebAssembly.RuntimeError;
    const said = fault ? `the engine failed, which is a defect of fullpipe: ${error}` : words(error);
    say({ kind: "refused", id: ask.id, error: said, thrown: !fault });
  }
}

addEventListener("message", ({ data: ask }: MessageEvent<Ask>) => {
  handle(ask).catch((error) => say({ kind: "refused", id: 0, error: words(error) }));
});
