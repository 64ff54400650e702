/**
 * The sweeper: it gives every abandoned run its next step, and ends runs that cannot recover. It is the backstop for
 * every process that died between two writes, so each of its steps can be repeated (schedule 20). `rescue` does the
 * same for one run. Only one sweep runs at a time (schedule 46): two would fence each other while they end a run.
 * It remembers for which deployment it has judged every live run, and when.
 */
import { Unreadable } from "../codec/canonical.ts";
import { newerBy } from "../codec/row.ts";
import type { Failure } from "../core/event.ts";
import { TIMES } from "../protocol/limits.ts";
import { type Trouble, forceEnd, tooManyDeaths } from "../core/policy/recovery.ts";
import type { State } from "../core/state.ts";
import { isLongUnclaimed } from "../protocol/claim-evidence.ts";
import type { Payload, Task, TaskResult } from "../protocol/chain.ts";
import { LAST_SWEEP_OF_ALL } from "../protocol/mutex-lease.ts";
import { FORMAT, type ListedRow, type Row, hasEnded } from "../protocol/row.ts";
import { isAsleep, wakeAheadMs, wakeFrom } from "../protocol/row-park.ts";
import type { Invocation } from "../ports/tasks.ts";
import type { World } from "../ports/world.ts";
import { ActiveRun } from "../engine/context/active-run.ts";
import { Fenced } from "../engine/context/fenced.ts";
import { recordRedrive } from "../features/redrive/record-redrive.ts";
import { alarm } from "../history/alarm.ts";
import { noticeMs } from "../engine/loop/next-look.ts";
import { commitDecided, notifyEnd } from "../engine/loop/terminal-commit.ts";
import { handOver, startNextExecution, startExecution, wakeRun } from "../engine/context/executions.ts";
import { NO_WAITS, noteSwept, includeWait } from "../engine/context/telemetry-events.ts";
import { CommitCache } from "../history/commits.ts";
import { SegmentCache } from "../history/load.ts";
import { loadVouched } from "../history/vouch.ts";
import { keepCursor, withMutexLease } from "../history/mutex-lease.ts";
import { pageJudge } from "./sweep-page.ts";

const SWEEP_PAGE = 100;

export interface SweepOptions {
  /** The ID of the deployed code. Runs that back off are retried at once after a change. Null: it is not known. */
  readonly deployment?: string | null;
}

/**
 * Judges the runs that have not ended, or whose end is not delivered yet. A run that waits in a park is left out until
 * its park is over, or until a message has come (`protocol/due.ts`).
 *
 * Schedule 143: an older process claims a run that a newer one parked, and dies. It knows nothing of the time from
 * which a sweep has to judge the run, so the row still names the end of the park. Once an hour, and after each
 * deployment, a sweep judges every run, whatever its row says.
 *
 * Schedule 145: such a sweep ends before the last run. It does not count as one: the next sweep begins one again.
 *
 * Schedule 79: a run whose execution cannot be described, or whose row cannot be decoded, raises an alarm and is
 * skipped; the next sweep meets it again. If a store is unavailable for all runs, the sweep ends instead of waiting for
 * each run.
 *
 * Several runs of a page are judged at once (`sweep-page.ts`).
 */
export async function sweep(world: World, invocation: Invocation, options: SweepOptions = {}): Promise<TaskResult> {
  let judged: number | null = null;
  const { deployment = null } = options;
  const isNew = deployment !== null && (await world.leases.cursorOf(DEPLOYMENT)) !== deployment;
  const isOfAll = isNew || !(await sweptAll(world));
  let [isWhole, isOver] = [false, false];
  const judgePage = pageJudge(world);
  let waits = NO_WAITS;
  await withMutexLease(world, invocation, {
    name: "sweep",
    next: async (after, { hasTime, reached }) => {
      judged ??= 0;
      const now = world.clock.now();
      const due = isOfAll ? {} : { dueBy: now + wakeAheadMs(world.limits) };
      const pageAfter = (cursor: string | null) => world.table.alive({ limit: SWEEP_PAGE, after: cursor, now, ...due });
      let page = await pageAfter(after);
      // An outage that ended the sweep before at its last run left the cursor behind all runs: this one begins anew,
      // since it would judge none, and they would wait for the next one.
      const isBehindAll = after !== null && judged === 0 && page.next === null && page.rows.length === 0;
      if (isBehindAll) page = await pageAfter(null);
      isWhole ||= after === null || isBehindAll;
      for (const { run, why } of page.damaged)
        alarm(world, run, { what: "Unreadable", why: `its row is damaged: ${why}` });
      const { rows, behind } = page;
      const begun = await judgePage({
        rows,
        behind,
        hasTime,
        reached,
        judge: (row) => sweepOne(world, { invocation, row, isNew }),
      });
      for (const row of rows.slice(0, begun)) waits = includeWait(waits, row, world.clock.now());
      judged += begun;
      if (begun < rows.length) return behind[begun - 1] ?? after;
      isOver = page.next === null;
      return page.next;
    },
  });
  // Remember the deployment only after one sweep judged every run; runs that an older sweep skipped are judged again.
  if (isNew && isWhole && isOver) await keepCursor(world, invocation, { name: DEPLOYMENT, cursor: deployment });
  if (isOfAll && isWhole && isOver)
    await keepCursor(world, invocation, { name: LAST_SWEEP_OF_ALL, cursor: String(world.clock.now()) });
  if (judged !== null) noteSwept(world, { runs: judged, ...waits });
  tellDoubt(world);
  return judged === null ? { kind: "sweep" } : { kind: "sweep", judged };
}

/**
 * Schedule 104: data that has expired by only one clock is kept, and this alarm tells the operator why. It runs after
 * the sweep, whose responses bring the times of the other clock.
 */
function tellDoubt(world: World): void {
  // In this order: the time that passes between the two reads is no difference of the clocks.
  const now = world.clock.now();
  const aheadMs = now - world.clock.earliest();
  if (aheadMs <= 0) return;
  const gap = aheadMs < 1_000 ? `${Math.ceil(aheadMs)} ms` : `${Math.round(aheadMs / 1_000)} s`;
  const why = `two clocks differ by ${gap}: until they agree, data that has expired by only one of them is kept`;
  alarm(world, "", { what: "ClockDoubted", why });
}

async function sweepOne(
  world: World,
  { invocation, row, isNew }: { readonly invocation: Invocation; readonly row: ListedRow; readonly isNew: boolean },
): Promise<void> {
  if (row.format !== FORMAT) return alarm(world, row.run, { what: "Unreadable", why: `it has format ${row.format}` });
  if (hasEnded(row)) return notifyListedEnd(world, row);
  // Its execution keeps retrying, so the run continues as soon as a process of the newer version takes a beat.
  if (newerBy(row.run, row) !== null)
    return void (isAsleep(row) ? await sleepsWell(world, row) : await startExecution(world, row));
  if (await sleepsWell(world, row)) {
    // The starting process may have died between the row and its execution. Starting can be repeated at any time.
    if (row.status === "queued") await startExecution(world, row);
    return;
  }
  const state = await stateOfListed(world, row);
  if (state === null) return;
  const { run, born, chain, epoch } = row;
  if (beyondHelp(row, { state, world }) === null) {
    const next = { run, born, chain, epoch };
    // Schedule 165: only in the epoch that was read, so that a run that is claimed meanwhile keeps its execution.
    if (isLongUnclaimed(row, { now: world.clock.earliest() })) return startNextExecution(world, next);
    const execution = await startExecution(world, row);
    // Schedule 94: an execution pauses between failed attempts, and that pause cannot be interrupted. A message, a
    // cancel or a new deployment justifies an attempt at once; the old execution is refused when its pause is over.
    // This is safe only if no process has claimed the run since it was read: a claim may have led to a park, and then
    // nothing would wake the run.
    if (execution === "going" && (isNew || row.wakeCount !== row.wakeCountSeen)) await startNextExecution(world, next);
    return;
  }
  const outcome = await handOver(world, { run, born, chain });
  if (outcome.kind !== "handed") return;
  const trouble = beyondHelp(outcome.row, { state, world });
  // Otherwise a message arrived meanwhile, or the fenced process may still act: the next sweep judges the run again.
  if (trouble !== null) await end(world, { invocation, row: outcome.row, trouble });
}

/**
 * Whether the run needs no action: a process holds it, it waits and can still be woken, or it made progress recently.
 */
async function sleepsWell(world: World, row: ListedRow): Promise<boolean> {
  const now = world.clock.now();
  if (row.owner !== null) return now < (row.leaseUntil ?? 0);
  const isStirred = row.wakeCount !== row.wakeCountSeen;
  if (row.park !== null) {
    if (!isStirred && now < wakeFrom(row, world.limits)) return true;
    // If no execution waits on the token, the parked execution may be gone.
    if (await wakeRun(world, row)) return true;
  }
  // Without a token, no run waits longer than `waitSecondsMax`: the process that was to park it may have died.
  const waitsUntil = isStirred ? 0 : Math.min(row.wakeAt ?? 0, row.lastCheckpointAt + TIMES.waitSecondsMax * 1_000);
  return now < Math.max(row.lastCheckpointAt, waitsUntil) + world.limits.overdueMs;
}

/**
 * The result of `read`; null, with an alarm, if stored data is unreadable. The run is left alone until it is repaired.
 */
async function readable<T>(world: World, { run }: Pick<Row, "run">, read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    alarm(world, run, { what: "Unreadable", why: `${error.code}: ${error.message}` });
    return null;
  }
}

/** The row with its journal, which a list leaves out; null once its incarnation is gone. */
async function readListed({ table, clock }: World, { run, born }: ListedRow): Promise<Row | null> {
  const row = await table.read(run, clock.now());
  return row?.born === born ? row : null;
}

/** Null also if another process has claimed the run since: then the next sweep judges it. */
async function stateOfListed(world: World, listed: ListedRow): Promise<State | null> {
  const row = await readable(world, listed, () => readListed(world, listed));
  return row?.epoch === listed.epoch ? stateOf(world, row) : null;
}

async function notifyListedEnd(world: World, listed: ListedRow): Promise<void> {
  const row = await readListed(world, listed);
  if (row !== null) await notifyEnd(world, row);
}

const stateOf = (world: World, row: Row): Promise<State | null> =>
  readable(world, row, async () => (await loadVouched(world, row, new SegmentCache())).state);

/**
 * Why the run cannot recover: its processes died too often, or its deadline passed without a commit. Null if it can.
 */
function beyondHelp(
  row: Pick<Row, "deaths" | "deadline">,
  { state, world, cause = null }: { readonly state: State; readonly world: World; readonly cause?: string | null },
): Trouble | null {
  const { deaths, deadline } = row;
  const { takeoversMax } = state;
  if (deaths > takeoversMax) return tooManyDeaths("Abandoned", { deaths, max: takeoversMax, cause });
  // Schedule 229: a beat that can still begin warns first.
  const notice = state.warnedOf === deadline ? 0 : noticeMs(world.limits);
  if (world.clock.earliest() < deadline + notice) return null;
  const failure: Failure = { code: "Expired", message: "the run made no commit for as long as a run may wait" };
  return { kind: "deadline", failure };
}

/**
 * Ends a run under the epoch of its hand-over. Returns false if it must not end yet: effects of a fenced process may
 * still land, or a message arrived just now. `effectsSettleAt` is judged on the row that the hand-over returned, because a
 * zombie may have claimed the run after any earlier read (schedule 36).
 */
async function end(
  world: World,
  { invocation, row, trouble }: { readonly invocation: Invocation; readonly row: Row; readonly trouble: Trouble },
): Promise<boolean> {
  if (world.clock.now() < row.effectsSettleAt) return false;
  const segments = new SegmentCache();
  const loaded = await readable(world, row, () => loadVouched(world, row, segments));
  if (loaded === null) return false;
  const run = new ActiveRun({ world, invocation, loaded, segments, commits: new CommitCache() });
  recordRedrive(run);
  const forced = forceEnd(run.state, trouble, run.now);
  if (forced !== null) run.record(forced);
  try {
    if (forced?.action.kind === "tryAgain") {
      await run.commit({ release: true });
      await startExecution(world, run.row);
      return true;
    }
    while (run.state.ending !== null) {
      await commitDecided(run, run.state.ending);
      // A message arrived before the end was committed and moved the deadline: the run is no longer expired.
      if (trouble.kind === "deadline" && run.state.ending !== null && world.clock.earliest() < run.row.deadline)
        return false;
    }
  } catch (error) {
    if (!(error instanceof Fenced)) throw error;
    return true;
  }
  await notifyEnd(world, run.row);
  return true;
}

/**
 * Hands a run over to a new execution after five attempts of a beat died (schedule 24). The new execution starts with a
 * fresh epoch: with the stale one, a beat would be refused because of its own dead attempt.
 */
export async function rescue(
  world: World,
  { payload, dead = null, cause }: Omit<Extract<Task, { readonly kind: "rescue" }>, "kind">,
  invocation: Invocation,
): Promise<TaskResult> {
  const { run, born, chain } = payload;
  // If the row is unreadable, do nothing: the sweeper finds the run once the row is repaired.
  if ((await readable(world, payload, () => wakesParked(world, payload))) ?? true)
    return { kind: "rescue", until: null };
  const outcome = await handOver(world, { run, born, chain, dead });
  if (outcome.kind === "held") return { kind: "rescue", until: outcome.until };
  if (outcome.kind === "handed" || outcome.kind === "lost") {
    const { row } = outcome;
    if (hasEnded(row)) await notifyEnd(world, row);
    // Schedule 39: if the response to an earlier hand-over was lost, its successor may never have been started.
    else if (row.chain > chain)
      await goOn(world, { invocation, row, isMine: outcome.kind === "handed", cause: cause ?? null });
  }
  return { kind: "rescue", until: null };
}

/**
 * Wakes the run if it is parked. A continue-as-new whose responses were all lost is rescued although its successor
 * works or is parked. A parked successor continues once it is woken; after a hand-over it would wait in vain until its
 * park ends.
 */
async function wakesParked(world: World, { run, born, chain }: Payload): Promise<boolean> {
  const row = await world.table.read(run, world.clock.now());
  if (row === null || row.born !== born || row.chain !== chain || row.park === null || hasEnded(row)) return false;
  return wakeRun(world, row);
}

/**
 * Schedule 25: beats that die before they claim would be rescued forever. Past `takeoversMax` the run is ended here.
 */
async function goOn(
  world: World,
  found: {
    readonly invocation: Invocation;
    readonly row: Row;
    readonly isMine: boolean;
    readonly cause: string | null;
  },
): Promise<void> {
  const { row, cause } = found;
  const state = found.isMine ? await stateOf(world, row) : null;
  const trouble = state === null ? null : beyondHelp(row, { state, world, cause });
  if (trouble !== null && (await end(world, { ...found, trouble }))) return;
  await startExecution(world, row);
}

/** The cursor of this mutex lease names the deployment. */
const DEPLOYMENT = "deployment";
/** A sweep of all live runs begins this long after the last one: once an hour, where a sweep begins each five minutes. */
const ALL_MS = 50 * 60_000;

/** Whether a sweep has judged every live run within the hour. */
const sweptAll = async (world: World): Promise<boolean> =>
  world.clock.now() - Number((await world.leases.cursorOf(LAST_SWEEP_OF_ALL)) ?? -ALL_MS) < ALL_MS;
