/**
 * What one invocation knows to be committed: the row, the state and journal behind it, and how far its history is
 * sealed. It changes only by the table's answers to commits.
 */
import type { Seal } from "../../codec/snapshot.ts";
import type { CommitRecord, Event } from "../../core/event.ts";
import type { State } from "../../core/state.ts";
import type { Row } from "../../protocol/row.ts";
import type { World } from "../../ports/world.ts";
import { type ObjectCaches, type Storing, storeSnapshot } from "../../history/checkpoint.ts";
import type { CommitCache } from "../../history/commits.ts";
import type { Loaded, SegmentCache } from "../../history/load.ts";
import type { KnownState } from "../../history/state-cache.ts";
import { assertMaySeal } from "../../history/vouch.ts";

/** A snapshot pointer and the seal of that snapshot. A commit that stores no snapshot names the previous one. */
export type Checkpoint = Awaited<ReturnType<typeof storeSnapshot>>;

/** The committed row, state and journal of a claimed run. */
export class CommittedRun {
  /** The row as this invocation claimed it. Its own commits move the deadline of the wait, for one. */
  readonly claimed: Pick<Row, "version" | "deadline" | "wakeCount" | "wakeCountSeen">;
  readonly #world: World;
  #row: Row;
  #state: State;
  #journal: readonly CommitRecord[];
  /** The seal in the row's current snapshot. */
  #seal: Seal;
  /** That snapshot, and its state. */
  #known: KnownState;
  readonly #caches: ObjectCaches;
  #puts = 0;
  readonly #sent = new Set<string>();
  readonly #removed = new Set<string>();

  constructor(
    world: World,
    {
      segments,
      commits,
      loaded,
    }: { readonly loaded: Loaded; readonly segments: SegmentCache; readonly commits: CommitCache },
  ) {
    const { row, state, snapshot, base, journal, stored } = loaded;
    assertMaySeal(world, snapshot);
    this.#world = world;
    this.#row = row;
    this.#state = state;
    this.#journal = journal;
    this.#known = { snapshot, state: base };
    this.#seal = { sealed: snapshot.sealed, unsealed: snapshot.unsealed };
    this.#caches = { stored: new Set(stored), segments, commits };
    commits.add(row.snapshot.digest, snapshot);
    const { version, deadline, wakeCount, wakeCountSeen } = row;
    this.claimed = { version, deadline, wakeCount, wakeCountSeen };
  }

  get row(): Row {
    return this.#row;
  }

  get state(): State {
    return this.#state;
  }

  /** Whether this invocation has committed at least once. */
  get hasAdvanced(): boolean {
    return this.#row.version > this.claimed.version;
  }

  /** A message or a resume had come when this invocation claimed the run. */
  get wasWoken(): boolean {
    return this.claimed.wakeCount !== this.claimed.wakeCountSeen;
  }

  /** The journal with these events appended as the next commit. */
  journalWith(events: readonly Event[]): readonly CommitRecord[] {
    const { version, epoch } = this.#row;
    return events.length > 0 ? [...this.#journal, { version: version + 1, epoch, events }] : this.#journal;
  }

  /** The checkpoint that the row names already. */
  get checkpoint(): Checkpoint {
    return { snapshot: this.#row.snapshot, seal: this.#seal, known: this.#known };
  }

  /** Stores a snapshot that no row names yet. The next commit may name it. */
  store(content: Pick<Storing, "version" | "level" | "commits" | "sign" | "state" | "leftMs">): Promise<Checkpoint> {
    this.#puts += 1;
    return storeSnapshot(this.#world, {
      ...content,
      row: this.#row,
      seal: this.#seal,
      put: this.#puts,
      caches: this.#caches,
    });
  }

  /** The commit is sent now. Its answer may be lost, and another commit may be sent after it. */
  noteSent(commitId: string): void {
    this.#sent.add(commitId);
  }

  hasSent(commitId: string): boolean {
    return this.#sent.has(commitId);
  }

  /** The inbox item of the message is removed: the commit that absorbed it is durable. */
  noteRemoved(message: string): void {
    this.#removed.add(message);
  }

  hasRemoved(message: string): boolean {
    return this.#removed.has(message);
  }

  /** Adopts the row with which the table refused a commit: its wake-up counter has moved on. */
  refused(row: Row): void {
    this.#row = row;
  }

  /**
   * Adopts the row, state and records of an applied commit. `stored` is the snapshot that this commit names, or null if
   * the journal holds the records.
   */
  applied(
    row: Row,
    {
      state,
      commits,
      stored,
    }: { readonly state: State; readonly commits: readonly CommitRecord[]; readonly stored: Checkpoint | null },
  ): void {
    const before = this.#row;
    this.#row = row;
    this.#state = state;
    this.#journal = stored === null ? commits : [];
    if (stored === null) {
      if (row.journal !== null)
        this.#caches.segments.states.goOn(row, this.#known, { journal: row.journal, commits, state });
      return;
    }
    this.#known = stored.known;
    if (stored.seal.sealed?.to !== this.#seal.sealed?.to) this.#caches.commits.dropFrom(before.snapshot);
    this.#seal = stored.seal;
    this.#caches.commits.add(stored.snapshot.digest, { previous: before.snapshot, commits });
  }
}
