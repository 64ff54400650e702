/** The parts of a run in the hands of one invocation, each with one owner: what commits and debits needs no more of it. */
import type { State } from "../../core/state.ts";
import type { Row } from "../../protocol/row.ts";
import type { Invocation } from "../../ports/tasks.ts";
import type { World } from "../../ports/world.ts";
import type { CommittedRun } from "./committed-run.ts";
import type { Noticed } from "./noticed.ts";
import type { PendingWork } from "./pending-work.ts";

export interface RunParts {
  readonly world: World;
  readonly invocation: Invocation;
  readonly committed: CommittedRun;
  readonly pending: PendingWork;
  readonly noticed: Noticed;
  /** The committed row. */
  readonly row: Row;
  /** The committed state with what is pending. */
  readonly state: State;
  readonly now: number;
  readonly leftMs: number;
}
