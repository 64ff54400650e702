/**
 * Keys for the seals of what is stored (`protocol/voucher.ts`). The contract:
 *
 * - `current` is the key that this process seals with, the same one for as long as it lives.
 * - `find` is the key that a seal names: the current one, an older one, or one that a key service decrypts. Null: this process
 *   does not have it.
 * - `mode`: `off`, it has no key, and cannot say whether a seal is genuine. `on`: what it writes is sealed, and what was sealed
 *   must stay so. `required`: it reads nothing that is not sealed.
 * - Rejects only with `StoreUnreachable`.
 */
import type { SealKey, Voucher } from "../protocol/voucher.ts";

export interface SealKeys {
  readonly mode: "off" | "on" | "required";
  current(): Promise<SealKey | null>;
  find(of: Pick<Voucher, "key" | "wrapped">): Promise<SealKey | null>;
}

/** What is said about seal keys is no key. */
export class SealKeyInvalid extends Error {
  override readonly name = "SealKeyInvalid";
  readonly code = "SealKeyInvalid";
}

/** Of a world that seals nothing. */
export const NO_SEAL_KEYS: SealKeys = { mode: "off", current: async () => null, find: async () => null };
