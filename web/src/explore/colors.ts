// The look of each flow: the color of its algorithm, as in reports, in a shade and with dashes of its own.
import { color, dash, data, ink } from "../theme";
import type { Catalogue, Described } from "./format";

/** The color of an algorithm that the catalogue doesn't have: a user's own. */
export const OWN = 4;
const indices = new Map(
  (data as unknown as { explore: Catalogue }).explore.algorithms.map((each) => [each.name, each.color]),
);
const indexOf = (algorithm: string) => indices.get(algorithm) ?? OWN;

/** Returns the color of a flow; that of text for what is no flow. */
export function flowColor({ flows }: Described, flow: number): string {
  const own = flows[flow];
  if (!own) return ink();
  return color(indexOf(own.cc), turnOf(flows, flow));
}

/** Returns the number of earlier flows with the color of a flow. */
function turnOf(flows: Described["flows"], flow: number): number {
  const index = indexOf(flows[flow]?.cc ?? "");
  return flows.slice(0, flow).filter((each) => indexOf(each.cc) === index).length;
}

/** Returns the dashes of a flow: flows of one color differ in them. */
export const flowDash = ({ flows }: Described, flow: number): number[] =>
  flows[flow] ? dash(turnOf(flows, flow)).map((each) => each / 2) : [];
