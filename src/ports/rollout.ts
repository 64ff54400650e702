/** Which published version of the code new runs begin with, in a world that publishes versions. */

/** A function with which new runs begin. */
export interface BeatFunction {
  /** The agent whose beats it runs; null if it runs those of all agents. */
  readonly agent: string | null;
  /** Its name or ARN. */
  readonly beat: string;
}

/** The published versions of a function, and the versions with which new runs begin. */
export interface Rollout extends BeatFunction {
  /** The version of every new run, except for the share of `next`. */
  readonly version: string;
  readonly next: { readonly version: string; readonly percent: number } | null;
  /** Every published version, the newest last. */
  readonly published: readonly string[];
  /** Changes with each change of the shares. */
  readonly revision: string;
}

/** The versions of new runs. `next` gets a percentage of them. */
export type Shares = Pick<Rollout, "version" | "next">;

/** Rejects with `StoreUnreachable` only. */
export interface RolloutPort {
  /** One where agents share it, or one of each isolated agent. */
  readonly functions: () => Promise<readonly BeatFunction[]>;
  readonly read: (fn: BeatFunction) => Promise<Rollout>;
  /** Only if the shares are still as they were read. */
  readonly move: (read: Rollout, to: Shares) => Promise<"moved" | "changedMeanwhile">;
  /** Names of the alarms that are in alarm now. */
  readonly alarms: () => Promise<readonly string[]>;
}
