// Changes single values of a scenario's text and keeps the rest as it was written, comments included.

/** A kind of tables of which a scenario may have several. */
export type Kind = "flow" | "workload";
/** A place of keys: the top of the text, the path, or a table by its kind and its number in the text. */
export type Section = "" | "path" | `${Kind}.${number}`;

/** Returns a word as a TOML string. */
export const quoted = (text: string): string => JSON.stringify(text);

const PATH = /^\s*\[\s*path\s*\]/;
const HEADS = { flow: /^\s*\[\[\s*flow\s*\]\]/, workload: /^\s*\[\[\s*workload\s*\]\]/ };

/** Returns the first line of a section, and the line behind its last; null without it. */
function span(lines: string[], section: Section): [number, number] | null {
  let first = 0;
  if (section !== "") {
    const [kind, number = "0"] = section.split(".") as ["path" | Kind, string?];
    const head = kind === "path" ? PATH : HEADS[kind];
    let left = Number(number);
    first = lines.findIndex((line) => head.test(line) && left-- === 0) + 1;
    if (first === 0) return null;
  }
  const length = lines.slice(first).findIndex((line) => /^\s*\[[[A-Za-z]/.test(line));
  return [first, length < 0 ? lines.length : first + length];
}

/** The value of a line, without the comment behind it. */
const LINE = /^(\s*[\w.-]+\s*=\s*)((?:"(?:[^"\\]|\\.)*"|'[^']*'|[^#"'])*?)(\s*(?:#.*)?)$/;

function lineOf(lines: string[], [first, end]: [number, number], key: string): number {
  const begins = new RegExp(`^\\s*${key.replaceAll(".", "\\.")}\\s*=`);
  const at = lines.slice(first, end).findIndex((line) => begins.test(line));
  return at < 0 ? -1 : first + at;
}

/** Returns the section and the key by which the text has, or would have, a key: `path.rate` may stand at its top. */
function home(lines: string[], section: Section, key: string): [Section, string] {
  if (section !== "path" || span(lines, section)) return [section, key];
  const [first, end] = span(lines, "") ?? [0, 0];
  const dotted = lines.slice(first, end).some((line) => /^\s*path\s*\./.test(line));
  return dotted ? ["", `path.${key}`] : [section, key];
}

/** Returns the value of a key as it is written; null if the text does not have it. */
export function written(text: string, section: Section, key: string): string | null {
  const lines = text.split("\n");
  const [place, name] = home(lines, section, key);
  const where = span(lines, place);
  const line = where && lines[lineOf(lines, where, name)];
  return line ? (LINE.exec(line)?.[2] ?? null) : null;
}

/** Returns the number of `[[flow]]` or `[[workload]]` in the text. */
export const tables = (text: string, kind: Kind): number =>
  text.split("\n").filter((line) => HEADS[kind].test(line)).length;

/** Returns the text with the key set to a value in TOML; null removes the key. A table that is not there stays so. */
export function changed(text: string, of: Section, name: string, value: string | null): string {
  const lines = text.split("\n");
  const [section, key] = home(lines, of, name);
  const where = span(lines, section);
  if (!where) return value === null || section !== "path" ? text : `${text.trimEnd()}\n\n[path]\n${key} = ${value}\n`;
  const at = lineOf(lines, where, key);
  if (value === null) {
    if (at >= 0) lines.splice(at, 1);
  } else if (at >= 0) {
    const parts = LINE.exec(lines[at] ?? "");
    lines[at] = `${parts?.[1] ?? `${key} = `}${value}${parts?.[3] ?? ""}`;
  } else {
    let end = where[1];
    while (end > where[0] && !/^\s*[^#\s]/.test(lines[end - 1] ?? "")) end--;
    if (section === "" && end === where[0]) end = where[1]; // behind the comments of the head
    lines.splice(end, 0, `${key} = ${value}`);
  }
  return lines.join("\n");
}

/** Returns the text with one more flow. */
export const withFlow = (text: string, cc: string): string => `${text.trimEnd()}\n\n[[flow]]\ncc = ${quoted(cc)}\n`;

/** Returns the text without a flow or a workload and the tables below it. */
export function without(text: string, section: `${Kind}.${number}`): string {
  const lines = text.split("\n");
  const where = span(lines, section);
  if (!where) return text;
  let end = where[1];
  while (/^\s*\[(flow|workload)\./.test(lines[end] ?? "")) {
    const next = lines.slice(end + 1).findIndex((line) => /^\s*\[[[A-Za-z]/.test(line));
    end = next < 0 ? lines.length : end + 1 + next;
  }
  lines.splice(where[0] - 1, end - where[0] + 1);
  return lines.join("\n");
}

/** Returns the text with a parameter of an algorithm in the inline table `params` of its section. */
export function withParam(text: string, section: Section, name: string, value: string | null): string {
  const before = written(text, section, "params");
  const pairs = new Map<string, string>();
  for (const [, key, old] of (before ?? "").matchAll(/([\w-]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^,}\s]+)/g)) {
    if (key && old) pairs.set(key, old);
  }
  if (value === null) pairs.delete(name);
  else pairs.set(name, value);
  const all = [...pairs].map(([key, each]) => `${key} = ${each}`).join(", ");
  return changed(text, section, "params", all ? `{ ${all} }` : null);
}
