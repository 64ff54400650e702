/**
 * How a run ends: one terminal commit that cannot pass over a message, then deliveries that can be repeated.
 *
 * The end keeps the idempotency key of the run. The tombstone is written before the row's time to live starts. From that
 * start on the row may be removed, and with it everything else that knows the key (schedule 81).
 *
 * A process may die between these two writes. The end is undelivered then, so the retry or the sweeper repeats both.
 */
import { failedFrom } from "../../core/policy/infrastructure.ts";
import { mayHaveActed } from "../../core/calls/held-calls.ts";
import type { ChildReport } from "../../core/child.ts";
import type { WithFiles } from "../../core/file.ts";
import { Unreadable } from "../../codec/canonical.ts";
import { newerBy } from "../../codec/row.ts";
import type { Failure } from "../../core/event.ts";
import { childEndId } from "../../protocol/ids.ts";
import type { Json } from "../../core/json.ts";
import { SIZES } from "../../codec/limits.ts";
import type { Value } from "../../core/message.ts";
import { hotMsOf } from "../../protocol/limits.ts";
import type { Ending, State } from "../../core/state.ts";
import { type Changed, type Incarnation, type Refused, type Row, hasEnded } from "../../protocol/row.ts";
import { END_NOTIFICATION } from "../../protocol/row-end-notification.ts";
import type { World } from "../../ports/world.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { keepValue } from "../../history/write-objects.ts";
import { alarm } from "../../history/alarm.ts";
import { archiveOf, putArchive } from "../../features/archive/archive.ts";
import { resolveAmbiguousWrite } from "../../history/resolve-ambiguous-write.ts";
import { type Delivered, absorbInbox, deliver, ignoreUnjudgedInputs } from "../context/inbox.ts";
import { ignoreUnappliedDecisions } from "../../features/approvals/ignored-decisions.ts";
import { SegmentCache, jsonOf } from "../../history/load.ts";
import { loadVouched } from "../../history/vouch.ts";
import { askChildToStop } from "../../features/children/engine.ts";
import { reportedWork } from "../../features/children/reported-work.ts";
import { chargeReserved } from "../../features/children/dispatch.ts";
import type { Next } from "../context/next.ts";
import { debitOtherInvocations, debitTime } from "../context/debits.ts";
import { endWithRun } from "../../features/detached-calls/unsent.ts";
import { type End, type Tombstone, endIn, tombstoneOf } from "../../protocol/tombstone.ts";

/** The outcome with which a run ends. */
type RunEnd =
  | ({ readonly status: "completed"; readonly result: Value } & WithFiles)
  | { readonly status: "failed"; readonly failure: Failure }
  | { readonly status: "cancelled" };

/**
 * Commits the end of the run. Schedule 12: a message is acknowledged between the claim and the end. So the end absorbs
 * the inbox first, and its commit is conditional on the wake-up counter. If a message came, everything is decided
 * again.
 */
export async function commitEnd(run: ActiveRun, end: RunEnd): Promise<Next> {
  const { phase } = run.state;
  const owed = run.owed()[0]?.kind;
  const isAll = await absorbInbox(run);
  // A message has changed what is due. The run is no longer done, and its effects may have to be compensated.
  if (run.state.phase !== phase || run.owed()[0]?.kind !== owed || !isAll) return "continue";
  const before = run.mark();
  const from = failedFrom(run.state);
  // Open calls become unknown outcomes only here. A request to compensate must still see them as begun, and no operator
  // may be asked about them too early.
  for (const { call } of run.state.open.filter(mayHaveActed)) {
    const why = "the run ended before its outcome was known";
    run.record({ kind: "ToolOutcomeUnknown", at: run.now, call, why, reconcilableFrom: run.now });
  }
  debitOtherInvocations(run);
  endWithRun(run);
  chargeReserved(run);
  ignoreUnappliedDecisions(run);
  ignoreUnjudgedInputs(run);
  debitTime(run);
  const mayGoOn = end.status === "failed" && from !== null;
  run.record({ kind: "RunEnded", at: run.now, ...end, ...(mayGoOn ? { from } : {}) });
  // Without a parent, children, an archive and inbox items there is nothing to deliver. Then this commit also marks the
  // end as delivered.
  const isAwaited = run.row.parent !== null || run.state.children.length > 0 || archiveOf(run.row, run.state) !== null;
  const hasItems = run.state.absorbed.some((id) => !run.committed.hasRemoved(id));
  const expiresAtSec = isAwaited || hasItems ? null : expiryOf(run.world, run.state);
  // Write the tombstone before the commit that starts the row's time to live. If that commit is refused, the tombstone
  // has no effect.
  if (expiresAtSec !== null) {
    await keepKey(run.world, { row: run.row, end: { status: end.status, at: run.now }, expiresAtSec });
  }
  const outcome = await run.commit({ release: true, unlessWoken: true, expiresAtSec });
  if (outcome === "woken") run.restore(before);
  return "continue";
}

/** Commits the end that was decided before, once no other process can act for this run. */
export function commitDecided(run: ActiveRun, ending: Ending): Promise<Next> {
  return commitEnd(
    run,
    ending.kind === "failed" ? { status: "failed", failure: ending.failure } : { status: "cancelled" },
  );
}

/** When the row of a run that ends now expires, in epoch seconds. */
const expiryOf = ({ clock, limits }: World, { retention }: State): number =>
  Math.ceil((clock.now() + hotMsOf(limits, retention)) / 1_000);

/**
 * Delivers the end of a run to others, until each has acknowledged it. The retry or the sweeper repeats this for an
 * ended run with `told` unset.
 *
 * The order matters. The inbox items that the end absorbed are deleted. Children that still run are asked to stop
 * (schedule 44). The parent receives the end under one message ID. The archive is put (schedule 50), and the tombstone
 * of the idempotency key is written (schedule 81). Only then does the row's time to live start (schedule 41).
 */
export async function notifyEnd(world: World, row: Row): Promise<void> {
  // If the run needs a newer version of cairn, this process could archive and deliver an incomplete end.
  if (!hasEnded(row) || row.endNotified || newerBy(row.run, row) !== null) return;
  const { run, born } = row;
  const state = await tellOthers(world, row);
  if (state === null) return;
  const now = world.clock.now();
  const expiresAtSec = expiryOf(world, state);
  await keepKeyOfEnded(world, row, expiresAtSec);
  await resolveAmbiguousWrite<Changed<"notified"> | Refused>(
    () => world.table.decide({ run, born, epoch: row.epoch, now, expiresAtSec }, END_NOTIFICATION),
    (found) => (found.endNotified ? { kind: "notified", row: found } : null),
  );
}

/**
 * Returns the final state. Returns null if a delivery or the archive is impossible now, because a stored object or a
 * row cannot be read. Then the end stays undelivered.
 */
async function tellOthers(world: World, row: Row): Promise<State | null> {
  const { run, born, parent } = row;
  try {
    const { state } = await loadVouched(world, row, new SegmentCache());
    // Schedule 108: the process may have died after the commit of the end and before this deletion.
    if (state.absorbed.length > 0) {
      await world.inbox.clear({ run, born, now: world.clock.now(), ids: state.absorbed });
    }
    // C6: only a forced end leaves children behind. It counts as delivered when each of them has ended. Schedule 133:
    // the parent hears of it only then, since it may end itself, and take this run and all below it for over.
    let isHeard = true;
    for (const { id: child, left } of state.children) {
      if (left === true) continue;
      const asked = await askChildToStop(world, { child, undoneBy: null });
      if (asked !== "ended" && asked !== "missing") isHeard = false;
    }
    if (!isHeard) return null;
    const told = parent === null ? "delivered" : await tellParent(world, { row, state, parent });
    if (told === "unreadable") return null;
    await putArchive(world, { row, state });
    return state;
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    alarm(world, run, { what: "Unreadable", why: `its end cannot be delivered: ${error.message}` });
    return null;
  }
}

/**
 * Delivers the end to the parent. The result is stored under the parent's own prefix, because a run never names objects
 * of another run.
 */
async function tellParent(
  world: World,
  { row, state, parent }: { readonly row: Row; readonly state: State; readonly parent: Incarnation },
): Promise<Delivered> {
  const { phase, result, failure } = state;
  const json: Json = result === null ? failure && { ...failure } : await jsonOf(world.objects, row, result);
  const value = await keepValue(world, parent, { json, inlineMax: SIZES.stateValueBytesMax });
  const status = phase === "Completed" ? "completed" : phase === "Failed" ? "failed" : "cancelled";
  const outside = await reportedWork(world, state);
  const body: ChildReport = {
    kind: "child",
    child: row.run,
    status,
    value,
    spent: state.spent,
    ...(outside === undefined ? {} : { outside }),
  };
  const message = { id: childEndId(row.run), sentAt: world.clock.now(), body };
  return deliver(world, { ...parent, message });
}

/** Writes the tombstone and returns it. `expiresAtSec` is when the row itself expires, in epoch seconds. */
async function keepKey(
  world: World,
  { row, end, expiresAtSec }: { readonly row: Row; readonly end: End; readonly expiresAtSec: number },
): Promise<Tombstone> {
  const tombstone = tombstoneOf(row, { ...end, expiresAtSec, keptMs: world.limits.keyRetentionMs });
  await resolveAmbiguousWrite<{ readonly kind: "kept" }>(
    () => world.table.keepKey(tombstone),
    () => null,
  );
  return tombstone;
}

/** The same for a run whose row already names its end. Does nothing for a run that has not ended. */
async function keepKeyOfEnded(world: World, row: Row, expiresAtSec: number): Promise<void> {
  const end = endIn(row);
  if (end !== null) await keepKey(world, { row, end, expiresAtSec });
}
