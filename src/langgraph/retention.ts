/**
 * How long checkpoints stay. A thread keeps its newest ones, in each namespace, and goes when it was not written for
 * long. Whatever is removed is removed checkpoint by checkpoint: one that a writer stores meanwhile stays.
 */
import { CairnError } from "../client/errors.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import { type Namespace, prefixOfAll, prefixOfNamespace } from "./keys.ts";
import { type StoredCheckpoint, walk } from "./shelf.ts";

export interface Retention {
  /** The most checkpoints that a namespace of a thread keeps; null keeps all. */
  readonly checkpointsMax: number | null;
  /** The days without a write after which `removeExpired()` removes a thread; null for never. */
  readonly days: number | null;
}

/** One is read while the next one is written, so a thread keeps two at least. */
const CHECKPOINTS_MIN = 2;
const DAY_MS = 24 * 3_600_000;

/** Throws `RetentionInvalid`. */
export function assertRetention({ checkpointsMax, days }: Retention): void {
  if (checkpointsMax !== null && !(Number.isInteger(checkpointsMax) && checkpointsMax >= CHECKPOINTS_MIN))
    throw invalid("checkpointsMax", `it takes a whole number from ${CHECKPOINTS_MIN}, or null`);
  if (days !== null && !(Number.isFinite(days) && days > 0))
    throw invalid("days", "it takes a number above 0, or null");
}

const invalid = (name: string, why: string): CairnError =>
  new CairnError(`retention.${name} of the checkpointer is refused: ${why}`, {
    code: "RetentionInvalid",
    status: null,
    facts: { name },
  });

/** Removes what is older than the newest checkpoints of a namespace. Lists its keys once. */
export async function removeSuperseded(
  objects: ObjectStore,
  namespace: Namespace,
  retention: Retention,
): Promise<void> {
  const { checkpointsMax } = retention;
  if (checkpointsMax === null) return;
  const superseded: string[] = [];
  let kept = 0;
  for await (const { prefix, checkpoint } of walk(objects, prefixOfNamespace(namespace))) {
    if (kept >= checkpointsMax) superseded.push(prefix);
    // Writes alone may be those of a checkpoint that is on its way.
    else if (checkpoint !== null) kept += 1;
  }
  for (const prefix of superseded) await objects.removeUnder(prefix);
}

/** Removes the threads that were not written for long. Returns how many checkpoints were removed. */
export async function removeExpired(
  objects: ObjectStore,
  { retention: { days }, now }: { readonly retention: Retention; readonly now: number },
): Promise<number> {
  if (days === null) return 0;
  const before = now - days * DAY_MS;
  let removed = 0;
  let thread: StoredCheckpoint[] = [];
  const finish = async (): Promise<void> => {
    const isExpired = thread.every(({ putAt }) => putAt < before);
    if (isExpired) {
      for (const { prefix } of thread) await objects.removeUnder(prefix);
      removed += thread.length;
    }
    thread = [];
  };
  for await (const found of walk(objects, prefixOfAll())) {
    if (thread[0] !== undefined && thread[0].threadPrefix !== found.threadPrefix) await finish();
    thread.push(found);
  }
  await finish();
  return removed;
}
