/**
 * The state of the runs that this process stored last, so that its next beat of a run reads and parses nothing. A state
 * is found by the digest of its snapshot, so the process uses it only for bytes that it wrote itself.
 *
 * Schedule 137: this process stores version 5 of a run; another process takes the run over and stores version 6; this
 * process claims the run again. The row names another digest then, and the state is read.
 *
 * Schedule 170: the same, but the other process stores no snapshot and leaves a longer journal. The state behind the
 * journal is used only for the very bytes that this process committed; otherwise the journal is folded over the snapshot.
 */
import { BytesMap } from "../codec/bytes-map.ts";
import type { CommitRecord } from "../core/event.ts";
import type { Snapshot } from "../codec/snapshot.ts";
import type { State } from "../core/state.ts";
import type { Row, SnapshotPointer } from "../protocol/row.ts";

/** A snapshot and its state with the whole transcript. */
export interface KnownState {
  readonly snapshot: Snapshot;
  readonly state: State;
}

/** What this process committed since a snapshot: the journal's bytes, its commits, and the state that they lead to. */
export interface Head {
  readonly journal: Uint8Array;
  readonly commits: readonly CommitRecord[];
  readonly state: State;
}

interface Held extends KnownState {
  readonly head: Head | null;
  readonly born: string;
  readonly pointer: SnapshotPointer;
  readonly bytes: number;
}

/** One state per run. Beyond its bound it drops those that were used longest ago. */
export class StateCache {
  readonly #held = new BytesMap<Held>(CACHE_BYTES_MAX);

  /**
   * The state of the snapshot that the row names, if this process stored it. While a store is away the run is read: a
   * beat that cannot read could not store its reply either, and must fail before it pays for a model call.
   */
  get({ run, born, snapshot, storeOutage }: Row): KnownState | undefined {
    const held = storeOutage === null ? this.#held.get(run) : undefined;
    return held !== undefined && isOf(held, { born, snapshot }) ? held : undefined;
  }

  /** What this process committed last, if the row has exactly that journal. */
  head(row: Row): Head | undefined {
    const head = this.get(row) === undefined ? null : this.#held.get(row.run)?.head;
    return head && row.journal !== null && Buffer.compare(head.journal, row.journal) === 0 ? head : undefined;
  }

  /** Remembers a commit behind the snapshot of `known`. The caller never changes the bytes of the row's journal. */
  goOn({ run, born, snapshot }: Row, known: KnownState, head: Head): void {
    const held = this.#held.get(run);
    const isSame = held !== undefined && isOf(held, { born, snapshot });
    const before = isSame ? held.bytes - bytesOf(held.head) : bytesIn(known);
    const bytes = before + bytesOf(head);
    this.#held.set(run, { ...known, born, pointer: snapshot, head, bytes }, bytes);
  }

  /** Adds a snapshot that is stored. `bytes`: the size of its text with its transcript. */
  add(
    { run, born }: Pick<Row, "run" | "born">,
    pointer: SnapshotPointer,
    known: KnownState & { readonly bytes: number },
  ) {
    this.#held.set(run, { ...known, born, pointer, head: null }, known.bytes);
  }
}

const isOf = ({ born, pointer }: Held, row: Pick<Row, "born" | "snapshot">): boolean =>
  born === row.born && pointer.key === row.snapshot.key && pointer.digest === row.snapshot.digest;

/** Texts take about this many times the bytes of their compressed form. */
const COMPRESSED = 4;
const bytesOf = (head: Head | null): number => (head === null ? 0 : head.journal.byteLength * COMPRESSED);

/** The size of a snapshot that was read: its text, and the transcript that it names. */
const bytesIn = ({ snapshot }: KnownState): number =>
  snapshot.state.manifest.reduce((sum, { bytes }) => sum + bytes, JSON.stringify(snapshot).length);

const CACHE_BYTES_MAX = 32 * 1024 * 1024;
