/**
 * Which hand-offs a boss may make. The caps hold over the whole run, also after a
 * crash: they count the hand-offs in the transcript. Equal work is handed out again only if its hand-off has failed, so
 * a boss that forgets does no work twice.
 */
import type { Json } from "../../../core/json.ts";
import type { HandOff, Proposed } from "../../../core/topologies/topology.ts";

/** The caps of a boss. */
export interface HandOffCaps {
  /** The child tools by which it hands out work. */
  readonly workers: readonly string[];
  /** How many hand-offs the run makes at most. Further tries of a failed hand-off do not count. */
  readonly handOffsMax: number;
  /** How many hand-offs wait for their reports at once, at most. */
  readonly fanOut: number;
  /** How many levels of runs there are at most, this tree's first run included. Absent: any number. */
  readonly levels?: number;
  /** The argument that lists the parts of a hand-off. No part is handed out twice. Absent: parts are not compared. */
  readonly partsIn?: string;
}

/**
 * Why this hand-off must not be made; null: it may. The sentence is for the model. Its code says what becomes of the work:
 * `NotYet`: it can be handed out later. `Duplicate`: nothing is missing without it. `NotStarted`: it is not handed out.
 */
export function handOffRefusal(caps: HandOffCaps, proposed: Proposed): string | null {
  const { workers, handOffsMax, fanOut, levels } = caps;
  if (!workers.includes(proposed.tool)) return null;
  const before = proposed.before.filter(({ tool }) => workers.includes(tool));
  // This run is on level depth + 1, and its children are one level below.
  if (levels !== undefined && proposed.depth + 2 > levels) {
    return `NotStarted: this run is on the last of ${levels} levels and hands out nothing; do the work itself`;
  }
  const isEqual = ({ tool, digest }: HandOff): boolean => tool === proposed.tool && digest === proposed.digest;
  const standing = before.filter(({ status }) => status !== "failed");
  const same = standing.find(isEqual);
  if (same !== undefined) return `Duplicate: ${same.call} has this task already`;
  // An equal hand-off that failed after its child had acted is asked about before: a human has let this one through.
  const acted = before.filter((each) => each.acted === true && !isEqual(each));
  const shared = sharedPart(caps, proposed, [...standing, ...acted]);
  if (shared !== null) return shared;
  if (before.length >= handOffsMax)
    return `NotStarted: ${handOffsMax} hand-offs are the most of this run; use the reports that are there`;
  const out = before.filter(({ status }) => status === "out").length;
  if (out >= fanOut)
    return `NotYet: ${out} hand-offs wait for their reports, the most at once; hand this out after them`;
  return null;
}

/** Shards are disjoint: two of them would do the same part twice, and the merged result would count it twice. */
function sharedPart({ partsIn }: HandOffCaps, { args }: Proposed, standing: readonly HandOff[]): string | null {
  if (partsIn === undefined) return null;
  const parts = partsOf(args, partsIn);
  for (const { call, args: taken, acted } of standing) {
    const shared = partsOf(taken, partsIn).find((part) => parts.includes(part));
    if (shared === undefined) continue;
    if (acted === true) return `AlreadyActed: ${call} had the part ${shared} and failed after its child run had acted`;
    return `NotStarted: ${call} has the part ${shared} already; parts must be disjoint`;
  }
  return null;
}

function partsOf(args: Json, name: string): readonly string[] {
  if (typeof args !== "object" || args === null || Array.isArray(args)) return [];
  const found = (args as { readonly [name: string]: Json })[name] ?? null;
  const parts: readonly Json[] = Array.isArray(found) ? found : [found];
  return parts.filter((part) => part !== null).map((part) => (typeof part === "string" ? part : JSON.stringify(part)));
}
