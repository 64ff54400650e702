/** What names sealed events: the schema at the trust boundary, as in `schema.ts`. */
import * as z from "zod";
import { sha } from "./message.ts";

const count = z.int().nonnegative();

/** Sealed events: every commit of the versions `from` to `to`, in `bytes` of canonical JSON. */
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
