/**
 * Holding a process at one edge of the protocol, so that a test, the demo or chaos can kill it exactly there. The first
 * process that reaches the edge of `CAIRN_HOLD` leaves `held` in the store and never goes on; its event loop stays
 * alive, and the kill at its deadline still comes. Whoever finds that file passes.
 */
import { linkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Edge, type OnEdge, parseEdge } from "../runner/edges.ts";

/** What `CAIRN_HOLD` says, or null where it says nothing. Throws where it is no edge. */
export function edgeIn(text: string | undefined): Edge | null {
  if (text === undefined || text === "") return null;
  const edge = parseEdge(text);
  if (edge === null) throw new Error(`CAIRN_HOLD=${text} is no edge; write for example after:effect:TOOL`);
  return edge;
}

export function holdAt(edge: Edge, dir: string): OnEdge {
  return async (reached) => {
    const isIt = reached.when === edge.when && reached.name === edge.name && reached.at === edge.at;
    if (isIt && leaveMark(dir, edge)) await new Promise<never>(() => {});
  };
}

/** False: somebody was here before. The mark is there with all of its content or not at all. */
function leaveMark(dir: string, edge: Edge): boolean {
  const mine = join(dir, `held.${process.pid}`);
  writeFileSync(mine, JSON.stringify({ pid: process.pid, edge }));
  try {
    linkSync(mine, join(dir, "held"));
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(mine, { force: true });
  }
}
