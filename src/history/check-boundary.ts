/**
 * Checks the newest snapshot of a run against the persistence boundary (`boundary.ts`): each field is within its bound,
 * and equals what the start of the run and its events give. `verify` finds that a state is wrong. This names the field.
 */
import { Unreadable, canonical } from "../codec/canonical.ts";
import { SIZES } from "../codec/limits.ts";
import type { StoredState } from "../codec/schema/state.ts";
import { type Snapshot, storedForm } from "../codec/snapshot.ts";
import { InvariantViolated } from "../core/ensure.ts";
import type { CommitRecord } from "../core/event.ts";
import type { State } from "../core/state.ts";
import type { Row } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import { BOUNDARY, type Bound, boundInWords } from "./boundary.ts";
import { SegmentCache, readState } from "./load.ts";
import { inOrder, readHistory } from "./reader.ts";

type Field = keyof typeof BOUNDARY;

/** A field of the stored state that breaks the boundary. */
export interface BoundaryFinding {
  readonly field: string;
  readonly what: string;
}

/** The result of the check. `unread`: why the fields could not be computed again; null: they were. */
export interface BoundaryChecked {
  readonly version: number;
  readonly fields: number;
  readonly beyond: readonly BoundaryFinding[];
  readonly differing: readonly BoundaryFinding[];
  readonly unread: string | null;
}

/** Checks the newest snapshot of the run. Null if there is no such run. */
export async function checkBoundary(world: World, run: string): Promise<BoundaryChecked | null> {
  const row = await world.table.read(run, world.clock.now());
  if (row === null) return null;
  const history = await snapshotsOf(world, row);
  const { newest } = history;
  const { version } = row.snapshot;
  if (newest === null) return { version, fields: 0, beyond: [], differing: [], unread: history.unread };
  const beyond = FIELDS.flatMap((field) => beyondBound(field, newest.state));
  const size = Buffer.byteLength(canonical(newest.state), "utf8");
  const checked = { version, fields: FIELDS.length, beyond };
  if (size > SIZES.stateBytesMax && newest.state.ending === null)
    beyond.push({ field: "the whole state", what: `it has ${size} bytes, ${SIZES.stateBytesMax} are allowed` });
  try {
    const expected = await recomputed(world, row, history);
    return { ...checked, differing: await differences(world, { row, newest, expected }), unread: null };
  } catch (error) {
    if (!(error instanceof Unreadable || error instanceof InvariantViolated)) throw error;
    return { ...checked, differing: [], unread: error.message };
  }
}

const FIELDS = Object.keys(BOUNDARY) as readonly Field[];

interface Snapshots {
  readonly newest: Snapshot | null;
  readonly oldest: Snapshot | null;
  readonly commits: readonly CommitRecord[];
  readonly unread: string | null;
}

async function snapshotsOf(world: World, row: Row): Promise<Snapshots> {
  let [newest, oldest, unread]: [Snapshot | null, Snapshot | null, string | null] = [null, null, null];
  const pieces: (readonly CommitRecord[])[] = [];
  for await (const piece of readHistory({ objects: world.objects, row }, { through: "states" })) {
    if (piece.kind === "damaged" && piece.part === "snapshot") unread = piece.error.message;
    if (piece.kind !== "snapshot") continue;
    newest ??= piece.snapshot;
    oldest = piece.snapshot;
    pieces.push(piece.snapshot.commits);
  }
  return { newest, oldest, commits: inOrder(pieces), unread };
}

/** The state that snapshot 0 and the events since give. */
async function recomputed(world: World, row: Row, { oldest, commits, unread }: Snapshots): Promise<State> {
  if (oldest?.version !== 0) throw new Unreadable(unread ?? "its snapshots do not reach back to its start");
  const begun = await readState({ objects: world.objects, row, cache: new SegmentCache() }, oldest);
  return commits.reduce((state, { events }) => world.kernel.foldAll(state, events), begun);
}

async function differences(
  world: World,
  { row, newest, expected }: { readonly row: Row; readonly newest: Snapshot; readonly expected: State },
): Promise<readonly BoundaryFinding[]> {
  const { state } = storedForm(expected, world.sizes.segmentBytes);
  const found = FIELDS.filter((field) => words(state[field]) !== words(newest.state[field]));
  // A version of cairn or a world with other sizes may have cut the same transcript in other places.
  const isTranscript = (field: Field): boolean => field === "manifest" || field === "tail";
  const isSame = found.some(isTranscript) && (await hasMessages(world, { row, newest, expected }));
  return found
    .filter((field) => !(isSame && isTranscript(field)))
    .map((field) => {
      const source = BOUNDARY[field].origin === "start" ? "its start says" : "its events give";
      return { field, what: `it is ${quoted(newest.state[field])}, and ${source} ${quoted(state[field])}` };
    });
}

async function hasMessages(
  world: World,
  { row, newest, expected }: { readonly row: Row; readonly newest: Snapshot; readonly expected: State },
): Promise<boolean> {
  try {
    const { messages } = await readState({ objects: world.objects, row, cache: new SegmentCache() }, newest);
    return canonical(messages) === canonical(expected.messages);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return false;
  }
}

const QUOTED_MAX = 120;

/** A stored value for the comparison. */
const words = (value: unknown): string => (value === undefined ? "absent" : canonical(value));

/** The beginning of a value, for humans. */
function quoted(value: unknown): string {
  const text = words(value);
  return text.length <= QUOTED_MAX ? text : `${text.slice(0, QUOTED_MAX)}…`;
}

function beyondBound(field: Field, state: StoredState): BoundaryFinding[] {
  const { bound } = BOUNDARY[field];
  const size = sizeOf(bound, state[field]);
  if (size === null || bound.by === "shape" || bound.by === "state" || size <= bound.max) return [];
  return [{ field, what: `it has ${size}, and its bound is ${boundInWords(bound)}` }];
}

/** The size that the bound counts; null if it counts none, or the field is absent. */
function sizeOf({ by }: Bound, value: unknown): number | null {
  if (value === undefined || value === null || by === "shape" || by === "state") return null;
  if (by === "characters") return typeof value === "string" ? value.length : null;
  if (by === "bytes") return Buffer.byteLength(canonical(inlineOf(value)), "utf8");
  return Array.isArray(value) ? value.length : Object.keys(value).length;
}

/** The JSON of a value that the state holds itself. */
const inlineOf = (value: unknown): unknown =>
  typeof value === "object" && value !== null && "json" in value ? value.json : null;
