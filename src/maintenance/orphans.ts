/**
 * Removes orphans: objects below an incarnation that no row references. A start that dies between snapshot 0 and its
 * row leaves orphans. So does a process that freezes, loses its run, and writes a snapshot after the clean-up. No
 * record points to them, so once a day this task goes from incarnation to incarnation, reading one key of each.
 *
 * Young objects are left alone, because their row may be about to be written. If the table belongs to other objects, it
 * knows none of these runs. Then nothing is deleted at all; otherwise a wrong setting would delete every run.
 */
import { TIMES } from "../protocol/limits.ts";
import type { Invocation } from "../ports/tasks.ts";
import type { World } from "../ports/world.ts";
import type { TaskResult } from "../protocol/chain.ts";
import { alarm } from "../history/alarm.ts";
import { isStored } from "../history/clean-up.ts";
import { RUNS, incarnationOf, prefixUnder } from "../history/object-keys.ts";
import { withMutexLease } from "./mutex-lease.ts";

/** Incarnations per call: one invocation must have time for all of them, with a deletion for each. */
const LOOKS_MAX = 100;

/** Examines incarnations after the cursor `after`. Returns the next cursor, or null after the last incarnation. */
export async function collectOrphans(world: World, after: string | null): Promise<string | null> {
  if (!(await belongTogether(world))) return null;
  let from = after ?? RUNS;
  for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
    const found = await world.objects.next(from);
    if (found === null || !found.key.startsWith(RUNS)) return null;
    const of = incarnationOf(found.key);
    const isOld = found.putAt < world.clock.earliest() - TIMES.orphanAgeMs;
    if (of !== null && isOld && !(await isStored(world, of))) await world.objects.removeUnder(prefixUnder(of));
    const past = of === null ? found.key : `${prefixUnder(of)}${LAST}`;
    // A key may sort even after `past`. Then step over that key, or this loop would never end.
    from = found.key < past ? past : found.key;
  }
  return from;
}

/**
 * Examines as many incarnations as the invocation has time for; the next invocation continues from there. For worlds
 * whose chain does not keep the cursor.
 */
export async function collectAllOrphans(world: World, invocation: Invocation): Promise<OrphansResult> {
  await withMutexLease(world, invocation, { name: "orphans", next: (after) => collectOrphans(world, after) });
  return { kind: "orphans", next: null };
}

type OrphansResult = Extract<TaskResult, { readonly kind: "orphans" }>;

/** Sorts after every character in cairn's object keys. */
const LAST = "~";

async function belongTogether(world: World): Promise<boolean> {
  const [rows, payloads] = [await world.table.storeId(), await world.objects.storeId()];
  if (rows === payloads) return true;
  const why = `nothing was deleted: the rows belong to store ${rows} and the objects to store ${payloads}`;
  alarm(world, "", { what: "StoresDiffer", why });
  return false;
}
