/**
 * Compares digests of secrets in a time that does not depend on how much of them is equal. A random secret of 256 bits
 * needs no slow hash: it cannot be guessed.
 */
import { createHash, timingSafeEqual } from "node:crypto";

/** SHA-256 in lower-case hex. */
export const secretDigest = (secret: string): string => createHash("sha256").update(secret, "utf8").digest("hex");

export function isSameDigest(one: string, other: string): boolean {
  const [first, second] = [Buffer.from(one), Buffer.from(other)];
  return first.length === second.length && timingSafeEqual(first, second);
}
