/**
 * Hierarchy: orchestrators of orchestrators. Its typical failure is the root as a bottleneck: its leaves report
 * faster than it reads, and then they are idle. Depth and fan-out have caps. Reports are merged in batches, so that the
 * prompt of the root does not grow with the number of its leaves. After the first signal the root hands out work to its
 * shards alone: sub-roots over disjoint parts, which read the reports of the leaves for it.
 */
import { bossing } from "../boss/core.ts";
import { type BossOptions, type BossProgress, bossProblems } from "../boss/core-options.ts";
import { problemOfRange } from "../../../core/topologies/problems.ts";
import type { Move, Observation, TopologyModule } from "../../../core/topologies/topology.ts";

export interface HierarchicalOptions extends BossOptions {
  readonly kind: "hierarchical";
  readonly levels: number;
  /** This many reports that wait unread at once are the first signal of a bottleneck. */
  readonly unreadMax: number;
}

/** More levels than a task needs: each of them costs a budget of its own. */
const LEVELS_MAX = 8;
const UNREAD_MAX = 200;

const boss = bossing<HierarchicalOptions>();

export const HIERARCHICAL: TopologyModule<HierarchicalOptions, BossProgress> = {
  ...boss,
  kind: "hierarchical",
  checkpoint: "hand-off, and each summary",
  problems: (options) => [...bossProblems(options), ...problems(options)],
  observe: (progress, seen, setup) =>
    seen.kind === "reports" ? bottleneck(seen, setup.options) : boss.observe(progress, seen, setup),
  // With this many children at once the inbox never has enough unread reports.
  misses: ({ unreadMax, fanOut }) => (unreadMax > fanOut ? ["rootBottleneck"] : []),
};

/** Children that have reported are idle until their boss reads. */
function bottleneck(
  { unread, working }: Extract<Observation, { readonly kind: "reports" }>,
  { unreadMax }: HierarchicalOptions,
): Move<BossProgress> | null {
  if (unread < unreadMax) return null;
  const why = `${unread} reports waited unread, and ${working} children still worked`;
  return { kind: "signal", cracks: [{ crack: "rootBottleneck", why }] };
}

function problems({ levels, unreadMax, partsIn, shards }: HierarchicalOptions): readonly string[] {
  return [
    ...problemOfRange("levels", levels, [2, LEVELS_MAX]),
    ...problemOfRange("unreadMax", unreadMax, [1, UNREAD_MAX]),
    ...(partsIn === undefined || typeof partsIn === "string" ? [] : ["partsIn is the name of an argument"]),
    ...(shards === undefined || Array.isArray(shards) ? [] : ["shards are names of child tools"]),
  ];
}
