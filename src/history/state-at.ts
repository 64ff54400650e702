/**
 * Reads the state of a run as of one of its versions: the newest snapshot at or before that version, and the commits
 * between them folded over it. Older snapshots are checked by the digests that lead to them from the newest one.
 */
import { Unreadable } from "../codec/canonical.ts";
import type { CommitRecord } from "../core/event.ts";
import { InvariantViolated } from "../core/ensure.ts";
import type { State } from "../core/state.ts";
import type { Kernel } from "../core/transition.ts";
import type { Row } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import { SegmentCache, readState } from "./load.ts";
import { commitsOf, inOrder, readHistory } from "./reader.ts";
import { loadVouched } from "./vouch.ts";

export interface StateAt {
  readonly state: State;
  /** The commits after that version, oldest first. */
  readonly later: readonly CommitRecord[];
}

/** Null if the run has no such version yet. Throws `Unreadable`, also if the run is removed during the read. */
export async function stateAt(world: World, row: Row, version: number): Promise<StateAt | null> {
  if (version > row.version) return null;
  const cache = new SegmentCache();
  const newest = await loadVouched(world, row, cache);
  if (version === row.version) return { state: newest.state, later: [] };
  const from = { objects: world.objects, row, cache };
  const pieces: (readonly CommitRecord[])[] = [];
  for await (const piece of readHistory(from, { through: "states" })) {
    if (piece.kind === "damaged") throw piece.error;
    if (piece.kind === "snapshot" && piece.pointer.version <= version) {
      const base = await readState(from, piece.snapshot);
      const commits = inOrder(pieces);
      const between = commits.filter((each) => each.version > piece.pointer.version && each.version <= version);
      return { state: folded(world.kernel, base, between), later: commits.filter((each) => each.version > version) };
    }
    pieces.push(commitsOf(piece));
  }
  throw new Unreadable(`run ${row.run} has no snapshot at or before version ${version}`, "SnapshotMissing");
}

/** Events that do not follow from the snapshot are as unreadable as damaged bytes. */
function folded({ foldAll }: Kernel, base: State, commits: readonly CommitRecord[]): State {
  try {
    return commits.reduce((state, { events }) => foldAll(state, events), base);
  } catch (error) {
    if (!(error instanceof InvariantViolated)) throw error;
    throw new Unreadable(`the commits do not follow their snapshot: ${error.message}`);
  }
}
