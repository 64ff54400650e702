/**
 * The events of runs part by part, for many readers in one process. A part is what one snapshot adds to the history. It
 * never changes, so readers share what is decoded, as long as it fits into a bounded cache.
 *
 * A reader that begins with the first event needs the oldest part, and only the newest one is named by the row. So the
 * names of all parts are found once, from the newest one back, and are kept longer than their events.
 *
 * Sealed events hold the commits of 64 snapshots each. That takes fewer reads, but many times the work in one turn: they
 * are read only where a snapshot cannot be.
 */
import { BytesMap } from "../codec/bytes-map.ts";
import { Unreadable } from "../codec/canonical.ts";
import { decodeJournal } from "../codec/journal.ts";
import { assertKnown } from "../codec/row.ts";
import { assertFormat } from "../codec/snapshot.ts";
import type { CommitRecord } from "../core/event.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import type { CommittedEvent, EventPart, EventPlace } from "../ports/reading.ts";
import type { Row, SnapshotPointer } from "../protocol/row.ts";
import { textOfEntry } from "./entry-text.ts";
import { readSnapshot } from "./load.ts";
import { commitsAfter } from "./reader.ts";

/** The events of one commit each, oldest first. */
type Commits = readonly (readonly CommittedEvent[])[];

/** The name of a part, and what a reader that skips it has to know. */
interface Named {
  readonly pointer: SnapshotPointer;
  readonly previous: SnapshotPointer | null;
  readonly events: number;
}

/** What one object of the store gives. */
interface Loaded {
  readonly named: Named;
  readonly part: Commits;
}

/** Characters of events as JSON, which are kept too. The objects take a few times as much. */
const EVENTS_CHARACTERS_MAX = 12 * 1024 * 1024;
const NAMES_BYTES_MAX = 4 * 1024 * 1024;
/** What a name takes, roughly. */
const NAME_BYTES = 512;

/** What is kept at most. */
interface Kept {
  readonly namesBytes: number;
  readonly eventsCharacters: number;
}

const KEPT_MAX: Kept = { namesBytes: NAMES_BYTES_MAX, eventsCharacters: EVENTS_CHARACTERS_MAX };

export class EventParts {
  readonly #objects: ObjectStore;
  readonly #names: BytesMap<Named>;
  readonly #events: BytesMap<Commits>;
  /** Readers that need the same part at the same time wait for one decoding. */
  readonly #loading = new Map<string, Promise<Loaded>>();

  constructor(objects: ObjectStore, { namesBytes, eventsCharacters }: Kept = KEPT_MAX) {
    this.#objects = objects;
    this.#names = new BytesMap(namesBytes);
    this.#events = new BytesMap(eventsCharacters);
  }

  /** Throws `Unreadable`. */
  async after(row: Row, place: EventPlace): Promise<EventPart> {
    assertKnown(row);
    assertFormat(row.format, `run ${row.run}`);
    try {
      return await this.#bySnapshots(row, place);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      // Sealed events may still hold what a damaged snapshot held. They cannot be skipped by their number of events.
      const { after, startIndex } = place;
      const commits = await commitsAfter({ objects: this.#objects, row }, startIndex === null ? after : 0);
      return taken([eventsOf(commits)].values(), { ...place, skip: startIndex ?? 0 });
    }
  }

  async #bySnapshots(row: Row, place: EventPlace): Promise<EventPart> {
    const { after, startIndex } = place;
    const isCounted = startIndex !== null;
    const named: Named[] = [];
    for (let next: SnapshotPointer | null = row.snapshot; next !== null && (isCounted || next.version > after);) {
      const found: Named = this.#names.get(next.digest) ?? (await this.#name(row, next));
      named.push(found);
      next = found.previous;
    }
    let skip = startIndex ?? 0;
    const read: Commits[] = [];
    let events = 0;
    for (const { pointer, events: count } of named.toReversed()) {
      if (read.length === 0 && (pointer.version <= after || count <= skip)) {
        skip = Math.max(0, skip - count);
        continue;
      }
      const part = await this.#part(row, pointer);
      read.push(part);
      events += countOf(part, { after, skip: read.length === 1 ? skip : 0 });
      // A page that is full with the last commit of this part has no other commit that says so.
      if (events > place.eventsMax && pointer.digest !== row.snapshot.digest)
        return { ...taken(read, { ...place, skip }), more: true };
    }
    return taken([...read, this.#journal(row)], { ...place, skip });
  }

  /** The part that is in the row. Readers that follow a run ask for it again with each of its commits. */
  #journal({ run, born, version, journal }: Row): Commits {
    const key = `${run}.${born}.${version}`;
    const known = this.#events.get(key);
    if (known !== undefined) return known;
    const part = eventsOf(decodeJournal(journal));
    this.#events.set(key, part, charactersIn(part));
    return part;
  }

  /** The events of a part may be kept longer than its name, so these do not give it. */
  async #name(row: Row, pointer: SnapshotPointer): Promise<Named> {
    return (await this.#loaded(row, pointer)).named;
  }

  async #part(row: Row, pointer: SnapshotPointer): Promise<Commits> {
    return this.#events.get(pointer.digest) ?? (await this.#loaded(row, pointer)).part;
  }

  async #loaded(row: Row, pointer: SnapshotPointer): Promise<Loaded> {
    const { digest } = pointer;
    const loading = this.#loading.get(digest) ?? this.#load(row, pointer);
    this.#loading.set(digest, loading);
    try {
      return await loading;
    } finally {
      this.#loading.delete(digest);
    }
  }

  async #load(row: Row, pointer: SnapshotPointer): Promise<Loaded> {
    const { previous, commits } = await readSnapshot({ objects: this.#objects, row }, pointer, "unlessOwn");
    const part = eventsOf(commits);
    const named = { pointer, previous, events: part.reduce((sum, { length }) => sum + length, 0) };
    this.#names.set(pointer.digest, named, NAME_BYTES);
    this.#events.set(pointer.digest, part, charactersIn(part));
    return { named, part };
  }
}

const eventsOf = (commits: readonly CommitRecord[]): Commits =>
  commits.map(({ version, epoch, events }) => events.map((event) => ({ version, epoch, ...event })));

const charactersIn = (part: Commits): number =>
  part.reduce((sum, commit) => sum + commit.reduce((own, entry) => own + textOfEntry(entry).length, 0), 0);

/** How many events of a part are behind the place. */
function countOf(part: Commits, { after, skip }: { readonly after: number; readonly skip: number }): number {
  const all = part.reduce((sum, commit) => sum + ((commit[0]?.version ?? 0) > after ? commit.length : 0), 0);
  return Math.max(0, all - skip);
}

/** The first events of these parts, as far as a page may have them. `skip`: events to leave out at first. */
function taken(
  parts: Iterable<Commits>,
  { after, eventsMax, skip }: EventPlace & { readonly skip: number },
): EventPart {
  const entries: CommittedEvent[] = [];
  let left = skip;
  for (const part of parts) {
    for (const commit of part) {
      const isBefore = left >= commit.length;
      const own = isBefore ? [] : commit.slice(left);
      left = Math.max(0, left - commit.length);
      if (own.length === 0 || (own[0]?.version ?? 0) <= after) continue;
      if (entries.length > 0 && entries.length + own.length > eventsMax) return { entries, more: true };
      entries.push(...own);
    }
  }
  return { entries, more: false };
}
