/** Shows the whole state of a run as of one of its versions, also between two stored snapshots. */
import { SIZES } from "../codec/limits.ts";
import type { State } from "../core/state.ts";
import type { World } from "../ports/world.ts";
import { unlessGone } from "../history/damage.ts";
import { stateAt } from "../history/state-at.ts";

export interface SnapshotShown {
  readonly kind: "shown";
  readonly run: string;
  readonly version: number;
  /** The newest version of the run. */
  readonly of: number;
  readonly state: State;
  /** How many of the oldest messages are left out of `state`, since the document would be too large with them. */
  readonly omittedMessages: number;
}

export type SnapshotOutcome =
  | SnapshotShown
  | { readonly kind: "missing" }
  /** The run has no such version yet; `of` is its newest one. */
  | { readonly kind: "versionUnknown"; readonly of: number };

/** The rest of the document takes less than this. */
const REST_BYTES = 64 * 1024;

/** `bytesMax`: the most bytes of the state; null: no limit. */
export async function showSnapshot(
  world: World,
  { run, version, bytesMax }: { readonly run: string; readonly version: number; readonly bytesMax: number | null },
): Promise<SnapshotOutcome> {
  const row = await world.table.read(run, world.clock.now());
  if (row === null) return { kind: "missing" };
  const found = await unlessGone(world, row, async () => ({ at: await stateAt(world, row, version) }));
  if (found === null) return { kind: "missing" };
  if (found.at === null) return { kind: "versionUnknown", of: row.version };
  const { state } = found.at;
  const kept = bytesMax === null ? state.messages : newestThatFit(state, bytesMax);
  const omittedMessages = state.messages.length - kept.length;
  return {
    kind: "shown",
    run,
    version,
    of: row.version,
    state: { ...state, messages: kept },
    omittedMessages,
  };
}

/** The most bytes of a state in one response. */
export const STATE_BYTES_MAX = SIZES.httpBodyBytesMax - REST_BYTES;

function newestThatFit(state: State, bytesMax: number): State["messages"] {
  let bytes = bytesOf({ ...state, messages: [] });
  let from = state.messages.length;
  for (; from > 0; from -= 1) {
    bytes += bytesOf(state.messages[from - 1]) + 1;
    if (bytes > bytesMax) break;
  }
  return state.messages.slice(from);
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
