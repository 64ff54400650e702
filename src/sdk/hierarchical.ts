/** The constructor of a hierarchy, with its defaults. */
import { checkTopologyOptions } from "./topology-forms.ts";
import type { HierarchicalOptions } from "../features/topologies/hierarchical/core.ts";
import type { Topology } from "../ports/agent.ts";
import { type BossRoles, bossOptions } from "./orchestrator.ts";

/** A boss of bosses: its workers may be agents with a hierarchy or an orchestrator of their own. */
export function hierarchical(
  options: BossRoles & {
    /** How many children one run may have out at once; default 12. */
    readonly fanOut?: number;
    /** How many levels of runs there are at most, the first run included; default 3. */
    readonly levels?: number;
    /** The workers that are bosses themselves. After a bottleneck the root hands out work to these alone. */
    readonly shards?: readonly string[];
    /** The argument of a worker that lists its parts. Two hand-offs of a run never share a part. */
    readonly partsIn?: string;
    /** This many reports that wait unread at once are the first signal of a bottleneck; default: half of `fanOut`. */
    readonly unread?: number;
  },
): Topology & HierarchicalOptions {
  checkTopologyOptions("hierarchical", options);
  const { fanOut, levels = 3, shards, partsIn, unread } = options;
  const of = bossOptions(options, { rounds: 1, fanOut });
  return {
    kind: "hierarchical",
    ...of,
    levels,
    unreadMax: unread ?? Math.max(2, Math.ceil(of.fanOut / 2)),
    ...(shards === undefined ? {} : { shards }),
    ...(partsIn === undefined ? {} : { partsIn }),
  };
}
