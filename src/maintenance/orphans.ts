/**
 * Removes orphans: objects below an incarnation that no row references. A start that dies between snapshot 0 and its
 * row leaves orphans. So does a process that freezes, loses its run, and writes a snapshot after the clean-up. No
 * record points to them, so once a day this task passes over the keys of all objects.
 *
 * Young objects are left alone, because their row may be about to be written. If the table belongs to other objects, it
 * knows none of these runs. Then nothing is deleted at all; otherwise a wrong setting would delete every run.
 */
import { TIMES } from "../protocol/limits.ts";
import type { Incarnation } from "../protocol/row.ts";
import type { FoundKey } from "../ports/object-store.ts";
import type { Invocation } from "../ports/tasks.ts";
import type { World } from "../ports/world.ts";
import type { TaskResult } from "../protocol/chain.ts";
import { LAST_ORPHANS_SEARCH } from "../protocol/mutex-lease.ts";
import { alarm } from "../history/alarm.ts";
import { isStored } from "../history/clean-up.ts";
import { RUNS, incarnationOf, prefixUnder } from "../history/object-keys.ts";
import { keepCursor, withMutexLease } from "../history/mutex-lease.ts";

/** Keys per call: one invocation must have time for a read and a deletion for each of them. */
const KEYS_MAX = 1_000;
/** How many incarnations are examined at once, since each of them mostly waits for the table. */
const AT_ONCE = 16;
/** A pass begins this long after the last one: once a day, where an invocation looks every ten minutes. */
const PASS_MS = 23.5 * 3_600_000;

/**
 * Examines the incarnations of a bounded number of keys after the cursor `after`. Returns the next cursor, or null after
 * the last incarnation.
 */
export async function collectOrphans(world: World, after: string | null): Promise<string | null> {
  if (!(await belongTogether(world))) return null;
  let from = after ?? RUNS;
  for (let left = KEYS_MAX; left > 0;) {
    const page = await world.objects.keysAfter(from, left);
    const ofRuns = page.filter(({ key }) => key.startsWith(RUNS));
    const found = firstKeys(ofRuns);
    for (let next = 0; next < found.length; next += AT_ONCE)
      await Promise.all(found.slice(next, next + AT_ONCE).map((each) => examine(world, each)));
    const last = ofRuns.at(-1);
    if (last === undefined || ofRuns.length < page.length) return null;
    from = behind(last.key);
    left -= page.length;
  }
  return from;
}

/**
 * Goes on with the pass that is under way, for as long as the invocation has time; the next invocation continues from
 * there. Begins a new pass once a day. For worlds whose chain does not keep the cursor.
 */
export async function collectAllOrphans(world: World, invocation: Invocation): Promise<OrphansResult> {
  const lastPassAt = Number((await world.leases.cursorOf(LAST_ORPHANS_SEARCH)) ?? 0);
  if (world.clock.now() - lastPassAt < PASS_MS) return { kind: "orphans", next: null };
  let isOver = false;
  const next = async (after: string | null): Promise<string | null> => {
    const cursor = await collectOrphans(world, after);
    isOver = cursor === null;
    return cursor;
  };
  await withMutexLease(world, invocation, { name: "orphans", next });
  if (isOver) await keepCursor(world, invocation, { name: LAST_ORPHANS_SEARCH, cursor: String(world.clock.now()) });
  return { kind: "orphans", next: null };
}

type OrphansResult = Extract<TaskResult, { readonly kind: "orphans" }>;

interface Found {
  readonly of: Incarnation;
  readonly putAt: number;
}

/** The incarnations of a page, each with the time of its first key. */
function firstKeys(page: readonly FoundKey[]): readonly Found[] {
  const found = new Map<string, Found>();
  for (const { key, putAt } of page) {
    const of = incarnationOf(key);
    if (of !== null && !found.has(prefixUnder(of))) found.set(prefixUnder(of), { of, putAt });
  }
  return [...found.values()];
}

async function examine(world: World, { of, putAt }: Found): Promise<void> {
  const isOld = putAt < world.clock.earliest() - TIMES.orphanAgeMs;
  if (isOld && !(await isStored(world, of))) await world.objects.removeUnder(prefixUnder(of));
}

/** The cursor behind all keys of the incarnation of `key`, which may have more of them than a page. */
function behind(key: string): string {
  const of = incarnationOf(key);
  const past = of === null ? key : `${prefixUnder(of)}${LAST}`;
  // A key may sort even after `past`. Then step over that key, or the pass would never end.
  return key < past ? past : key;
}

/** Sorts after every character in cairn's object keys. */
const LAST = "~";

async function belongTogether(world: World): Promise<boolean> {
  const [rows, payloads] = [await world.table.storeId(), await world.objects.storeId()];
  if (rows === payloads) return true;
  const why = `nothing was deleted: the rows belong to store ${rows} and the objects to store ${payloads}`;
  alarm(world, "", { what: "StoresDiffer", why });
  return false;
}
