/** What of topologies a history met, for the reach table. */
import type { ObservedHistory } from "./observed-history.ts";

const KINDS = ["pipeline", "plan-execute", "debate"] as const;

export const TOPOLOGY_CELLS: readonly string[] = [
  ...KINDS,
  ...KINDS.map((kind) => `${kind} resumed`),
  ...["gate falls", "another plan", "revision", "finished"],
].map((what) => `topology ${what}`);

export function topologyCells({ events }: ObservedHistory): readonly string[] {
  const moves = events("TopologyMoved").map(({ event }) => event);
  const [first] = moves;
  if (first === undefined) return [];
  const isResumed = events("RecoveryDecided").some(
    ({ event }) => event.action.kind === "takeover" && event.at >= first.at,
  );
  const notes = moves.map(({ note }) => note);
  const cells: Readonly<Record<string, boolean>> = {
    [first.topology]: true,
    [`${first.topology} resumed`]: isResumed,
    "gate falls": notes.some((note) => note.includes("was refused")),
    "another plan": notes.some((note) => note.startsWith("another plan")),
    revision: notes.includes("the best draft is revised"),
    finished: moves.some(({ final }) => final !== undefined),
  };
  return Object.entries(cells).flatMap(([name, isMet]) => (isMet ? [`topology ${name}`] : []));
}
