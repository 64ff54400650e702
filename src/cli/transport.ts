/**
 * How a command reaches its runs: the store of a world, which this process opens, or the API of a server (`--api`). Every
 * command performs its operations here, by name. So each has one rendering and one exit code, whichever transport brought
 * the outcome.
 */
import type { OperationName } from "../operations/table.ts";
import type { OperationContext } from "../operations/operation.ts";
import type { InputTo, OutcomeOf } from "../operations/caller-outcome.ts";
import type { Summary } from "../operations/summary.ts";
import type { Attendant } from "../ports/world-provider.ts";
import type { UserError } from "../compose/user-error.ts";
import type { Opened } from "../compose/open.ts";
import type { FollowEnd, FollowOptions } from "./terminal/follow.ts";

/** What only an operation on a store of this process takes: code of agents, and who hears of progress. */
export type Local = Partial<OperationContext>;

export interface Transport {
  /** Performs the operation of that name. An outcome is the same, whichever transport brings it. */
  readonly perform: <N extends OperationName>(name: N, given: InputTo<N>, local?: Local) => Promise<OutcomeOf<N>>;
  /** Builds a command that the user can type, for the same place. */
  readonly command: (...words: readonly string[]) => string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Who acts, as the record of the run names them. */
  readonly actor: () => Promise<string>;
  /** The process or service that drives the runs now; null: none. */
  readonly attendant: () => Promise<Attendant | null>;
  /** The ID of the run that the user typed, whole or in part. `to`: see `commands/runs.ts`. */
  readonly resolve: (text: string, to?: "read") => Promise<string>;
  /** The error for a run that is not there. */
  readonly gone: (run: string) => UserError;
  /** The summary of a run; null if there is no such run. */
  readonly summary: (run: string) => Promise<BriefRun | null>;
  /** Follows a run until it ends, needs a human or is interrupted. */
  readonly follow: (options: FollowOptions) => Promise<FollowEnd>;
  /** The store that this process has open; null over HTTP. */
  readonly opened: Opened | null;
}

/** The transport to a store that this process has open. */
export interface StoreTransport extends Transport {
  readonly opened: Opened;
}

/** `isCancelled`: it was asked to end. An API does not say so. */
export interface BriefRun extends Pick<Summary, "run" | "agent" | "status" | "statusSince" | "version" | "inProgress"> {
  readonly isCancelled: boolean;
}
