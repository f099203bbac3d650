// Changes single values of a scenario's text and keeps the rest as it was written, comments included.

/** A place of keys: the top of the text, the path, or the flow of that number. */
export type Section = "" | "path" | number;

/** Returns a word as a TOML string. */
export const quoted = (text: string): string => JSON.stringify(text);

/** Returns the first line of a section, and the line behind its last; null without it. */
function span(lines: string[], section: Section): [number, number] | null {
  let first = 0;
  if (section !== "") {
    let left = section === "path" ? 0 : section;
    const head = section === "path" ? /^\s*\[path\]/ : /^\s*\[\[flow\]\]/;
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

/** Returns the text with the key set to a value in TOML; null removes the key. */
export function changed(text: string, of: Section, name: string, value: string | null): string {
  const lines = text.split("\n");
  const [section, key] = home(lines, of, name);
  const where = span(lines, section);
  if (!where) return value === null ? text : `${text.trimEnd()}\n\n[${section}]\n${key} = ${value}\n`;
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

/** Returns the text without a flow and its tables. */
export function withoutFlow(text: string, number: number): string {
  const lines = text.split("\n");
  const where = span(lines, number);
  if (!where) return text;
  let end = where[1];
  while (/^\s*\[flow\./.test(lines[end] ?? "")) {
    const next = lines.slice(end + 1).findIndex((line) => /^\s*\[[[A-Za-z]/.test(line));
    end = next < 0 ? lines.length : end + 1 + next;
  }
  lines.splice(where[0] - 1, end - where[0] + 1);
  return lines.join("\n");
}

/** Returns the text with a parameter of a flow's algorithm in its inline table `params`. */
export function withParam(text: string, number: number, name: string, value: string | null): string {
  const before = written(text, number, "params");
  const pairs = new Map<string, string>();
  for (const [, key, old] of (before ?? "").matchAll(/([\w-]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^,}\s]+)/g)) {
    if (key && old) pairs.set(key, old);
  }
  if (value === null) pairs.delete(name);
  else pairs.set(name, value);
  const all = [...pairs].map(([key, each]) => `${key} = ${each}`).join(", ");
  return changed(text, number, "params", all ? `{ ${all} }` : null);
}
