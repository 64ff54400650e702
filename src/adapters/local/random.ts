/** Random digits. The system is asked for many bytes at once, since that takes as long as asking for a few. */
import { randomFillSync } from "node:crypto";

const pool = Buffer.alloc(4_096);
let used = pool.byteLength;

/** So many random bytes as lower-case hex, at most 4,096. */
export function randomHex(bytes: number): string {
  if (used + bytes > pool.byteLength) {
    randomFillSync(pool);
    used = 0;
  }
  used += bytes;
  const digits = pool.toString("hex", used - bytes, used);
  // Digits that were given out, perhaps as a key, are nowhere else in memory.
  pool.fill(0, used - bytes, used);
  return digits;
}
