/**
 * The keyed seal of stored data: an HMAC-SHA256 that only a process with the key can make. Digests detect damage. They
 * do not detect forgery, since any process that can write the store can compute them again. (*Sealed events* are
 * something else: the commits of many snapshots in one object.)
 */
export interface Voucher {
  /** The ID of the key. */
  readonly key: string;
  /** The HMAC in base64url. */
  readonly mac: string;
  /** The key, encrypted by a key service, in base64; absent if the key comes from the environment. */
  readonly wrapped?: string;
}

/** A seal key that a process holds. */
export interface SealKey extends Omit<Voucher, "mac"> {
  readonly bytes: Uint8Array;
}
