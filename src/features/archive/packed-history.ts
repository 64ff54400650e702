/**
 * The history of a run as lines of an archive or export. It is read from the newest piece back and written from the
 * first one on, so it is held in memory in between. It is held packed, with only those parts of events that the ledger
 * needs.
 */
import { type LedgerEntry, commitLine } from "../../codec/archive.ts";
import { blobLine, fileLine, markLine } from "../../codec/archive-lines.ts";
import { packed } from "../../codec/archive-bytes.ts";
import type { StateMark } from "../../codec/mark.ts";
import { filesIn } from "../../codec/file.ts";
import { blobText, blobsIn } from "../../codec/value.ts";
import type { CommitRecord, Event } from "../../core/event.ts";
import type { State } from "../../core/state.ts";
import { readLedgerEvent, ledgerSteps } from "../../history/call-ledger.ts";
import { readFile } from "../../history/files.ts";
import { type Source, readBlob } from "../../history/load.ts";
import { inOrder } from "../../history/reader.ts";
import { type Steps, atOnce } from "../../history/stepwise.ts";

/** Collects the history, newest piece first, and returns it oldest first. */
export class PackedHistory {
  readonly #members: (readonly Uint8Array[])[] = [];
  readonly #ofLedger: (readonly Event[])[] = [];
  readonly #blobs: (readonly string[])[] = [];
  readonly #files: (readonly string[])[] = [];
  commits = 0;

  /** Adds the commits of one piece; call it with the newest piece first. `mark`: of the snapshot that holds them. */
  add(commits: readonly CommitRecord[], mark: StateMark | null = null): void {
    this.#members.push(packed([...commits.map(commitLine), ...(mark === null ? [] : [markLine(mark)])]));
    const events = commits.flatMap((commit) => commit.events.map(readLedgerEvent));
    this.#ofLedger.push(events.filter((event) => event !== null));
    this.#blobs.push(blobsIn(commits));
    this.#files.push(filesIn(commits));
    this.commits += commits.length;
  }

  /** All pieces as gzip members, oldest first. */
  get members(): readonly Uint8Array[] {
    return inOrder(this.#members);
  }

  get calls(): readonly LedgerEntry[] {
    return atOnce(this.callSteps());
  }

  /** The same in steps. */
  callSteps(): Steps<readonly LedgerEntry[]> {
    return ledgerSteps(inOrder(this.#ofLedger));
  }

  /** The digests of all large values that the history or the state names. */
  blobs({ task, result, messages }: State): readonly string[] {
    return [...new Set([...[task, result, messages].flatMap(blobsIn), ...inOrder(this.#blobs)])];
  }

  /** The digests of all files that the history or the state names. */
  files({ messages }: State): readonly string[] {
    return [...new Set([...filesIn(messages), ...inOrder(this.#files)])];
  }
}

/** One line per file, in order, while their bytes fit into `bytesMax`. `line` is null for a file that is left out. */
export async function* fileLines(
  { objects, row }: Source,
  { wanted, bytesMax }: { readonly wanted: readonly string[]; readonly bytesMax: number },
): AsyncGenerator<{ readonly file: string; readonly line: string | null }> {
  let bytesLeft = bytesMax;
  for (const file of wanted) {
    const bytes = bytesLeft <= 0 ? null : await readFile(objects, row, file);
    bytesLeft -= bytes?.byteLength ?? 0;
    yield { file, line: bytes === null || bytesLeft < 0 ? null : fileLine(file, bytes) };
  }
}

/** How many blobs are read at the same time. */
const AT_ONCE = 4;

/** One line per large value, in order, while they fit into `bytesMax`. `line` is null for a value that is left out. */
export async function* blobLines(
  { objects, row }: Source,
  { wanted, bytesMax }: { readonly wanted: readonly string[]; readonly bytesMax: number },
): AsyncGenerator<{ readonly sha256: string; readonly line: string | null }> {
  let bytesLeft = bytesMax;
  for (let at = 0; at < wanted.length; at += AT_ONCE) {
    const some = wanted.slice(at, at + AT_ONCE);
    const read = async (sha256: string) => blobText(sha256, await readBlob(objects, row, sha256));
    const texts = bytesLeft <= 0 ? [] : await Promise.all(some.map(read));
    for (const [index, sha256] of some.entries()) {
      const text = texts[index];
      bytesLeft -= Buffer.byteLength(text ?? "", "utf8");
      yield { sha256, line: text === undefined || bytesLeft < 0 ? null : blobLine(sha256, text) };
    }
  }
}
