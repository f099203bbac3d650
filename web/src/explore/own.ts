// A reader's own algorithm: a class that the worker's script defines before this one, called by the engine.
// The names of methods, arguments and declarations are those of a Python class: docs/reference/controller.md.

type Kind = "number" | "flag" | string[];
type Layout = [string, Kind][];
export interface Layouts {
  conn: Layout;
  packet: Layout;
  lost: Layout;
  ack: Layout;
  recovery: Layout;
}

/** What the engine gives to a call of the class. */
export interface Caller {
  memory: WebAssembly.Memory;
  slots(): number;
  random(): number;
  word_text(length: number): number;
  word(): number;
  transition(from: number, to: number, reason: number): void;
}

/** What a class may say about itself. */
export interface About {
  name: string;
  purpose: string;
  params: { name: string; default: number; least?: number; most?: number; unit: string; purpose: string }[];
  fields: { name: string; unit: string; purpose: string }[];
  methods: string[];
  recovery: "prr" | "own";
  random: boolean;
}

type Instance = Record<string, (...given: unknown[]) => unknown>;
type Class = { new (config: unknown): Instance; name: string; prototype: object } & Record<string, unknown>;

export const ownClass = () => (globalThis as { own?: Class }).own;

/** Returns the name of the first class of a script. */
export const ownName = (code: string) => /^\s*class\s+([A-Za-z]\w*)/m.exec(code)?.[1] ?? "";

/** Names that mean nothing in a class, against mistakes: clocks differ from run to run. The page's policy is what keeps a class
 * from the network. */
const HIDDEN =
  "Date,performance,postMessage,fetch,XMLHttpRequest,WebSocket,importScripts,setTimeout,setInterval,Worker";

/** Returns the script that defines the reader's class for the worker; its lines keep their numbers. */
export function wrapped(code: string): string {
  const math =
    'Object.create(globalThis.Math,{random:{value(){throw Error("Math.random() has no seed: use cx.random()")}}})';
  return `self.own=((Math,${HIDDEN})=>{"use strict";${code}\n;return ${ownName(code)}})(${math});`;
}

const [DECISION, FIELDS, ECN] = [8, 8, ["off", "ect0", "ect1"]];
const PATH = ["mtu", "ecn-failed", "seed", "threshold"];

/** Returns what a class says about itself. Throws what is wrong with it. */
export function about(of: Class, methods: string[], layouts: Layouts): About {
  const [wrong] = [...strangers(of, methods), ...absent(of, layouts)];
  if (wrong) throw new Error(wrong);
  const missing = ["on_ack", "decision"].find((name) => typeof (of.prototype as Instance)[name] !== "function");
  if (missing) throw new Error(`class ${of.name} has no method ${missing}(): add it`);
  const declared = (name: string) => Object.entries((of[name] ?? {}) as Record<string, Record<string, unknown>>);
  const params = declared("params").map(([name, param]) => {
    const plain: Record<string, unknown> = typeof param === "number" ? { default: param } : (param ?? {});
    if (typeof plain.default !== "number") {
      throw new Error(`static params: ${name} has no default: write ${name}: { default: 0.5, least: 0.1, most: 0.9 }`);
    }
    return { name, unit: "", purpose: "", ...plain } as About["params"][number];
  });
  return {
    name: of.name,
    purpose: `${of.purpose ?? ""}`,
    params,
    fields: declared("fields").map(([name, field]) => ({ name, unit: "", purpose: "", ...field })),
    methods: methods.filter((name) => name in of.prototype),
    recovery: of.recovery === "own" ? "own" : "prr",
    random: of.random === true,
  };
}

/** Returns a sentence for each method of a class that looks like one of the contract, and that nothing calls. The rule is that of
 * a class in Python: `_refuse_stranger` in algorithms/classes.py. */
function strangers(of: Class, methods: string[]): string[] {
  const known = [...methods, "decision", "observe"];
  const plain = (name: string) => name.replaceAll("_", "").toLowerCase();
  const all: { name: string; code: string; method: boolean }[] = [];
  for (let at = of.prototype; at && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    // The text of the constructor is that of the class.
    let rest = `${at.constructor}`;
    for (const [name, { value, get, set }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if (name === "constructor") continue;
      all.push({ name, code: `${value} ${get} ${set}`, method: typeof value === "function" });
      rest = rest.replace(`${value}`, "");
    }
    all.push({ name: "constructor", code: rest, method: false });
  }
  const alike = (name: string) =>
    !known.includes(name) &&
    !name.startsWith("_") &&
    (/^[oO]n(_|[A-Z])/.test(name) || known.some((each) => distance(plain(each), plain(name)) <= 1));
  // A method that another one uses is the class's own.
  const used = (name: string) =>
    all.some(({ name: other, code }) => other !== name && new RegExp(`(\\.|["'\`])${name}\\b`).test(code));
  return all
    .filter(({ name, method }) => method && alike(name) && !used(name))
    .map(({ name }) => {
      const [likely] = known
        .filter((each) => distance(plain(each), plain(name)) <= 4)
        .sort((a, b) => distance(plain(a), plain(name)) - distance(plain(b), plain(name)));
      const problem = `${of.name} has a method ${name}, which nothing calls`;
      const meant = likely ? `did you mean ${likely}? ` : "";
      return `${problem}\n  fix: ${meant}the methods that are called: ${known.join(", ")}; a method of your own needs another name`;
    });
}

/** The methods whose second argument has attributes, and the layout of each. */
const ARGUMENTS: Record<string, (keyof Layouts)[]> = {
  on_ack: ["ack"],
  on_lost: ["lost"],
  on_acked: ["packet"],
  on_sent: ["packet"],
  on_recovery: ["recovery"],
};

/** Returns a sentence for each attribute of an argument that the class reads and that is not there: it would be undefined. */
function absent(of: Class, layouts: Layouts): string[] {
  const found: string[] = [];
  const look = (code: string, name: string, what: string, has: string[]) => {
    for (const [, read] of code.matchAll(new RegExp(`(?<![.\\w])${name}\\.([A-Za-z_]\\w*)`, "g"))) {
      if (!read || has.includes(read)) continue;
      const near = has.filter((each) => each.includes(read) || distance(each, read) <= 2);
      const [likely] = near.sort((a, b) => distance(a, read) - distance(b, read));
      const meant = likely ? `did you mean ${likely}? ` : "";
      found.push(`${of.name}: ${what} has no ${read}\n  fix: ${meant}it has ${has.join(", ")}`);
    }
  };
  for (const [method, of_] of Object.entries(ARGUMENTS)) {
    const code = `${(of.prototype as Instance)[method] ?? ""}`.replace(/\/\*.*?\*\/|\/\/[^\n]*/gs, "");
    const [, cx, event] = /^\w+\s*\(\s*([A-Za-z_]\w*)\s*(?:,\s*([A-Za-z_]\w*))?/.exec(code) ?? [];
    const also = method === "on_ack" ? ["newest"] : method === "on_lost" ? ["packet"] : [];
    const has = [...of_.flatMap((each) => layouts[each].map(([name]) => name)), ...also];
    if (event) look(code, event, `the second argument of ${method}`, has);
    if (cx)
      look(
        code,
        `${cx}\\.conn`,
        "cx.conn",
        layouts.conn.map(([name]) => name),
      );
    if (cx) look(code, cx, "cx", ["now", "conn", "random", "transition"]);
  }
  return found;
}

/** Returns the number of letters to insert, remove or replace between two words. */
function distance(one: string, other: string): number {
  let row = [...Array(other.length + 1).keys()];
  [...one].forEach((letter, at) => {
    const next = [at + 1];
    [...other].forEach((each, place) => {
      next.push(
        Math.min((row[place] ?? 0) + Number(letter !== each), (row[place + 1] ?? 0) + 1, (next[place] ?? 0) + 1),
      );
    });
    row = next;
  });
  return row[other.length] ?? 0;
}

/** Returns the functions that the engine imports: calls of instances of the class. */
export class Calls {
  private caller!: Caller;
  private instances: Instance[] = [];
  private slots = new Float64Array();
  private words = new Map<string, number>();
  private methods: string[] = [];
  private cwnd = 0;
  private args: ((now: number) => unknown[])[] = [];
  private cx: { now: number } = { now: 0 };
  private conn: { smss?: number; in_recovery?: boolean } = {};

  readonly imports = {
    own: {
      make: () => this.make(),
      call: (instance: number, method: number) => this.call(instance, method),
      observe: (instance: number) => this.observe(instance),
    },
  };

  constructor(private readonly of: Class | undefined) {}

  /** Takes the engine whose calls these are. */
  begin(caller: Caller, layouts: Layouts, methods: string[]): void {
    [this.caller, this.methods] = [caller, methods];
    const conn = this.view(layouts.conn, 1);
    this.conn = conn;
    const at = 1 + layouts.conn.length;
    const behind = at + layouts.packet.length;
    const packet = this.view(layouts.packet, at);
    const lost = Object.assign(this.view(layouts.lost, behind), { packet });
    const ack = Object.assign(this.view(layouts.ack, behind), { newest: packet });
    const change = this.view(layouts.recovery, at);
    const slot = (place: number) => this.slot(place);
    this.cx = Object.freeze({
      get now() {
        return slot(0);
      },
      conn,
      random: () => caller.random(),
      transition: (from: string, to: string, reason: string) =>
        caller.transition(this.word(from), this.word(to), this.word(reason)),
    });
    const bytes = () => (Number.isNaN(slot(at + 1)) ? null : slot(at + 1));
    const given: Record<string, () => unknown[]> = {
      on_sent: () => [packet],
      on_lost: () => [lost],
      on_acked: () => [packet],
      on_ack: () => [ack],
      on_recovery: () => [change],
      on_unused: () => [slot(at)],
      on_path: () => [PATH[slot(at)], bytes()],
      on_frame: () => [slot(at), slot(at + 1)],
    };
    this.args = methods.map((name) => given[name] ?? (() => []));
  }

  /** Returns an object whose attributes are numbers in the slots, as they are when it is read. */
  private view(layout: Layout, from: number): object {
    const made = {};
    layout.forEach(([name, kind], number) => {
      const read = () => this.slot(from + number);
      const get =
        kind === "flag"
          ? () => read() === 1
          : kind === "number"
            ? () => (Number.isNaN(read()) ? null : read())
            : () => kind[read()] ?? null;
      Object.defineProperty(made, name, { get, enumerable: true });
    });
    return made;
  }

  private word(text: string): number {
    const known = this.words.get(text);
    if (known !== undefined) return known;
    const bytes = new TextEncoder().encode(text);
    const room = this.caller.word_text(bytes.length);
    new Uint8Array(this.caller.memory.buffer, room, bytes.length).set(bytes);
    const number = this.caller.word();
    if (number >= 2 ** 16) throw new Error(`cx.transition: ${text}: too many states and reasons; use a field instead`);
    this.words.set(text, number);
    return number;
  }

  /** Returns a number that the engine has put there; a call of the engine may have moved its memory. */
  private slot(place: number): number {
    if (this.slots.length === 0) this.refresh();
    return this.slots[place] ?? Number.NaN;
  }

  private refresh(): void {
    if (this.slots.buffer !== this.caller.memory.buffer) {
      this.slots = new Float64Array(this.caller.memory.buffer, this.caller.slots(), 256);
    }
  }

  private make(): number {
    const { of } = this;
    if (!of) throw new Error("no class is loaded");
    this.refresh();
    const [smss, initial_cwnd] = this.slots;
    const names = Object.keys((of.params ?? {}) as object);
    const params = Object.fromEntries(names.map((name, number) => [name, this.slots[2 + number]]));
    const made = new of(Object.freeze({ smss, initial_cwnd, params }));
    this.instances.push(made);
    this.decide(made);
    this.refuse(smss ?? 0, "after its constructor");
    this.refresh();
    this.slots[FIELDS] = Object.keys((of.fields ?? {}) as object).length;
    return this.instances.length - 1;
  }

  private call(instance: number, method: number): void {
    this.refresh();
    const [of, name, args] = [this.instances[instance], this.methods[method], this.args[method]];
    if (!of || !name || !args) return;
    const now = this.slots[0] ?? 0;
    try {
      const { smss = 0, in_recovery: recovers } = this.conn;
      of[name]?.(this.cx, ...args(now));
      this.refresh();
      const wake = this.decide(of);
      // In recovery, PRR has the window unless the class has its own.
      if (!(recovers && this.of?.recovery !== "own")) this.refuse(smss, `after ${name}`);
      if (name === "on_timer" && wake !== null && wake <= now) {
        throw new Error(`wake_at = ${wake}: on_timer was called at ${now}, so the timer would fire forever`);
      }
    } catch (error) {
      throw new Error(`${this.of?.name} failed at ${now.toFixed(3)} s in ${name}: ${error}`);
    }
  }

  /** Refuses a window that no packet fits in, as in Python; such a flow hardly sends. */
  private refuse(smss: number, when: string): void {
    if (this.cwnd >= smss) return;
    const problem = `the window is below one segment (${this.cwnd} of ${smss} bytes) ${when}`;
    const fix =
      this.cwnd < 1000
        ? `write ${this.cwnd} * config.smss for ${this.cwnd} segments`
        : "keep it at config.smss or above";
    throw new Error(`${problem}\n  fix: windows are in bytes: ${fix}`);
  }

  /** Puts the decision into the slots; returns the time of the next timer, or null. */
  private decide(of: Instance): number | null {
    const said = of.decision?.() as Record<string, unknown> | undefined;
    if (typeof said !== "object" || said === null) {
      throw new Error(`decision() returned ${said}: return { cwnd, ssthresh } in bytes`);
    }
    const number = (name: string, least: number, most = Number.MAX_VALUE): number => {
      const value = said[name] ?? Number.NaN;
      if (value === Number.POSITIVE_INFINITY && name === "ssthresh") return Number.NaN;
      if (said[name] == null) return Number.NaN;
      if (typeof value !== "number" || !(value >= least && value <= most)) {
        throw new Error(`${name} = ${value}: give a number of at least ${least}`);
      }
      return value;
    };
    const cwnd = number("cwnd", 1);
    this.cwnd = Math.floor(cwnd);
    if (Number.isNaN(cwnd)) throw new Error("decision() has no cwnd: return { cwnd, ssthresh } in bytes");
    const ecn = ECN.indexOf(`${said.ecn ?? "off"}`);
    if (ecn < 0) throw new Error(`ecn = ${said.ecn}: give "off", "ect0" or "ect1"`);
    const wake = number("wake_at", 0);
    const all = [
      Math.floor(cwnd),
      Math.floor(number("ssthresh", 0)),
      number("pacing_rate", 1),
      Math.floor(number("send_quantum", 0)) || 0,
      ecn,
      number("source_rate", 0),
      said.mark_app_limited === true ? 1 : 0,
      wake,
    ];
    this.refresh();
    for (let slot = 0; slot < DECISION; slot++) this.slots[slot] = all[slot] ?? Number.NaN;
    return Number.isNaN(wake) ? null : wake;
  }

  private observe(instance: number): void {
    const values = this.instances[instance]?.observe?.() as number[] | undefined;
    const wanted = Object.keys((this.of?.fields ?? {}) as object).length;
    if (!Array.isArray(values) || values.length !== wanted) {
      throw new Error(`observe() returned ${values}: return ${wanted} numbers, one for each of \`fields\``);
    }
    this.refresh();
    values.forEach((value, slot) => {
      this.slots[slot] = value;
    });
  }
}
