/** The schema of a reference to sealed events; see `schema.ts`. */
import * as z from "zod";
import { sha } from "./message.ts";

const count = z.int().nonnegative();

/** A reference to sealed events: all commits of versions `from` to `to` (inclusive), in `bytes` of canonical JSON. */
export interface SealedRef {
  readonly from: number;
  readonly to: number;
  readonly key: string;
  /** SHA-256 of the uncompressed bytes. */
  readonly digest: string;
  readonly bytes: number;
}

export const sealedRef: z.ZodType<SealedRef> = z.looseObject({
  from: count,
  to: count,
  key: z.string().min(1),
  digest: sha,
  bytes: count,
});
