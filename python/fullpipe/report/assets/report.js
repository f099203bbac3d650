// Sorts tables and draws charts. The rest of the page works without this script.

const data = JSON.parse(document.getElementById("data").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
const drawn = new Set();
const PAPER = 690; // the width of A4 with margins, in CSS pixels
let printing = false;

/** Decodes 32-bit floats from base64. */
function floats(packed) {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  return Array.from(new Float32Array(bytes.buffer), (value) => (Number.isFinite(value) ? value : null));
}

// Tables

function key(row, column) {
  const cell = row.cells[column];
  if (cell.dataset.v === undefined) return cell.textContent;
  return cell.dataset.v === "" ? null : Number(cell.dataset.v);
}

/** Orders numbers before text, and empty cells last in either direction. */
function compare(a, b, sign) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a === "number" && typeof b === "number") return sign * (a - b);
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return sign * a.localeCompare(b, "en", { numeric: true });
}

function sort(head) {
  const table = head.closest("table");
  const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  for (const other of head.parentNode.cells) other.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
  const body = table.tBodies[0];
  const rows = Array.from(body.rows, (row) => [key(row, head.cellIndex), row]);
  rows.sort(([a], [b]) => compare(a, b, sign));
  body.append(...rows.map(([, row]) => row));
}

for (const button of document.querySelectorAll(".sortable thead button")) {
  button.addEventListener("click", () => sort(button.parentNode));
}

// Charts

function theme() {
  const onDark = dark.matches && !printing;
  return {
    lines: onDark ? data.onDark : data.colors,
    ink: onDark ? "#e8e8e8" : "#1a1a1a",
    grid: onDark ? "#33383e" : "#dddddd",
  };
}

/** Returns the ticks of a logarithmic axis: 1 to 9 times powers of ten, or round steps if fewer than two fit. */
function ticks(_plot, _axis, low, high) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++) {
    for (let digit = 1; digit <= 9; digit++) found.push(Number(`${digit}e${power}`));
  }
  const within = found.filter((value) => value >= low && value <= high);
  if (within.length > 1) return within;
  const step = 10 ** Math.floor(Math.log10((high - low) / 2));
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, at) => (first + at) * step);
}

/** Selects the ticks with a label: powers of ten; on short axes also 2 and 5 times these, or all. */
function numbered(_plot, values) {
  const decades = Math.log10(values.at(-1) / values[0]);
  const digits = decades > 3 ? ["1"] : ["1", "2", "5"];
  return values.map((value) => (decades < 0.7 || digits.includes(value.toExponential()[0]) ? value : null));
}

/** Formats the labels of ticks with as many digits as needed. */
function numbers(_plot, values) {
  return values.map((value) => (value === null ? "" : Number(value.toPrecision(3)).toLocaleString("en")));
}

/** Returns the width that the longest label of a y axis needs. */
function room(_plot, values) {
  return Math.max(50, ...(values ?? []).map((text) => 16 + 7 * String(text).length));
}

function axis(label, size, colors, log) {
  const line = { stroke: colors.grid, width: 1 };
  const fonts = { font: "12px sans-serif", labelFont: "12px sans-serif" };
  return {
    label,
    stroke: colors.ink,
    grid: line,
    ticks: line,
    labelSize: 20,
    labelGap: 0,
    size,
    gap: 4,
    ...fonts,
    ...(log ? { splits: ticks, filter: numbered, values: numbers } : {}),
  };
}

/** Joins a chart's lines on one x axis. A line with a band becomes three series; the edges have no label. */
function joined(lines) {
  const tables = [];
  const bands = [];
  const owners = [];
  for (const line of lines) {
    const x = floats(line.x);
    tables.push([x, floats(line.v)]);
    owners.push(line);
    if (line.low) {
      tables.push([x, floats(line.low)], [x, floats(line.high)]);
      owners.push(null, null);
      bands.push({ series: [owners.length, owners.length - 1], style: line.style });
    }
  }
  // A line without a value at some x has no gap there: it continues.
  const modes = tables.map(() => [0, 1]);
  return { values: uPlot.join(sorted(tables), modes), bands, owners };
}

/** Makes x strictly increasing, as joining requires: the second point of a vertical step moves slightly. */
function sorted(tables) {
  for (const [x] of tables) {
    for (let at = 1; at < x.length; at++) if (x[at] <= x[at - 1]) x[at] = x[at - 1] + 1e-9 * (Math.abs(x[at - 1]) || 1);
  }
  return tables;
}

function rounded(value) {
  return value == null ? "–" : Number(value.toPrecision(4)).toString();
}

function options(chart, place, colors, found) {
  const steps = chart.stepped ? uPlot.paths.stepped({ align: 1 }) : undefined;
  const series = found.owners.map((line, number) => {
    const owner = line ?? found.owners.slice(0, number).findLast((each) => each);
    const stroke = colors.lines[owner.style % colors.lines.length];
    if (!line) return { stroke: "transparent", paths: steps, points: { show: false }, spanGaps: true };
    return {
      label: line.label,
      stroke,
      width: 1.6,
      dash: data.dashes[owner.style % data.dashes.length],
      paths: steps,
      points: { show: false },
      spanGaps: true,
      value: (_, value) => rounded(value),
    };
  });
  return {
    width: printing ? (chart.sync ? PAPER : PAPER / 2 - 20) : place.clientWidth || 600,
    height: chart.height ?? 260,
    scales: {
      x: chart.logX ? { time: false, distr: 3, range: (_, low, high) => [low, high] } : { time: false },
      y: chart.logY ? { distr: 3 } : { range: (_, low, high) => reach(chart, low, high) },
    },
    axes: [axis(chart.x, 26, colors, chart.logX), axis(chart.y, room, colors, chart.logY)],
    series: [{ label: chart.x, value: (_, value) => rounded(value) }, ...series],
    bands: found.bands.map((band) => ({ series: band.series, fill: `${colors.lines[band.style % 7]}22` })),
    cursor: { drag: { x: true, y: false, uni: 20 }, focus: { prox: 24 }, sync: chart.sync ? { key: chart.sync } : {} },
    focus: { alpha: 0.35 },
    legend: { live: true, markers: { dash: (plot, at) => (plot.series[at].dash?.length ? "dashed" : "solid") } },
  };
}

/** Returns the range of a y axis, which begins at zero unless all values are far from zero. */
function reach(chart, low, high) {
  if (low === null) return [0, 1];
  if (chart.stepped) return [0, 1.02];
  const room = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
  return [low >= 0 && low < high / 2 ? 0 : low - room, high + room];
}

/** Draws a chart into an element, with zoom by mouse and keyboard. */
function draw(place, chart, group) {
  const found = joined(chart.lines);
  const plot = new uPlot(options(chart, place, theme(), found), found.values, place);
  const entries = plot.root.querySelectorAll(".u-legend .u-series");
  found.owners.forEach((line, number) => {
    if (!line) entries[number + 1].remove();
  });
  place.tabIndex = 0;
  place.setAttribute("role", "application");
  place.setAttribute("aria-label", `Chart: ${chart.title}. Plus and minus zoom, arrows move, 0 resets.`);
  const whole = chart.whole ?? reached(found.values[0]);
  const handle = { place, chart, group, plot, whole };
  plot.setScale("x", whole);
  plot.hooks.setScale = [(_, scale) => scale === "x" && zoomed(handle)];
  say(handle, whole);
  place.onkeydown = (event) => steer(event, handle);
  drawn.add(handle);
  return handle;
}

function reached(x) {
  return { min: x[0], max: x[x.length - 1] };
}

/** Handles a zoom. A double click resets to the chart's own range; this widens it to that of the run. */
function zoomed(handle) {
  const { plot, whole } = handle;
  const { min, max } = plot.scales.x;
  const x = plot.data[0];
  if (min === x[0] && max === x[x.length - 1] && (min > whole.min || max < whole.max)) {
    plot.setScale("x", whole);
    return;
  }
  say(handle, { min, max });
  follow(handle);
}

/** Describes the visible range for screen readers. */
function say({ place, chart }, { min, max }) {
  place.setAttribute("aria-description", `${chart.x} from ${rounded(min)} to ${rounded(max)}`);
}

/** Applies the time range to the other charts of the same run. */
let following = false;
function follow(from) {
  if (!from.group || following) return;
  following = true;
  const { min, max } = from.plot.scales.x;
  for (const other of drawn) {
    if (other === from || other.group !== from.group) continue;
    other.plot.setScale("x", { min, max });
    say(other, { min, max });
  }
  following = false;
}

function steer(event, { plot, whole: all, chart }) {
  // A step on a logarithmic axis is a factor.
  const [there, back] = chart.logX ? [Math.log10, (value) => 10 ** value] : [Number, Number];
  const [min, max] = [plot.scales.x.min, plot.scales.x.max].map(there);
  const whole = { min: there(all.min), max: there(all.max) };
  const span = max - min;
  const to = {
    "+": [min + span / 4, max - span / 4],
    "=": [min + span / 4, max - span / 4],
    "-": [min - span / 2, max + span / 2],
    ArrowLeft: [min - span / 5, max - span / 5],
    ArrowRight: [min + span / 5, max + span / 5],
    0: [whole.min, whole.max],
    Escape: [whole.min, whole.max],
  }[event.key];
  if (!to || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const length = Math.min(to[1] - to[0], whole.max - whole.min);
  const start = Math.min(Math.max(to[0], whole.min), whole.max - length);
  plot.setScale("x", { min: back(start), max: back(start + length) });
}

/** Shows the charts of a run below each other. */
function show(box, number) {
  const run = data.charts[box.dataset.chart].runs[number];
  for (const handle of drawn) if (handle.group === box) forget(handle);
  const ends = run.panels.flatMap((panel) => panel.lines.map((line) => reached(floats(line.x))));
  const whole = { min: Math.min(...ends.map((each) => each.min)), max: Math.max(...ends.map((each) => each.max)) };
  box.querySelector(".command").textContent = run.command;
  box.querySelectorAll(".chart").forEach((place, at) => {
    const panel = run.panels[at];
    place.replaceChildren();
    place.hidden = !panel;
    if (!panel) return;
    const title = document.createElement("h3");
    title.textContent = panel.title;
    const room = document.createElement("div");
    place.append(title, room);
    if (panel.note) {
      const note = document.createElement("p");
      note.className = "note";
      note.textContent = panel.note;
      place.append(note);
    }
    draw(room, { ...panel, whole, height: 210, sync: `run-${box.dataset.chart}` }, box);
  });
}

function forget(handle) {
  handle.plot.destroy();
  drawn.delete(handle);
}

function again() {
  for (const handle of [...drawn]) {
    const { min, max } = handle.plot.scales.x;
    forget(handle);
    draw(handle.place, handle.chart, handle.group).plot.setScale("x", { min, max });
  }
}

for (const box of document.querySelectorAll(".timeline")) {
  const select = box.querySelector("select");
  show(box, 0);
  select.addEventListener("change", () => show(box, Number(select.value)));
  box.querySelector(".reset").addEventListener("click", () => {
    for (const { group, plot, whole } of drawn) if (group === box) plot.setScale("x", whole);
  });
}
for (const place of document.querySelectorAll("figure .chart")) draw(place, data.charts[place.dataset.chart], null);

dark.addEventListener("change", again);
const opened = [];
addEventListener("beforeprint", () => {
  printing = true;
  opened.push(...document.querySelectorAll("details:not([open])"));
  for (const each of opened) each.open = true;
  again();
});
addEventListener("afterprint", () => {
  printing = false;
  for (const each of opened.splice(0)) each.open = false;
  again();
});
let waiting;
addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    for (const { place, plot } of drawn) plot.setSize({ width: place.clientWidth, height: plot.height });
  }, 100);
});
