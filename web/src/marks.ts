// The forms of points, in the order of MARKERS of runs/view/colors.py.
import uPlot from "uplot";

/** What a form is drawn on: a path of a canvas, or one that becomes SVG. */
export interface Pen {
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
  arc(x: number, y: number, radius: number, from: number, to: number): void;
  closePath(): void;
}

type Corner = [number, number];

const corners = (count: number, radius: (at: number) => number = () => 1.2): Corner[] =>
  Array.from({ length: count }, (_, at) => {
    const angle = (2 * Math.PI * at) / count;
    return [radius(at) * Math.sin(angle), -radius(at) * Math.cos(angle)];
  });

const STROKES: Record<number, [Corner, Corner][]> = {
  5: [
    [
      [-1, -1],
      [1, 1],
    ],
    [
      [-1, 1],
      [1, -1],
    ],
  ],
  6: [
    [
      [-1.3, 0],
      [1.3, 0],
    ],
    [
      [0, -1.3],
      [0, 1.3],
    ],
  ],
};
const UP: Corner[] = [
  [0, -1.2],
  [1.2, 1],
  [-1.2, 1],
];
const turned = (turn: (corner: Corner) => Corner): Corner[] => UP.map(turn);
const OUTLINES: Corner[][] = [
  [],
  [
    [-1, -1],
    [1, -1],
    [1, 1],
    [-1, 1],
  ],
  corners(4, () => 1.35),
  UP,
  turned(([x, y]) => [x, -y]),
  [],
  [],
  turned(([x, y]) => [y, x]),
  turned(([x, y]) => [-y, x]),
  corners(5),
  corners(10, (at) => (at % 2 ? 0.6 : 1.5)),
  corners(6),
];

/** Adds the form of a point to a path. */
export function form(pen: Pen, mark: number, x: number, y: number, radius: number): void {
  const kind = mark % OUTLINES.length;
  for (const [[left, top], [right, bottom]] of STROKES[kind] ?? []) {
    pen.moveTo(x + left * radius, y + top * radius);
    pen.lineTo(x + right * radius, y + bottom * radius);
  }
  if (kind === 0) {
    pen.moveTo(x + radius, y);
    pen.arc(x, y, radius, 0, 2 * Math.PI);
  }
  (OUTLINES[kind] ?? []).forEach(([left, top], at) => {
    if (at) pen.lineTo(x + left * radius, y + top * radius);
    else pen.moveTo(x + left * radius, y + top * radius);
  });
  if (OUTLINES[kind]?.length) pen.closePath();
}

const APART = 90; // distance between the marks of a line over time, in CSS pixels

/** Draws marks on a line over time, each line's at places of its own: gray lines differ in them. */
export function spaced(number: number, count: number, css: string): uPlot.Series.Points {
  const paths = (plot: uPlot, series: number, first: number, last: number) => {
    const path = new Path2D();
    const [x, y] = [plot.data[0], plot.data[series] ?? []];
    const apart = APART * uPlot.pxRatio;
    let next = plot.bbox.left + (apart * (number + 0.5)) / count;
    for (let at = first; at <= last; at++) {
      const value = y[at];
      const left = plot.valToPos(x[at] ?? 0, "x", true);
      if (value == null || left < next) continue;
      form(path, number, left, plot.valToPos(value, "y", true), 3.2 * uPlot.pxRatio);
      while (next <= left) next += apart;
    }
    return { stroke: path, fill: path, clip: null, flags: 0 };
  };
  return { show: true, width: 1.2, stroke: css, fill: css, paths: paths as unknown as uPlot.Series.Points.PathBuilder };
}
