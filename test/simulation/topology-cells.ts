/** What of topologies a history met, for the reach table. */
import type { ObservedHistory } from "./observed-history.ts";

const KINDS = ["pipeline", "plan-execute", "debate"] as const;
const BOSS = "orchestrator";

/** What a topology does to recover, by the note of its move. */
const RECOVERIES: readonly (readonly [name: string, note: RegExp])[] = [
  ["gate falls", /was refused/],
  ["another plan", /^another plan/],
  ["revision", /^the best draft is revised$/],
  ["refused round", /: nothing was handed out$/],
  ["boss alone", /the boss goes on alone$/],
];

export const TOPOLOGY_CELLS: readonly string[] = [
  ...[...KINDS, BOSS],
  ...[...KINDS, BOSS].map((kind) => `${kind} resumed`),
  ...KINDS.map((kind) => `${kind} in a saga`),
  ...RECOVERIES.flatMap(([name]) => [name, `${name}, resumed`]),
  "finished",
].map((what) => `topology ${what}`);

export function topologyCells({ events, history }: ObservedHistory): readonly string[] {
  const moves = events("TopologyMoved");
  const [first] = moves;
  if (first === undefined) return [];
  const takeovers = events("RecoveryDecided").filter(({ event }) => event.action.kind === "takeover");
  const kind = first.event.topology;
  const recovered = RECOVERIES.flatMap(([name, note]) => {
    const move = moves.find(({ event }) => note.test(event.note));
    if (move === undefined) return [];
    return takeovers.some(({ order }) => order > move.order) ? [name, `${name}, resumed`] : [name];
  });
  const cells = [
    kind,
    ...(takeovers.some(({ order }) => order > first.order) ? [`${kind} resumed`] : []),
    ...(history.plan.saga === null ? [] : [`${kind} in a saga`]),
    ...recovered,
    ...(moves.some(({ event }) => event.final !== undefined) ? ["finished"] : []),
  ];
  return cells.map((name) => `topology ${name}`);
}
