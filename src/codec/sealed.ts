/**
 * Sealed events as bytes: the commits of many snapshots in one object, and a reference to the sealed object before it.
 * A snapshot names the newest one only, so what it says of its history does not grow with the history.
 */
import * as z from "zod";
import type { CommitRecord } from "../core/event.ts";
import { FORMAT } from "../protocol/row.ts";
import { Unreadable, canonical, compress, decompress, sha256 } from "./canonical.ts";
import { commitRecords } from "./schema/event.ts";
import { type SealedRef, sealedRef } from "./schema/sealed.ts";
import { assertFormat } from "./snapshot.ts";

export interface SealedEvents {
  /** Every version from here ... */
  readonly from: number;
  /** ... to here, which is that of a snapshot. */
  readonly to: number;
  readonly previous: SealedRef | null;
  readonly commits: readonly CommitRecord[];
}

/** `ref` lacks the key, which is made of its digest; `bytes` are the object to upload. */
export interface EncodedSealed {
  readonly ref: Omit<SealedRef, "key">;
  readonly bytes: Uint8Array;
}

const document = z.looseObject({
  format: z.literal(FORMAT),
  from: z.int().nonnegative(),
  to: z.int().nonnegative(),
  previous: sealedRef.nullable(),
  commits: commitRecords,
});

export function encodeSealed(of: SealedEvents): EncodedSealed {
  const { from, to } = of;
  const text = canonical({ format: FORMAT, ...of });
  return { ref: { from, to, digest: sha256(text), bytes: Buffer.byteLength(text, "utf8") }, bytes: compress(text) };
}

/** Throws `Unreadable` where the bytes are not what the reference names, or are of a format that is not known. */
export function decodeSealed(ref: SealedRef, bytes: Uint8Array): SealedEvents {
  const text = decompress(bytes, { what: `sealed events ${ref.key}`, bytesMax: ref.bytes }).toString("utf8");
  if (sha256(text) !== ref.digest) {
    throw new Unreadable(`sealed events ${ref.key} have other content than their reference says`, "DigestMismatch");
  }
  const raw: unknown = JSON.parse(text);
  assertFormat((raw as { format?: unknown }).format, `sealed events ${ref.key}`);
  const found = document.safeParse(raw);
  if (!found.success) throw new Unreadable(`sealed events ${ref.key}: ${z.prettifyError(found.error)}`);
  const { from, to, previous, commits } = found.data;
  if (from !== ref.from || to !== ref.to) {
    throw new Unreadable(`sealed events ${ref.key} cover versions ${from} to ${to}, not ${ref.from} to ${ref.to}`);
  }
  return { from, to, previous, commits };
}
