/**
 * The history of a run as the lines of an archive or an exported file. It is read from the newest piece back and written from
 * the first one on, so it is held in between: packed, and of the events only what the ledger takes.
 */
import { type LedgerEntry, commitLine, markLine } from "../codec/archive.ts";
import { packed } from "../codec/archive-bytes.ts";
import type { StateMark } from "../codec/mark.ts";
import { blobsIn } from "../codec/value.ts";
import type { CommitRecord, Event } from "../core/event.ts";
import type { State } from "../core/state.ts";
import { entryOf, ledgerOf } from "./call-ledger.ts";
import { inOrder } from "./reader.ts";

export class PackedHistory {
  readonly #members: (readonly Uint8Array[])[] = [];
  readonly #ofLedger: (readonly Event[])[] = [];
  readonly #blobs: (readonly string[])[] = [];
  commits = 0;

  /** The commits of one piece, newest piece first; `mark` is of the snapshot that holds them. */
  add(commits: readonly CommitRecord[], mark: StateMark | null = null): void {
    this.#members.push(packed([...commits.map(commitLine), ...(mark === null ? [] : [markLine(mark)])]));
    const events = commits.flatMap((commit) => commit.events.map(entryOf));
    this.#ofLedger.push(events.filter((event) => event !== null));
    this.#blobs.push(blobsIn(commits));
    this.commits += commits.length;
  }

  /** From the first commit to the last one, gzipped. */
  get members(): readonly Uint8Array[] {
    return inOrder(this.#members);
  }

  get calls(): readonly LedgerEntry[] {
    return ledgerOf(inOrder(this.#ofLedger));
  }

  /** Every large value that the history or the state names, by its digest. */
  blobs({ task, result, messages }: State): ReadonlySet<string> {
    return new Set([...[task, result, messages].flatMap(blobsIn), ...inOrder(this.#blobs)]);
  }
}
