/**
 * The state of the runs that this process stored last, so that its next beat of a run reads and parses nothing. A state
 * is found by the digest of its snapshot, so the process uses it only for bytes that it wrote itself.
 *
 * Schedule 137: this process stores version 5 of a run; another process takes the run over and stores version 6; this
 * process claims the run again. The row names another digest then, and the state is read.
 */
import type { Snapshot } from "../codec/snapshot.ts";
import type { State } from "../core/state.ts";
import type { Row, SnapshotPointer } from "../protocol/row.ts";

/** A snapshot and its state with the whole transcript. */
export interface KnownState {
  readonly snapshot: Snapshot;
  readonly state: State;
}

interface Held extends KnownState {
  readonly born: string;
  readonly pointer: SnapshotPointer;
  readonly bytes: number;
}

/** One state per run. Beyond its bound it drops those that were used longest ago. */
export class StateCache {
  readonly #held = new Map<string, Held>();
  #bytes = 0;

  /**
   * The state of the snapshot that the row names, if this process stored it. While a store is away the run is read: a
   * beat that cannot read could not store its reply either, and must fail before it pays for a model call.
   */
  get({ run, born, snapshot, storeOutage }: Row): KnownState | undefined {
    const held = this.#held.get(run);
    if (held === undefined || storeOutage !== null) return undefined;
    const { key, digest } = held.pointer;
    return held.born === born && key === snapshot.key && digest === snapshot.digest ? held : undefined;
  }

  /** Adds a snapshot that is stored. `bytes`: the size of its text with its transcript. */
  add({ run, born }: Pick<Row, "run" | "born">, pointer: SnapshotPointer, of: KnownState & { readonly bytes: number }) {
    this.#drop(run);
    this.#held.set(run, { ...of, born, pointer });
    this.#bytes += of.bytes;
    for (const oldest of this.#held.keys()) {
      if (this.#bytes <= CACHE_BYTES_MAX) break;
      this.#drop(oldest);
    }
  }

  #drop(run: string): void {
    this.#bytes -= this.#held.get(run)?.bytes ?? 0;
    this.#held.delete(run);
  }
}

const CACHE_BYTES_MAX = 32 * 1024 * 1024;
