/**
 * What the objects of a restored run know of its lost time. A restore of the table alone, as on AWS, leaves objects in
 * the bucket that are newer than the row. They record which calls had a known result.
 *
 * A result counts only for the same idempotency key and the same digest of the arguments: the run may choose another call
 * under the same ID now. It counts whether or not its snapshot was ever committed, since the process that wrote it had
 * the answer of the tool. What cannot be read, or has no genuine seal where seals are on, is left out.
 *
 * Schedule 263: the run undid the effect of a call later in the lost time. Its result is true no more, so it is marked.
 */
import { Unreadable, decompress, sha256 } from "../codec/canonical.ts";
import { SNAPSHOT_BYTES_MAX, type Snapshot, decodeSnapshot } from "../codec/snapshot.ts";
import type { Event, EventOf } from "../core/event.ts";
import type { FileRef } from "../core/file.ts";
import type { Value } from "../core/message.ts";
import type { RestoredMark } from "../protocol/restored.ts";
import type { Row, SnapshotPointer } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import { snapshotAt, snapshotsAbove } from "./object-keys.ts";
import { judgeSeal } from "./vouch.ts";

/** How a call of the lost time ended. */
export interface LostResult {
  readonly outcome: "succeeded" | "failed";
  readonly value: Value | null;
  readonly externalId: string | null;
  readonly files: readonly FileRef[] | undefined;
  /** Its effect was undone later, or may have been. */
  readonly isUndone: boolean;
}

/** The results by key and digest of the arguments. */
export type LostResults = ReadonlyMap<string, LostResult>;

export const lostResultKey = ({ key, argsDigest }: Pick<Intent, "key" | "argsDigest">): string =>
  `${argsDigest} ${key}`;

type Intent = Pick<EventOf<"ToolIntended">, "key" | "argsDigest" | "undo">;

const PAGE = 100;
/** So many snapshots are read at most. A call that only others know is asked about. */
const SNAPSHOTS_MAX = 500;

/** Reads the snapshots that the row had after the version of its mark, and before the restore. */
export async function lostResults(
  world: Pick<World, "objects" | "sealKeys">,
  row: Row,
  mark: RestoredMark,
): Promise<LostResults> {
  const results = new Map<string, LostResult>();
  /** By the key of each snapshot: the intents of its open calls, and of those of the lost time before it. */
  const known = new Map<string, ReadonlyMap<string, Intent>>();
  /** What was not read may have undone these. */
  const undoable = new Set<string>();
  const keys = await lostSnapshots(world, row, mark);
  let isWhole = keys.length < SNAPSHOTS_MAX;
  for (const key of keys) {
    const snapshot = await readable(world, row, key);
    isWhole &&= snapshot !== null;
    if (snapshot === null) continue;
    const before =
      snapshot.previous === null
        ? null
        : (known.get(snapshot.previous.key) ?? (await openIn(world, row, snapshot.previous)));
    const intents = new Map(before);
    for (const event of snapshot.commits.flatMap(({ events }) => events)) {
      if (event.kind === "ToolIntended") intents.set(event.call, event);
      const result = resultIn(event);
      const intent = result === null ? undefined : intents.get(result.call);
      if (result !== null && intent !== undefined) results.set(lostResultKey(intent), result.result);
      if (intent?.undo === true) undoable.add(lostResultKey(intent));
      const undone = event.kind === "RecoveryDecided" && event.action.kind === "undo" ? event.action.call : null;
      const before = undone === null ? undefined : intents.get(undone);
      const found = before === undefined ? undefined : results.get(lostResultKey(before));
      if (before !== undefined && found !== undefined) results.set(lostResultKey(before), { ...found, isUndone: true });
    }
    known.set(key, intents);
  }
  if (!isWhole) for (const key of undoable) results.delete(key);
  return results;
}

async function lostSnapshots(
  { objects }: Pick<World, "objects">,
  row: Row,
  mark: RestoredMark,
): Promise<readonly string[]> {
  const { prefix, after: first } = snapshotsAbove(row, mark.version);
  const found: string[] = [];
  let after: string | undefined = first;
  while (after !== undefined && found.length < SNAPSHOTS_MAX) {
    const page: readonly string[] = (await objects.keysAfter(after, PAGE)).map(({ key }) => key);
    const mine = page.filter((key) => key.startsWith(prefix));
    // What this run wrote since its restore has a later epoch.
    found.push(...mine.filter((key) => (snapshotAt(key)?.epoch ?? Infinity) < mark.epoch));
    after = mine.length < PAGE ? undefined : mine.at(-1);
  }
  return found.slice(0, SNAPSHOTS_MAX);
}

/** The snapshot, or null if it cannot be read or trusted. */
async function readable(
  world: Pick<World, "objects" | "sealKeys">,
  row: Row,
  key: string,
  digest?: string,
): Promise<Snapshot | null> {
  const bytes = await world.objects.get(key);
  const version = snapshotAt(key)?.version ?? 0;
  try {
    if (bytes === null) return null;
    const named = digest ?? sha256(decompress(bytes, { what: `snapshot ${key}`, bytesMax: SNAPSHOT_BYTES_MAX }));
    const snapshot = decodeSnapshot({ version, key, digest: named }, bytes);
    const isOwn = snapshot.state.run === row.run && snapshot.state.born === row.born;
    return isOwn && (await isTrusted(world, snapshot)) ? snapshot : null;
  } catch (error) {
    if (error instanceof Unreadable) return null;
    throw error;
  }
}

async function isTrusted(world: Pick<World, "sealKeys">, { sealedBy }: Snapshot): Promise<boolean> {
  if (world.sealKeys.mode === "off") return true;
  if (sealedBy === undefined) return world.sealKeys.mode !== "required";
  return (await judgeSeal(world, sealedBy)) === "genuine";
}

async function openIn(
  world: Pick<World, "objects" | "sealKeys">,
  row: Row,
  { key, digest }: SnapshotPointer,
): Promise<ReadonlyMap<string, Intent>> {
  const snapshot = await readable(world, row, key, digest);
  return new Map(
    snapshot?.state.open.flatMap(({ call, intent }) => (intent === null ? [] : [[call, intent] as const])),
  );
}

function resultIn(event: Event): { readonly call: string; readonly result: LostResult } | null {
  if (event.kind === "ToolResultRecorded") {
    const { call, outcome, value, externalId, files } = event;
    return { call, result: { outcome, value, externalId, files, isUndone: false } };
  }
  if (event.kind !== "ToolResultReconciled") return null;
  const { call, answer, externalId = null } = event;
  if (answer.as !== "succeeded" && answer.as !== "failed") return null;
  const { as: outcome, value, files } = answer;
  return { call, result: { outcome, value, externalId, files, isUndone: false } };
}
