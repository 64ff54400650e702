/**
 * The codec of sealed events: one object holds the commits of many snapshots and a reference to the sealed object
 * before it. A snapshot names only the newest sealed object, so a snapshot does not grow with the history of its run.
 */
import * as z from "zod";
import type { CommitRecord } from "../core/event.ts";
import { FORMAT } from "../protocol/row.ts";
import { Unreadable, canonical, canonicalOf, compress, decompress, sha256 } from "./canonical.ts";
import { commitRecords } from "./schema/event.ts";
import { type SealedRef, sealedRef } from "./schema/sealed.ts";
import { assertFormat } from "./snapshot.ts";

export interface SealedEvents {
  /** The first version whose commit is in `commits`. */
  readonly from: number;
  /** The last version (inclusive); a snapshot of this version exists. */
  readonly to: number;
  readonly previous: SealedRef | null;
  readonly commits: readonly CommitRecord[];
}

/** `bytes` is the object to upload. `ref` has no object key yet, because the key is derived from the digest. */
export interface EncodedSealed {
  readonly ref: Omit<SealedRef, "key">;
  readonly bytes: Uint8Array;
}

export const document = z.looseObject({
  format: z.literal(FORMAT),
  from: z.int().nonnegative(),
  to: z.int().nonnegative(),
  previous: sealedRef.nullable(),
  commits: commitRecords,
});

/** `commits`: their canonical texts, oldest first, each a list (`encodeCommits`). */
export function encodeSealed(
  sealed: Omit<SealedEvents, "commits"> & { readonly commits: readonly string[] },
): EncodedSealed {
  const { from, to, previous } = sealed;
  const commits = sealed.commits.map((list) => list.slice(1, -1)).filter((members) => members !== "");
  const short = Object.entries({ format: FORMAT, from, to, previous }).map(([name, value]) => [name, canonical(value)]);
  const text = canonicalOf({ ...Object.fromEntries(short), commits: `[${commits.join(",")}]` });
  return { ref: { from, to, digest: sha256(text), bytes: Buffer.byteLength(text, "utf8") }, bytes: compress(text) };
}

/** Throws `Unreadable` when the bytes do not match the reference or have an unknown format. */
export function decodeSealed(ref: SealedRef, bytes: Uint8Array): SealedEvents {
  const text = decompress(bytes, { what: `sealed events ${ref.key}`, bytesMax: ref.bytes, isKnown: true });
  if (sha256(text) !== ref.digest) {
    throw new Unreadable(`sealed events ${ref.key} do not match the digest of their reference`, "DigestMismatch");
  }
  const raw: unknown = JSON.parse(text.toString("utf8"));
  assertFormat((raw as { format?: unknown }).format, `sealed events ${ref.key}`);
  const found = document.safeParse(raw);
  if (!found.success) throw new Unreadable(`sealed events ${ref.key}: ${z.prettifyError(found.error)}`);
  const { from, to, previous, commits } = found.data;
  if (from !== ref.from || to !== ref.to) {
    throw new Unreadable(`sealed events ${ref.key} cover versions ${from} to ${to}, not ${ref.from} to ${ref.to}`);
  }
  return { from, to, previous, commits };
}
