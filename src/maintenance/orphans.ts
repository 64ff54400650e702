/**
 * Orphan prefixes: objects below an incarnation that no row names. A start that died between snapshot 0 and its row
 * leaves one, and so does a process that froze, lost its run, and puts a snapshot after the clean-up. Nothing tells of
 * them, so once a day somebody looks: from incarnation to incarnation, one key of each.
 *
 * A row may be about to come for what is young, so that is left alone. And a table that belongs to other objects knows
 * none of these runs: with it nothing is deleted at all, or a wrong setting would delete every run.
 */
import { TIMES } from "../protocol/limits.ts";
import type { Invocation } from "../ports/tasks.ts";
import type { World } from "../ports/world.ts";
import type { TaskResult } from "../protocol/chain.ts";
import { alarm } from "../history/alarm.ts";
import { isStored } from "../history/clean-up.ts";
import { RUNS, incarnationOf, prefixUnder } from "../history/object-keys.ts";
import { inTurn } from "./mutex-lease.ts";

/** Incarnations of one call: it must fit into one invocation, with a deletion for each. */
const LOOKS_MAX = 100;

/** Goes on after that text. Returns from where to go on, or null when every incarnation was looked at. */
export async function lookForOrphans(world: World, after: string | null): Promise<string | null> {
  if (!(await belongTogether(world))) return null;
  let from = after ?? RUNS;
  for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
    const found = await world.objects.next(from);
    if (found === null || !found.key.startsWith(RUNS)) return null;
    const of = incarnationOf(found.key);
    const isOld = found.putAt < world.clock.earliest() - TIMES.orphanAgeMs;
    if (of !== null && isOld && !(await isStored(world, of))) await world.objects.removeUnder(prefixUnder(of));
    const past = of === null ? found.key : `${prefixUnder(of)}${LAST}`;
    // A key that lies even behind that is stepped over by itself, or this would go round for ever.
    from = found.key < past ? past : found.key;
  }
  return from;
}

/** As far as the time of this invocation goes; the next one goes on from there. For a world that keeps no other plan. */
export async function lookForAllOrphans(world: World, invocation: Invocation): Promise<OrphansResult> {
  await inTurn(world, invocation, { name: "orphans", next: (after) => lookForOrphans(world, after) });
  return { kind: "orphans", next: null };
}

type OrphansResult = Extract<TaskResult, { readonly kind: "orphans" }>;

/** Behind every character that a key of ours has. */
const LAST = "~";

async function belongTogether(world: World): Promise<boolean> {
  const [rows, payloads] = [await world.table.storeId(), await world.objects.storeId()];
  if (rows === payloads) return true;
  const why = `nothing was deleted: the rows belong to store ${rows} and the objects to store ${payloads}`;
  alarm(world, "", { what: "StoresDiffer", why });
  return false;
}
