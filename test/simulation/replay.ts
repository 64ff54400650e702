/** The committed history of a run, read from what its store holds in the end. */
import { foldAll } from "../../src/features/compose.ts";
import { canonical } from "../../src/codec/canonical.ts";
import { decodeJournal } from "../../src/codec/journal.ts";
import { decodeSnapshot, wholeState } from "../../src/codec/snapshot.ts";
import { type Segment, decodeSegment } from "../../src/codec/transcript.ts";
import type { CommitRecord, Event, EventKind, EventOf } from "../../src/core/event.ts";
import type { State } from "../../src/core/state.ts";
import type { Row } from "../../src/protocol/row.ts";
import { segmentKey } from "../../src/history/object-keys.ts";
import type { History } from "./history.ts";

interface Replayed {
  /** The state of the first snapshot. */
  readonly first: State;
  readonly commits: readonly CommitRecord[];
  readonly state: State;
  readonly violations: readonly string[];
}

const replays = new WeakMap<History, Replayed>();

/** A history that is over does not change: most checkers ask for its commits, and one replay serves them all. */
export function replay(history: History): Replayed {
  const known = replays.get(history) ?? replayed(history);
  replays.set(history, known);
  return known;
}

export const finalRow = ({ world, run }: History): Row => world.store.rows.get(run) as Row;

export const eventsOf = (history: History): readonly Event[] => replay(history).commits.flatMap(({ events }) => events);

export const eventsOfKind = <K extends EventKind>(history: History, kind: K): readonly EventOf<K>[] =>
  eventsOf(history).filter((event): event is Event & EventOf<K> => event.kind === kind);

/** Every commit of a run from its chain of snapshots; each snapshot must be the fold of what came before. */
function replayed(history: History): Replayed {
  const { world } = history;
  const row = finalRow(history);
  const objectAt = (key: string): Uint8Array => world.store.objects.get(key) as Uint8Array;
  const snapshots = [decodeSnapshot(row.snapshot, objectAt(row.snapshot.key))];
  for (let previous = snapshots[0]?.previous ?? null; previous !== null; previous = snapshots[0]?.previous ?? null) {
    snapshots.unshift(decodeSnapshot(previous, objectAt(previous.key)));
  }
  const whole = (stored: (typeof snapshots)[number]["state"]): State =>
    wholeState(stored, (ref): Segment => decodeSegment(ref, objectAt(segmentKey(row, ref.sha256))));
  const violations: string[] = [];
  const first = whole((snapshots[0] as (typeof snapshots)[number]).state);
  let state = first;
  for (const snapshot of snapshots.slice(1)) {
    state = snapshot.commits.reduce((folded, commit) => foldAll(folded, commit.events), state);
    const stored = whole(snapshot.state);
    // The order of names does not count; comparing without it first is what makes this fast.
    if (JSON.stringify(state) !== JSON.stringify(stored) && canonical(state) !== canonical(stored)) {
      violations.push(`snapshot ${snapshot.version} is not the fold of its commits`);
    }
  }
  const journal = decodeJournal(row.journal);
  const commits = [...snapshots.flatMap((snapshot) => snapshot.commits), ...journal];
  return {
    first,
    commits,
    state: journal.reduce((folded, commit) => foldAll(folded, commit.events), state),
    violations,
  };
}
