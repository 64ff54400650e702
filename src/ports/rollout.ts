/** Which published version of the code new runs begin with, in a world that publishes versions. */

export interface Rollout {
  /** The name of what runs beats. */
  readonly beat: string;
  /** Gets every new run but the share of `next`. */
  readonly version: string;
  readonly next: { readonly version: string; readonly percent: number } | null;
  /** Every published version, the newest last. */
  readonly published: readonly string[];
  /** Changes with each change of the shares. */
  readonly revision: string;
}

export type Shares = Pick<Rollout, "version" | "next">;

/** Rejects with `StoreUnreachable` only. */
export interface RolloutPort {
  readonly read: () => Promise<Rollout>;
  /** Only if the shares are still as they were read. */
  readonly move: (read: Rollout, to: Shares) => Promise<"moved" | "changedMeanwhile">;
  /** Names of the alarms that are in alarm now. */
  readonly alarms: () => Promise<readonly string[]>;
}
