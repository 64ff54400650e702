/** The schema of what names stored objects: a snapshot, and sealed events; see `state.ts`. */
import * as z from "zod";
import type { SnapshotPointer } from "../../protocol/row.ts";
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

export const snapshotPointer: z.ZodType<SnapshotPointer> = z.looseObject({
  version: count,
  key: z.string().min(1),
  digest: sha,
});
