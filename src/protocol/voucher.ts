/**
 * The keyed seal of what is stored: an HMAC-SHA256 that only a process with the key can make. Digests find damage; they do not
 * find forgery, because a process that can write the store can compute them anew. (*Sealed events* are something else: commits of many
 * snapshots in one object.)
 */
export interface Voucher {
  /** The id of the key. */
  readonly key: string;
  /** base64url. */
  readonly mac: string;
  /** The key itself, encrypted by a key service, in base64; absent where the key comes from the environment. */
  readonly wrapped?: string;
}

/** A key in the hands of a process. */
export interface SealKey extends Omit<Voucher, "mac"> {
  readonly bytes: Uint8Array;
}
