/**
 * SealKeys: the keys for the seals of stored data (`protocol/voucher.ts`). The contract:
 *
 * - `current` is the key with which this process seals, the same one for as long as the process lives.
 * - `find` is the key that a seal names: the current one, an older one, or one that a key service decrypts. Null: this
 *   process does not have it.
 * - `mode`: `off`, the process has no key and cannot say whether a seal is genuine. `on`: what it writes is sealed, and
 *   what was sealed must stay sealed. `required`: it reads only what is sealed.
 * - Rejects only with `StoreUnreachable`.
 */
import type { SealKey, Voucher } from "../protocol/voucher.ts";

export interface SealKeys {
  readonly mode: "off" | "on" | "required";
  current(): Promise<SealKey | null>;
  find(voucher: Pick<Voucher, "key" | "wrapped">): Promise<SealKey | null>;
}

/** The settings of seal keys are invalid; the message names the setting. */
export class SealKeyInvalid extends Error {
  override readonly name = "SealKeyInvalid";
  readonly code = "SealKeyInvalid";
}

/** The seal keys of a world that seals nothing. */
export const NO_SEAL_KEYS: SealKeys = { mode: "off", current: async () => null, find: async () => null };
