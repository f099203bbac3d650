// Changes single values of a scenario's text and keeps the rest as it was written, comments included.

/** A kind of tables of which a scenario may have several. */
export type Kind = "flow" | "workload";
/** A place of keys: the top of the text, the path, or a table by its kind and its number in the text. */
export type Section = "" | "path" | `${Kind}.${number}`;

/** Returns a word as a TOML string. */
export const quoted = (text: string): string => JSON.stringify(text);

/** A key or the head of a table, with its whole name in the scenario: `flow.1.params.beta`. */
interface Item {
  name: string;
  /** The head of a table, which the text has no value for. */
  head: boolean;
  /** The table that it stands in, or that it is. */
  table: string;
  /** Its first line, and the line behind its last. */
  lines: [number, number];
  /** Its value in the text, without the comment behind it. */
  value: [number, number];
}

interface Read {
  text: string;
  items: Item[];
  /** The keys that have a value, by name, and those of them that are inline tables. */
  keys: Map<string, Item>;
  inline: Item[];
}

const WORD = String.raw`(?:[\w-]+|"(?:[^"\\]|\\.)*"|'[^']*')`;
const NAME = String.raw`${WORD}(?:\s*\.\s*${WORD})*`;
const HEAD = new RegExp(String.raw`^\s*(\[{1,2})\s*(${NAME})\s*\]`);
const KEY = new RegExp(String.raw`^(\s*(${NAME})\s*=\s*)`);

/** Returns the words of a dotted name. */
const split = (name: string): string[] =>
  [...name.matchAll(new RegExp(WORD, "g"))].map(([word]) => word.replace(/^["']|["']$/g, ""));

const joined = (...names: string[]): string => names.filter(Boolean).join(".");
const inside = (name: string, of: string): boolean => name === of || of === "" || name.startsWith(`${of}.`);

/** Returns the place behind a value: strings, arrays and tables may go on in the next line. */
function behind(text: string, from: number): number {
  const token = /"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#.*|[[{]|[\]}]|\n/g;
  token.lastIndex = from;
  let depth = 0;
  for (let found = token.exec(text); found; found = token.exec(text)) {
    const [it] = found;
    if (it === "[" || it === "{") depth++;
    else if (it === "]" || it === "}") depth--;
    else if (depth <= 0 && (it === "\n" || it.startsWith("#"))) return found.index;
  }
  return text.length;
}

let latest: Read = { text: "", items: [], keys: new Map(), inline: [] };

/** Returns the keys and heads of a text, which is read once. */
function read(text: string): Item[] {
  if (latest.text === text) return latest.items;
  const items: Item[] = [];
  const counts = new Map<string, number>();
  let [table, at, line] = ["", 0, 0];
  while (at < text.length) {
    const newline = text.indexOf("\n", at);
    let end = newline < 0 ? text.length : newline;
    const row = text.slice(at, end);
    const [, open, head] = HEAD.exec(row) ?? [];
    const [start = "", , name = ""] = KEY.exec(row) ?? [];
    const [first, here] = [line, at];
    if (head) {
      // A table below one of several belongs to the last of them.
      table = "";
      const words = split(head);
      words.forEach((word, place) => {
        table = joined(table, word);
        const last = place === words.length - 1;
        if (last && open === "[[") counts.set(table, (counts.get(table) ?? -1) + 1);
        if (counts.has(table)) table += `.${counts.get(table)}`;
      });
      items.push({ name: table, head: true, table, lines: [line, line + 1], value: [end, end] });
    } else if (start) {
      const value = at + start.length;
      const over = behind(text, value);
      const rest = text.indexOf("\n", over);
      end = rest < 0 ? text.length : rest;
      line += text.slice(here, end).split("\n").length - 1;
      const trimmed = text.slice(value, over).trimEnd().length;
      const whole = joined(table, ...split(name));
      items.push({ name: whole, head: false, table, lines: [first, line + 1], value: [value, value + trimmed] });
    }
    at = end + 1;
    line++;
  }
  const values = items.filter(({ head }) => !head);
  const inline = values.filter(({ value: [from] }) => text[from] === "{");
  latest = { text, items, keys: new Map(values.map((item) => [item.name, item])), inline };
  return items;
}

/** Returns the key of a whole name that has a value. */
function keyOf(text: string, name: string): Item | undefined {
  read(text);
  return latest.keys.get(name);
}

const asWritten = (text: string, { value }: Item) => text.slice(...value);

/** Returns the pairs of an inline table, as they are written; null for another value. */
function pairs(value: string): Map<string, string> | null {
  if (!value.startsWith("{")) return null;
  const found = new Map<string, string>();
  const inner = value.slice(1, -1);
  const key = new RegExp(String.raw`\s*(${NAME})\s*=\s*`, "y");
  for (let at = 0; at < inner.length; ) {
    key.lastIndex = at;
    const [start, name] = key.exec(inner) ?? [];
    if (!start || !name) break;
    at += start.length;
    const token = /"(?:[^"\\]|\\.)*"|'[^']*'|[[{]|[\]}]|,/g;
    token.lastIndex = at;
    let [depth, end] = [0, inner.length];
    for (let it = token.exec(inner); it; it = token.exec(inner)) {
      if ("[{".includes(it[0])) depth++;
      else if ("]}".includes(it[0])) depth--;
      else if (it[0] === "," && depth === 0) {
        end = it.index;
        break;
      }
    }
    found.set(split(name).join("."), inner.slice(at, end).trim());
    at = end + 1;
  }
  return found;
}

const table = (of: Map<string, string>): string =>
  of.size ? `{ ${[...of].map(([key, value]) => `${key} = ${value}`).join(", ")} }` : "{}";

/** Returns the key whose inline table has, or would have, the key of this name, with the rest of the name. */
function around(text: string, name: string): [Item, string, Map<string, string>] | null {
  read(text);
  for (const item of latest.inline) {
    if (!name.startsWith(`${item.name}.`)) continue;
    const found = pairs(asWritten(text, item));
    if (found) return [item, name.slice(item.name.length + 1), found];
  }
  return null;
}

/** Returns the value of a key as it is written; null if the text does not have it, or has a table for it. */
export function written(text: string, section: Section, key: string): string | null {
  const name = joined(section, key);
  const item = keyOf(text, name);
  if (item) return asWritten(text, item);
  const [, rest = "", found] = around(text, name) ?? [];
  return found?.get(rest) ?? null;
}

/** Returns the names of the keys that the text has in a section, tables of it included. */
export function keys(text: string, section: Section): string[] {
  const names = read(text).flatMap((item) => {
    const inner = item.head || item.name !== section ? null : pairs(asWritten(text, item));
    return inner ? [...inner.keys()].map((key) => joined(item.name, key)) : [item.name];
  });
  const own = names.filter((name) => name !== section && inside(name, section));
  return [...new Set(own.map((name) => name.slice(section ? section.length + 1 : 0).split(".")[0] ?? ""))];
}

/** Returns the number of `[[flow]]` or `[[workload]]` in the text. */
export function tables(text: string, kind: Kind): number {
  const one = new RegExp(`^${kind}\\.\\d+$`);
  return read(text).filter(({ head, name }) => head && one.test(name)).length;
}

/** Returns the text without keys and heads, and without the empty lines in front of heads. */
function cut(text: string, gone: Item[]): string {
  const lines: (string | null)[] = text.split("\n");
  for (const { head, lines: of } of gone) {
    for (let line = of[0]; line < of[1]; line++) lines[line] = null;
    for (let line = of[0] - 1; head && line >= 0 && !lines[line]?.trim(); line--) lines[line] = null;
  }
  return lines.filter((line) => line !== null).join("\n");
}

const replaced = (text: string, { value }: Item, by: string) => text.slice(0, value[0]) + by + text.slice(value[1]);

/** Returns the text with the key of a whole name; null removes the key and all that is below it. */
function withKey(text: string, name: string, value: string | null): string {
  const exact = keyOf(text, name);
  if (value !== null && exact) return replaced(text, exact, value);
  const within = around(text, name);
  if (within) {
    const [item, rest, found] = within;
    for (const key of [...found.keys()]) if (inside(key, rest) && (value === null || key !== rest)) found.delete(key);
    if (value !== null) found.set(rest, value);
    const keeps = found.size || item.name === "path";
    return keeps ? replaced(text, item, table(found)) : cut(text, [item]);
  }
  const gone = read(text).filter((each) => inside(each.name, name));
  const kept = gone.length ? cut(text, gone) : text;
  return value === null ? kept : inserted(kept, name, value);
}

/** Returns the text with a key that it does not have: in its table, beside dotted keys of it, or in a new table. */
function inserted(text: string, name: string, value: string): string {
  const items = read(text);
  const words = name.split(".");
  for (let length = words.length - 1; length >= 0; length--) {
    const parent = words.slice(0, length).join(".");
    const head = items.find((each) => each.head && each.name === parent);
    const rows = items.filter((each) => !each.head && each.table === parent);
    // `path.rate = …` at the top is the table `path`, too.
    const dotted = items.filter((each) => !each.head && each.name.startsWith(`${parent}.`) && each.table !== parent);
    const beside = parent && !head ? dotted.at(-1) : undefined;
    if (!head && !beside && parent !== "") continue;
    if (parent === "" && words[0] === "path")
      return `${text.trimEnd()}\n\n[path]\n${words.slice(1).join(".")} = ${value}\n`;
    if (beside && !inside(parent, beside.table)) continue;
    const rest = words.slice(beside ? beside.table.split(".").filter(Boolean).length : length);
    // A parameter of a flow without any begins an inline table.
    const inline = !beside && rest.length > 1;
    const line = inline
      ? `${rest[0]} = ${table(new Map([[rest.slice(1).join("."), value]]))}`
      : `${rest.join(".")} = ${value}`;
    const lines = text.split("\n");
    const at = beside?.lines[1] ?? rows.at(-1)?.lines[1] ?? head?.lines[1] ?? topOf(lines, items);
    lines.splice(at, 0, line);
    return lines.join("\n");
  }
  return text;
}

/** Returns the line behind the comments at the top of a text. */
function topOf(lines: string[], items: Item[]): number {
  const first = items[0]?.lines[0] ?? lines.length;
  const comments = lines.slice(0, first).findIndex((line) => !/^\s*#/.test(line));
  return comments < 0 ? first : comments;
}

/** Returns the text with the key set to a value in TOML; null removes it, also if it is a table. A flow or workload that is
 * not there stays so. */
export function changed(text: string, section: Section, key: string, value: string | null): string {
  if (/\d$/.test(section) && !read(text).some((each) => each.head && each.name === section)) return text;
  return withKey(text, joined(section, key), value);
}

/** Returns the text with one more flow. */
export function withFlow(text: string, cc: string): string {
  const name = named(text).has(cc) ? `name = ${quoted(unused(text, cc))}\n` : "";
  return `${text.trimEnd()}\n\n[[flow]]\n${name}cc = ${quoted(cc)}\n`;
}

/** Returns the names that the text gives to flows and workloads. */
function named(text: string): Set<string> {
  const names = read(text).filter(({ name, head }) => !head && /^(flow|workload)\.\d+\.name$/.test(name));
  return new Set(names.map((item) => asWritten(text, item).slice(1, -1)));
}

/** Returns a name that the text does not give: cubic, cubic-2, cubic-3. */
function unused(text: string, cc: string): string {
  const names = named(text);
  let name = cc;
  for (let number = 2; names.has(name); number++) name = `${cc}-${number}`;
  return name;
}

/** Returns the text with another algorithm in a table: without the parameters of the one before, and without its name if
 * that was the flow's. */
export function withAlgorithm(text: string, section: `${Kind}.${number}`, cc: string): string {
  const before = written(text, section, "cc")?.slice(1, -1) ?? "";
  const name = written(text, section, "name")?.slice(1, -1) ?? "";
  const made = changed(changed(text, section, "params", null), section, "cc", quoted(cc));
  const followed = name === before || (name.startsWith(`${before}-`) && /^-\d+$/.test(name.slice(before.length)));
  if (!before || !followed) return made;
  return changed(made, section, "name", quoted(unused(changed(made, section, "name", null), cc)));
}

/** Returns the text without a flow or a workload and the tables below it. */
export function without(text: string, section: `${Kind}.${number}`): string {
  const items = read(text);
  const first = items.findIndex((each) => each.head && each.name === section);
  if (first < 0) return text;
  const next = items.slice(first).find((each) => each.head && !inside(each.name, section));
  const lines = text.split("\n");
  const from = items[first]?.lines[0] ?? 0;
  lines.splice(from, (next?.lines[0] ?? lines.length) - from);
  return lines.join("\n");
}

/** Returns the text with a parameter of an algorithm; null removes it. */
export const withParam = (text: string, section: Section, name: string, value: string | null): string =>
  changed(text, section, `params.${name}`, value);

/** Returns the conditions of `expect`, each as it is written. */
export const conditions = (text: string): string[] =>
  (written(text, "", "expect") ?? "").match(/"(?:[^"\\]|\\.)*"|'[^']*'/g) ?? [];

/** Returns the text without a condition. */
export function withoutCondition(text: string, number: number): string {
  const kept = conditions(text).filter((_, at) => at !== number);
  return changed(text, "", "expect", kept.length ? `[${kept.join(", ")}]` : null);
}
