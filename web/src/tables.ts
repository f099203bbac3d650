// Sorts tables by a click on a column's head.

function key(row: HTMLTableRowElement, column: number): string | number | null {
  const cell = row.cells[column];
  const value = cell?.dataset.v;
  if (value === undefined) return cell?.textContent ?? "";
  return value === "" ? null : Number(value);
}

/** Orders numbers before text, and empty cells last in either direction. */
function compare(a: string | number | null, b: string | number | null, sign: number): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  if (typeof a === "number" && typeof b === "number") return sign * (a - b);
  if (typeof a === "number" || typeof b === "number") return typeof a === "number" ? -1 : 1;
  return sign * a.localeCompare(b, "en", { numeric: true });
}

function sort(head: HTMLTableCellElement): void {
  const table = head.closest("table");
  const body = table?.tBodies[0];
  if (!table || !body) return;
  const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  for (const other of head.parentElement?.children ?? []) other.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
  const rows = Array.from(body.rows, (row) => [key(row, head.cellIndex), row] as const);
  rows.sort(([a], [b]) => compare(a, b, sign));
  body.append(...rows.map(([, row]) => row));
}

export function sortable(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>(".sortable thead button")) {
    button.addEventListener("click", () => sort(button.parentElement as HTMLTableCellElement));
  }
}
