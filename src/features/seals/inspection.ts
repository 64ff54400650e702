/**
 * The objects that `verify` checks. Each is read once, compared with its digest and counted. Missing or wrong content
 * becomes a finding and not an error, so that one damaged object does not hide the next.
 */
import { Unreadable } from "../../codec/canonical.ts";
import type { StoredSizes } from "../../ports/stored-sizes.ts";
import type { SegmentRef, StoredState } from "../../codec/schema/state.ts";
import { wholeState } from "../../codec/snapshot.ts";
import type { Segment } from "../../codec/transcript.ts";
import { filesIn } from "../../codec/file.ts";
import { blobsIn } from "../../codec/value.ts";
import { InvariantViolated } from "../../core/ensure.ts";
import type { CommitRecord } from "../../core/event.ts";
import type { Json } from "../../core/json.ts";
import type { Value } from "../../core/message.ts";
import type { State } from "../../core/state.ts";
import type { Row } from "../../protocol/row.ts";
import type { Kernel } from "../../core/transition.ts";
import type { World } from "../../ports/world.ts";
import { readFile } from "../../history/files.ts";
import { SegmentCache, type Source, jsonOf, readSegment } from "../../history/load.ts";
import type { Damage } from "../../history/reader.ts";

/** Something that differs from what was written, in words. */
export interface Finding {
  /** For example `snapshot 12` or `the row`. */
  readonly where: string;
  readonly what: string;
}

/** How many objects of each kind were checked. */
export type Counts = { readonly [K in "snapshots" | "commits" | "sealed" | "segments" | "blobs" | "files"]: number };

/** The checks of one run: its findings and counts. */
export class Inspection {
  readonly row: Row;
  readonly sizes: StoredSizes;
  readonly findings: Finding[] = [];
  readonly counted = { snapshots: 0, commits: 0, sealed: 0 };
  readonly from: Source & { readonly cache: SegmentCache };
  /** By digest. Unreadable ones are remembered, so that each is reported once. */
  readonly #segments = new Map<string, boolean>();
  readonly #blobs = new Set<string>();
  readonly #files = new Set<string>();
  readonly #lost = new Set<string>();
  readonly #kernel: Kernel;

  constructor({ objects, sizes, kernel }: World, row: Row) {
    this.row = row;
    this.#kernel = kernel;
    this.sizes = sizes;
    this.from = { objects, row, cache: new SegmentCache() };
  }

  get counts(): Counts {
    return { ...this.counted, segments: this.#segments.size, blobs: this.#blobs.size, files: this.#files.size };
  }

  /** Throws `InvariantViolated` if the commits do not follow the state. */
  folded(state: State, commits: readonly CommitRecord[]): State {
    return commits.reduce((before, { events }) => this.#kernel.foldAll(before, events), state);
  }

  found(where: string, what: string): void {
    this.findings.push({ where, what });
  }

  /** Runs `look`. Null, with a finding, if the stored data is unreadable or violates an invariant. */
  async attempt<T>(where: string, look: () => T | Promise<T>): Promise<T | null> {
    try {
      return await look();
    } catch (error) {
      if (!(error instanceof Unreadable || error instanceof InvariantViolated)) throw error;
      this.found(where, error.message);
      return null;
    }
  }

  /** Records a part of the history that could not be read. */
  damaged({ part, where, hidesOlder, error }: Damage): void {
    this.found(where, error.message);
    const isSnapshot = part === "snapshot";
    if (isSnapshot) this.counted.snapshots += 1;
    if (part === "sealed") this.counted.sealed += 1;
    const older = isSnapshot ? "what comes before it in the chain" : "the sealed events before them";
    if (hidesOlder) this.found(where, `${older} could not be looked at`);
  }

  /** The state of a snapshot with its transcript; null if a part is missing. */
  async whole(where: string, stored: StoredState): Promise<State | null> {
    const segments = new Map<string, Segment>();
    for (const ref of stored.manifest) {
      const segment = await this.#segment(where, ref);
      if (segment !== null) segments.set(ref.sha256, segment);
    }
    if (stored.manifest.some(({ sha256 }) => !segments.has(sha256))) return null;
    return this.attempt(where, () => wholeState(stored, (ref) => segments.get(ref.sha256) as Segment));
  }

  /** The JSON, wrapped since null is valid JSON. Null if its blob cannot be read, which is already reported. */
  async json(where: string, value: Value): Promise<{ readonly json: Json } | null> {
    if (value.kind === "blob" && this.#lost.has(value.sha256)) return null;
    return this.attempt(where, async () => ({ json: await jsonOf(this.from.objects, this.row, value) }));
  }

  async #segment(where: string, ref: SegmentRef): Promise<Segment | null> {
    const isKnown = this.#segments.get(ref.sha256);
    if (isKnown === false) return null;
    const segment = await this.attempt(where, () => readSegment(this.from, ref));
    this.#segments.set(ref.sha256, segment !== null);
    if (segment !== null && isKnown === undefined) await this.blobs(`segment ${ref.sha256}`, segment.members);
    return segment;
  }

  /** Checks every blob and every file that `stored` names. */
  async blobs(where: string, stored: unknown): Promise<void> {
    for (const sha256 of blobsIn(stored)) {
      if (this.#blobs.has(sha256)) continue;
      this.#blobs.add(sha256);
      const value = { kind: "blob", sha256, bytes: 0, head: "", tail: "" } as const;
      const found = await this.json(where, value);
      if (found === null) this.#lost.add(sha256);
    }
    for (const file of filesIn(stored)) {
      if (this.#files.has(file)) continue;
      this.#files.add(file);
      await this.attempt(where, () => readFile(this.from.objects, this.row, file));
    }
  }
}
