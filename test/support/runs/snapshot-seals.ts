/** Runs with sealed snapshots, and a forger who can write the store but has no key. */
import { canonical, compress, decompress, sha256 } from "../../../src/codec/canonical.ts";
import { sealKeyIn } from "../../../src/codec/voucher.ts";
import type { SealKeys } from "../../../src/ports/seal-keys.ts";
import type { Row, SnapshotPointer } from "../../../src/protocol/row.ts";
import type { SealKey } from "../../../src/protocol/voucher.ts";
import { rewriteRow as rewrittenRow } from "./rewrite-row.ts";
import type { Harness } from "../harness/harness.ts";

export function sealKeyFrom(letter: string): SealKey {
  const key = sealKeyIn(letter.repeat(64));
  if (key === null) throw new Error(`${letter} is no key`);
  return key;
}

/** Seals with the first key. */
export function sealKeyRing(keys: readonly SealKey[], mode: SealKeys["mode"] = "on"): SealKeys {
  return {
    mode,
    current: async () => keys[0] ?? null,
    find: async ({ key }) => keys.find((each) => each.key === key) ?? null,
  };
}

export const withSealKeys = (harness: Harness, sealKeys: SealKeys): Harness => ({
  ...harness,
  world: { ...harness.world, sealKeys },
});

interface Document {
  readonly version: number;
  readonly previous: SnapshotPointer | null;
  readonly voucher?: unknown;
}

/** The snapshots of a run, oldest first. */
function snapshotsOf(
  { world: { store } }: Harness,
  row: Row,
): { readonly pointer: SnapshotPointer; readonly document: Document }[] {
  const found = [];
  for (let pointer: SnapshotPointer | null = row.snapshot; pointer !== null;) {
    const bytes = store.objects.get(pointer.key) as Uint8Array;
    const text = decompress(bytes, { what: "it", bytesMax: 1e7 }).toString("utf8");
    const document = JSON.parse(text) as Document;
    found.push({ pointer, document });
    pointer = document.previous;
  }
  return found.toReversed();
}

/**
 * Rewrites the history of a run with matching digests and checksums. Seals that the forger keeps belong to other
 * documents.
 */
export function forgeSnapshot(harness: Harness, run: string, change: (text: string, version: number) => string): void {
  const { store } = harness.world;
  const row = store.rows.get(run) as Row;
  let previous: SnapshotPointer | null = null;
  for (const { pointer, document } of snapshotsOf(harness, row)) {
    const text = canonical(JSON.parse(change(canonical({ ...document, previous }), document.version)));
    store.objects.set(pointer.key, compress(text));
    previous = { ...pointer, digest: sha256(text) };
  }
  store.rows.set(run, rewrittenRow(row, { snapshot: previous as SnapshotPointer }));
}

/** The text of a snapshot without its seal. */
export const withoutSeals = (text: string): string => {
  const { voucher: _, ...rest } = JSON.parse(text) as Document;
  return canonical(rest);
};
