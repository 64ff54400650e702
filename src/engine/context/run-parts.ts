/**
 * The parts of a claimed run, each with one owning class. Commits and debits depend on this interface only, and not on
 * `ActiveRun`.
 */
import type { State } from "../../core/state.ts";
import type { Agent, CheckpointEvery } from "../../ports/agent.ts";
import type { Row } from "../../protocol/row.ts";
import type { Invocation } from "../../ports/tasks.ts";
import type { World } from "../../ports/world.ts";
import type { CommittedRun } from "./committed-run.ts";
import type { SeenSoFar } from "./next.ts";
import type { Noticed } from "./noticed.ts";
import type { PendingWork } from "./pending-work.ts";
import type { InvocationTrace } from "./trace.ts";

/** What commits and debits need to know of the agent that this invocation uses now. */
export interface AgentTerms extends Pick<Agent, "price" | "budget"> {
  /** Null where the agent does not say. */
  readonly checkpoint: CheckpointEvery | null;
  /** An agent of this run limits its time at work. From then on the time is debited. */
  readonly countsTime: boolean;
  /** How long the request for the next summary of a result is; 0: none is due. */
  readonly summaryCharacters: number;
}

export function termsWith(
  before: AgentTerms | null,
  { price, budget, checkpoint }: Pick<Agent, "price" | "budget" | "checkpoint">,
  summaryCharacters = before?.summaryCharacters ?? 0,
): AgentTerms {
  const countsTime = before?.countsTime === true || (budget.wallMs ?? null) !== null;
  return { price, budget, checkpoint: checkpoint ?? null, countsTime, summaryCharacters };
}

/** The most beats of this invocation before it releases the run: those of the deployment where the agent names none. */
export function beatsMaxOf({ terms, world }: Pick<RunParts, "terms" | "world">): number {
  const { checkpoint = null } = terms ?? {};
  if (checkpoint === null) return world.limits.beatsPerInvocation;
  return checkpoint === "unit" ? Number.MAX_SAFE_INTEGER : checkpoint;
}

/** Whether this invocation releases the run when a stage, step or round is complete. */
export const releasesAtUnit = ({ terms }: Pick<RunParts, "terms">): boolean => terms?.checkpoint === "unit";

/** What commits and debits need of a claimed run. */
export interface RunParts {
  readonly world: World;
  readonly invocation: Invocation;
  readonly committed: CommittedRun;
  readonly pending: PendingWork;
  readonly noticed: Noticed;
  /** What the steps of this invocation have seen. */
  readonly seen: SeenSoFar;
  /** Null until this invocation has loaded the agent. */
  readonly terms: AgentTerms | null;
  /** Null while nobody traces the runs. */
  readonly trace: InvocationTrace | null;
  /** The row as the last answer of the table showed it. */
  readonly row: Row;
  /** The committed state with all pending events applied. */
  readonly state: State;
  readonly now: number;
  /** Milliseconds for further work. After them this invocation has to commit and release the run. */
  readonly leftMs: number;
}
