/** The constructor of an orchestrator, with its defaults. */
import { checkTopologyOptions } from "./topology-forms.ts";
import type { BossOptions } from "../features/topologies/boss/core-options.ts";
import type { OrchestratorOptions } from "../features/topologies/orchestrator/core.ts";
import type { Topology } from "../ports/agent.ts";

/** What a user says about a boss. */
export interface BossRoles {
  /** The child tools (`childTool`) by which the boss hands out work. Each waits for its child and has an `output`. */
  readonly workers: readonly string[];
  /** Plans the hand-offs. `tools`: what it may call itself besides; default: nothing. */
  readonly boss: BossOptions["boss"];
  /** Writes the answer from the memos. */
  readonly merger: BossOptions["merger"];
  /** How many times the boss may hand out work; all hand-offs of one reply are one round. */
  readonly rounds?: number;
  /** How many hand-offs the run makes at most; default 24. */
  readonly handOffs?: number;
  /** How many memos or summaries one model call reads at most. More are summarised in batches first; default 8. */
  readonly batch?: number;
  /** The cap of the whole run, with the beats of its children; default 400. */
  readonly maxBeats?: number;
}

/** What holds where the agent does not say. */
const [FAN_OUT, HAND_OFFS, BATCH, BEATS] = [12, 24, 8, 400];

/** The options that every boss has. */
export const bossOptions = (
  { workers, boss, merger, rounds, handOffs = HAND_OFFS, batch = BATCH, maxBeats = BEATS }: BossRoles,
  defaults: { readonly rounds: number; readonly fanOut: number | undefined },
): Omit<BossOptions, "kind"> => ({
  maxBeats,
  workers,
  boss,
  merger,
  batch,
  handOffsMax: handOffs,
  rounds: rounds ?? defaults.rounds,
  fanOut: defaults.fanOut ?? FAN_OUT,
});

/** A boss that hands out work to workers, reads their memos, and merges them; by default in up to 3 rounds. */
export function orchestrator(
  options: BossRoles & {
    /** How many workers may be out at once; default 12. */
    readonly atOnce?: number;
  },
): Topology & OrchestratorOptions {
  checkTopologyOptions("orchestrator", options);
  return { kind: "orchestrator", ...bossOptions(options, { rounds: 3, fanOut: options.atOnce }) };
}
