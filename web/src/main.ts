// The script of a report's page: sorts tables and draws charts. The rest of the page works without it.
import "uplot/dist/uPlot.min.css";
import "./page.css";
import { VERSION } from "./format";
import { lineCharts } from "./lines";
import { sortable } from "./tables";
import { data, onTheme, state } from "./theme";
import { TimelineView } from "./timeline";

if (data.format !== "fullpipe-report" || data.version !== VERSION) {
  throw new Error(
    `this script reads version ${VERSION} of fullpipe-report, and the page has ${data.format} ${data.version}`,
  );
}

sortable();
const charts: { again(): void; resize(): void }[] = lineCharts();
for (const place of document.querySelectorAll<HTMLElement>(".timeline")) {
  const number = Number(place.dataset.timeline);
  const timeline = data.timelines[number];
  if (timeline) charts.push(new TimelineView(place, timeline, number));
}

const again = () => {
  for (const chart of charts) chart.again();
};
onTheme(again);

const opened: HTMLDetailsElement[] = [];
addEventListener("beforeprint", () => {
  state.printing = true;
  opened.push(...document.querySelectorAll<HTMLDetailsElement>("details:not([open])"));
  for (const each of opened) each.open = true;
  again();
});
addEventListener("afterprint", () => {
  state.printing = false;
  for (const each of opened.splice(0)) each.open = false;
  again();
});

let waiting: ReturnType<typeof setTimeout>;
addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    for (const chart of charts) chart.resize();
  }, 100);
});
