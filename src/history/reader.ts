/**
 * The only reader of a run's history: for timeline, verify, replay, export, archive and sealing. It reads backwards
 * from the newest commit: the journal in the row, the chain of snapshots, then sealed events, which hold the commits of
 * many snapshots each. It reads one object at a time, on demand, and keeps none.
 *
 * Damage is a piece of the history like any other, and the reader goes on with whatever it can still find. A caller
 * that needs every commit stops at the first damage; `verify` records it and reads on.
 */
import { Unreadable } from "../codec/canonical.ts";
import { assertKnown } from "../codec/row.ts";
import type { SealedRef } from "../codec/schema/sealed.ts";
import type { SealedEvents } from "../codec/sealed.ts";
import { decodeJournal } from "../codec/journal.ts";
import { type Snapshot, assertFormat } from "../codec/snapshot.ts";
import type { CommitRecord } from "../core/event.ts";
import type { SnapshotPointer } from "../protocol/row.ts";
import { type Source, readSealed, readSnapshot } from "./load.ts";

/** A piece of the history, as the reader yields it. */
export type HistoryPiece =
  | { readonly kind: "journal"; readonly commits: readonly CommitRecord[] }
  | { readonly kind: "snapshot"; readonly pointer: SnapshotPointer; readonly snapshot: Snapshot }
  | { readonly kind: "sealed"; readonly where: string; readonly sealed: SealedEvents }
  | Damage;

export type PieceOf<K extends HistoryPiece["kind"]> = Extract<HistoryPiece, { readonly kind: K }>;

/** A part of the history that is missing, or whose content does not match its digest. */
export interface Damage {
  readonly kind: "damaged";
  readonly part: "row" | "journal" | "snapshot" | "sealed";
  /** Where it is, in words, such as `snapshot 12`. */
  readonly where: string;
  /** The newest version in this part. */
  readonly version: number;
  /** Only this part points to older history, so older commits cannot be found. */
  readonly hidesOlder: boolean;
  readonly error: Unreadable;
}

/** Called after each snapshot. `left`: the versions still to read; `all`: the number of versions. */
export type OnStep = (left: number, all: number) => void | Promise<void>;

/** What to read of a history. */
export interface Reading {
  /**
   * `commits`: the shortest way to all commits, with sealed events in place of the snapshots that they cover. `states`:
   * every snapshot. `everything`: every snapshot, and then all sealed events.
   */
  readonly through: "commits" | "states" | "everything";
  /** Objects without a commit newer than this version are not read. Absent: read all. */
  readonly after?: number;
  readonly onStep?: OnStep | undefined;
}

/** Yields the pieces from the newest to the oldest. The first one may also hold commits up to `after`. */
export async function* readHistory(from: Source, reading: Reading): AsyncGenerator<HistoryPiece> {
  const { row } = from;
  const { through, after = -1, onStep } = reading;
  const known = await attempt({ part: "row", where: "the row", version: row.version, hidesOlder: false }, () => {
    assertKnown(row);
    assertFormat(row.format, `run ${row.run}`);
    return { kind: "known" } as const;
  });
  if (known.kind === "damaged") {
    yield known;
    return;
  }
  yield await attempt(
    { part: "journal", where: "the journal", version: row.version, hidesOlder: false },
    () => ({ kind: "journal", commits: decodeJournal(row.journal) }) as const,
  );
  let newest: SealedRef | null = null;
  let floor = after;
  const read = (pointer: SnapshotPointer): Promise<Snapshot> => readSnapshot(from, pointer);
  for await (const link of chainBack(row.snapshot, { read, isWanted: ({ version }) => version > floor })) {
    if (link.kind === "damaged") {
      yield link;
      break;
    }
    const { pointer, link: snapshot } = link;
    yield { kind: "snapshot", pointer, snapshot };
    if (pointer === row.snapshot) {
      newest = snapshot.sealed;
      if (through === "commits") floor = Math.max(after, newest?.to ?? 0);
    }
    await onStep?.(pointer.version, row.version);
  }
  if (through !== "states") yield* sealedBack(from, { newest, after });
}

async function* sealedBack(
  from: Source,
  { newest, after }: { readonly newest: SealedRef | null; readonly after: number },
): AsyncGenerator<HistoryPiece> {
  for (let ref = newest; ref !== null && ref.to > after;) {
    const named: SealedRef = ref;
    const where = `sealed events ${named.from} to ${named.to}`;
    const at = { part: "sealed", where, version: named.to, hidesOlder: named.from > 1 } as const;
    const read = async () => ({ kind: "sealed", where, sealed: await readSealed(from, named) }) as const;
    const piece = await attempt(at, read);
    yield piece;
    if (piece.kind === "damaged") return;
    ref = piece.sealed.previous;
  }
}

/** An object that points to the snapshot before it. */
interface Naming {
  readonly previous: SnapshotPointer | null;
}

/**
 * The chain of snapshots from `newest` back to the first one that is not wanted. Damage is its last element. `read` may
 * answer from a cache.
 */
export async function* chainBack<T extends Naming>(
  newest: SnapshotPointer,
  source: { read(pointer: SnapshotPointer): Promise<T>; isWanted(pointer: SnapshotPointer): boolean },
): AsyncGenerator<{ readonly kind: "link"; readonly pointer: SnapshotPointer; readonly link: T } | Damage> {
  for (let next: SnapshotPointer | null = newest; next !== null && source.isWanted(next);) {
    const pointer: SnapshotPointer = next;
    const { version } = pointer;
    const at = { part: "snapshot", where: `snapshot ${version}`, version, hidesOlder: version > 0 } as const;
    const found = await attempt(at, async () => ({ kind: "link", pointer, link: await source.read(pointer) }) as const);
    yield found;
    if (found.kind === "damaged") return;
    next = found.link.previous;
  }
}

async function attempt<T>(at: Omit<Damage, "kind" | "error">, read: () => T | Promise<T>): Promise<T | Damage> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return { kind: "damaged", ...at, error };
  }
}

/** The commits in a piece, oldest first. */
export function commitsOf(piece: Exclude<HistoryPiece, Damage>): readonly CommitRecord[] {
  if (piece.kind === "journal") return piece.commits;
  return piece.kind === "snapshot" ? piece.snapshot.commits : piece.sealed.commits;
}

/** Oldest first, from pieces that were read newest first. */
export const inOrder = <T>(pieces: readonly (readonly T[])[]): readonly T[] => pieces.toReversed().flat();

/** The readable part of a history. */
export interface Readable {
  /** The commits without a gap up to the newest one, oldest first. */
  readonly commits: readonly CommitRecord[];
  /** Why older commits could not be read; null if all requested commits were read. */
  readonly lost: Unreadable | null;
}

/** The commits after version `after`, as far back as they can be read. */
export async function commitsReadable(from: Source, after: number): Promise<Readable> {
  const pieces: (readonly CommitRecord[])[] = [];
  let lost: Unreadable | null = null;
  for await (const piece of readHistory(from, { through: "commits", after })) {
    if (piece.kind === "damaged") {
      lost = piece.error;
      break;
    }
    pieces.push(commitsOf(piece));
  }
  return { commits: inOrder(pieces).filter(({ version }) => version > after), lost };
}

/** Every commit after version `after`, oldest first. It reads no further back. Throws `Unreadable`. */
export async function commitsAfter(from: Source, after: number): Promise<readonly CommitRecord[]> {
  const { commits, lost } = await commitsReadable(from, after);
  if (lost !== null) throw lost;
  return commits;
}
