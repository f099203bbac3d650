// The color of each flow: that of its algorithm, as in reports, in a shade of its own.
import { color, data, ink } from "../theme";
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
  const index = indexOf(own.cc);
  const earlier = flows.slice(0, flow).filter((each) => indexOf(each.cc) === index);
  return color(index, earlier.length);
}
