/**
 * The parts of a claimed run, each with one owning class. Commits and debits depend on this interface only, and not on
 * `ActiveRun`.
 */
import type { State } from "../../core/state.ts";
import type { Row } from "../../protocol/row.ts";
import type { Invocation } from "../../ports/tasks.ts";
import type { World } from "../../ports/world.ts";
import type { CommittedRun } from "./committed-run.ts";
import type { SeenSoFar } from "./next.ts";
import type { Noticed } from "./noticed.ts";
import type { PendingWork } from "./pending-work.ts";
import type { InvocationTrace } from "./trace.ts";

/** What commits and debits need of a claimed run. */
export interface RunParts {
  readonly world: World;
  readonly invocation: Invocation;
  readonly committed: CommittedRun;
  readonly pending: PendingWork;
  readonly noticed: Noticed;
  /** What the steps of this invocation have seen. */
  readonly seen: SeenSoFar;
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
