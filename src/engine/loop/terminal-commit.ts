/** How a run ends: one terminal commit that no message can slip past, then hooks that can be repeated. */
import { Unreadable } from "../../codec/canonical.ts";
import { RowNewer, newerBy } from "../../codec/row.ts";
import type { Failure } from "../../core/event.ts";
import { childEndId } from "../../protocol/ids.ts";
import type { Json } from "../../core/json.ts";
import { SIZES } from "../../codec/limits.ts";
import type { Value } from "../../core/message.ts";
import { failedFrom } from "../../core/policy/redrive.ts";
import { hotMsOf } from "../../protocol/limits.ts";
import type { Ending, State } from "../../core/state.ts";
import { type Changed, type Incarnation, type Refused, type Row, hasEnded } from "../../protocol/row.ts";
import type { World } from "../../ports/world.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { keepValue } from "../../history/write-objects.ts";
import { alarm } from "../../history/alarm.ts";
import { archiveOf, putArchive } from "../../history/archive.ts";
import { certainly } from "../../history/resolve-ambiguous-write.ts";
import { type Delivered, absorbInbox, deliver } from "../context/inbox.ts";
import { ignoreUnapplied } from "../context/ignored-decisions.ts";
import { keepKey, keepKeyOfEnded } from "./kept-key.ts";
import { SegmentCache, jsonOf } from "../../history/load.ts";
import { loadVouched } from "../../history/vouch.ts";
import { request } from "./request.ts";
import type { Next } from "../context/next.ts";
import { debitOthers, debitTime } from "../context/debits.ts";

type End =
  | { readonly status: "completed"; readonly result: Value }
  | { readonly status: "failed"; readonly failure: Failure }
  | { readonly status: "cancelled" };

/**
 * Schedule 12: a message is acknowledged between the claim and the end. The end absorbs the inbox first and commits
 * only if nobody stirred the run since; otherwise everything is decided again.
 */
export async function commitEnd(run: ActiveRun, end: End): Promise<Next> {
  const { phase } = run.state;
  const owed = run.owed()[0]?.kind;
  const isAll = await absorbInbox(run);
  // Somebody said something: a run that was done is not done any more, and what it did may have to be undone.
  if (run.state.phase !== phase || run.owed()[0]?.kind !== owed || !isAll) return "on";
  const before = run.mark();
  const from = failedFrom(run.state);
  // Only now: whoever wants it undone has a say in what was begun, and nobody may be asked about it too early.
  for (const { call, status } of run.state.open) {
    if (status !== "started") continue;
    const why = "the run ended before its outcome was known";
    run.record({ kind: "ToolOutcomeUnknown", at: run.now, call, why, askFrom: run.now });
  }
  debitOthers(run);
  ignoreUnapplied(run);
  debitTime(run);
  const mayGoOn = end.status === "failed" && from !== null;
  run.record({ kind: "RunEnded", at: run.now, ...end, ...(mayGoOn ? { from } : {}) });
  // With nobody to tell, nothing to put and nothing to remove, the end is told by its own commit.
  const isAwaited = run.row.parent !== null || run.state.children.length > 0 || archiveOf(run.row, run.state) !== null;
  const hasItems = run.state.absorbed.some((id) => !run.noticed.hasRemoved(id));
  const expiresAtSec = isAwaited || hasItems ? null : expiryOf(run.world, run.state);
  // Before the commit that starts the row's time to live. One that is refused leaves a record that counts for nothing.
  if (expiresAtSec !== null) {
    await keepKey(run.world, { row: run.row, end: { status: end.status, at: run.now }, expiresAtSec });
  }
  const outcome = await run.commit({ release: true, unlessStirred: true, expiresAtSec });
  if (outcome === "stirred") run.restore(before);
  return "on";
}

/** What was decided, once nobody can act for this run any more. */
export function commitDecided(run: ActiveRun, ending: Ending): Promise<Next> {
  return commitEnd(
    run,
    ending.kind === "failed" ? { status: "failed", failure: ending.failure } : { status: "cancelled" },
  );
}

const expiryOf = ({ clock, limits }: World, { retention }: State): number =>
  Math.ceil((clock.now() + hotMsOf(limits, retention)) / 1_000);

/**
 * What an ended run owes to others, told until it is acknowledged; whoever finds a run ended and not told repeats it.
 * Inbox items that the end took in are removed, children that still run are asked to stop (schedule 44), the parent hears of the end under one
 * message id, the archive is put (schedule 50), the key is kept (schedule 81), and only then does the run's time to live
 * start (schedule 41).
 */
export async function tellEnd(world: World, row: Row): Promise<void> {
  // What this process would archive and tell of a run that needs a newer one may lack a part.
  if (!hasEnded(row) || row.told || newerBy(row.run, row) !== null) return;
  const { run, born } = row;
  const state = await tellOthers(world, row);
  if (state === null) return;
  const now = world.clock.now();
  const expiresAtSec = expiryOf(world, state);
  await keepKeyOfEnded(world, row, expiresAtSec);
  await certainly<Changed<"told"> | Refused>(
    () => world.table.tell({ run, born, epoch: row.epoch, now, expiresAtSec }),
    (found) => (found.told ? { kind: "told", row: found } : null),
  );
}

/**
 * The state that the run ended in; null if somebody cannot be told or nothing can be archived, since what is stored cannot
 * be read now: then the end stays untold.
 */
async function tellOthers(world: World, row: Row): Promise<State | null> {
  const { run, born, parent } = row;
  try {
    const { state } = await loadVouched(world, row, new SegmentCache());
    // Schedule 108: the process may have died between the commit of the end and this.
    if (state.absorbed.length > 0) {
      await world.table.clearInbox({ run, born, now: world.clock.now(), ids: state.absorbed });
    }
    const stopped = state.phase === "Completed" ? [] : state.children;
    let isHeard = true;
    for (const child of stopped) {
      if (!(await askToStop(world, child))) isHeard = false;
    }
    const told = parent === null ? "delivered" : await tellParent(world, { row, state, parent });
    if (!isHeard || told === "unreadable") return null;
    await putArchive(world, { row, state });
    return state;
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    alarm(world, run, { what: "Unreadable", why: `its end cannot be told: ${error.message}` });
    return null;
  }
}

/** False where the row of the child cannot be read, or a newer version of cairn goes on with it. */
async function askToStop(world: World, child: string): Promise<boolean> {
  try {
    return (await request(world, { run: child, want: "cancel" })) !== "unreadable";
  } catch (error) {
    if (error instanceof RowNewer) return false;
    throw error;
  }
}

/** The result is put under the parent's own prefix: nothing names another run's objects. */
async function tellParent(
  world: World,
  of: { readonly row: Row; readonly state: State; readonly parent: Incarnation },
): Promise<Delivered> {
  const { row, state, parent } = of;
  const { phase, result, failure } = state;
  const json: Json = result === null ? failure && { ...failure } : await jsonOf(world.objects, row, result);
  const value = await keepValue(world, parent, { json, inlineMax: SIZES.stateValueBytesMax });
  const status = phase === "Completed" ? "completed" : phase === "Failed" ? "failed" : "cancelled";
  const body = { kind: "child", child: row.run, status, value } as const;
  const message = { id: childEndId(row.run), sentAt: world.clock.now(), body };
  return deliver(world, { ...parent, message });
}
