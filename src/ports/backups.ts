/**
 * Backups of a world's stores, where cairn itself takes them. A restored store is older than its runs: nothing in it
 * knows what they did after the backup. So a restore hands the store to `settle` before anybody else can open it.
 */
import type { ForeignCode } from "../protocol/foreign.ts";
import type { Limits } from "../protocol/limits.ts";
import type { SealKeys } from "./seal-keys.ts";
import type { World } from "./world.ts";

/** Reports how much is done, from 0 to 1. */
export type OnShare = (share: number) => void;

export interface Backups {
  /**
   * Writes the state of one moment to a new file, while other processes go on. The file appears whole or not at all.
   *
   * @throws BackupRefused, StoreUnreachable
   */
  take(wanted: { readonly file: string; readonly onShare: OnShare }): Promise<{ readonly bytes: number }>;
  /**
   * Makes a store from that file, where there is none. The store appears when `settle` has resolved, or not at all.
   *
   * @throws BackupRefused, StoreUnreachable
   */
  restore(wanted: {
    readonly file: string;
    readonly options: { readonly limits: Limits; readonly sealKeys: SealKeys };
    readonly settle: (world: World) => Promise<void>;
  }): Promise<void>;
}

/**
 * `BackupExists`: the file is there already. `BackupInvalid`: it is no backup of a store, or cannot be read or written.
 * `BackupDamaged`: it was one. `RestoreRefused`: the place of the restored store is not empty. A foreign code: another
 * cairn wrote it.
 */
export type BackupFault = "BackupExists" | "BackupInvalid" | "BackupDamaged" | "RestoreRefused" | ForeignCode;

/** Nothing was changed. */
export class BackupRefused extends Error {
  override readonly name = "BackupRefused";
  readonly code: BackupFault;
  readonly why: string;

  constructor(code: BackupFault, { what, why }: { readonly what: string; readonly why: string }, cause?: unknown) {
    super(what, cause === undefined ? undefined : { cause });
    this.code = code;
    this.why = why;
  }
}
