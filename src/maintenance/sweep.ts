/**
 * The sweeper: every run that nobody drives gets a next step, and one that is beyond help gets an end. It is the backstop
 * of whatever died between two writes, so each of its steps can be repeated (schedule 20), and Rescue is the same for one
 * run. One at a time (schedule 46): two would fence each other's end of a run.
 */
import { Unreadable } from "../codec/canonical.ts";
import { newerBy } from "../codec/row.ts";
import { sentenceOf } from "../codec/value.ts";
import type { Failure } from "../core/event.ts";
import { TIMES } from "../protocol/limits.ts";
import { type Trouble, decideRecovery, tooManyDeaths } from "../core/policy/recovery.ts";
import { undoOwed } from "../core/calls/saga.ts";
import type { State } from "../core/state.ts";
import type { Payload, Task, TaskResult } from "../protocol/chain.ts";
import { FORMAT, type Row, hasEnded } from "../protocol/row.ts";
import type { Invocation } from "../ports/tasks.ts";
import { StoreUnreachable, type World } from "../ports/world.ts";
import type { TurnOutcome } from "../protocol/mutex-lease.ts";
import { ActiveRun } from "../engine/context/active-run.ts";
import { Fenced } from "../engine/context/fenced.ts";
import { recordRedrive } from "../engine/context/record-redrive.ts";
import { alarm } from "../history/alarm.ts";
import { certainly, patient } from "../history/resolve-ambiguous-write.ts";
import { commitDecided, tellEnd } from "../engine/loop/terminal-commit.ts";
import { handOver, moveOn, startExecution } from "../engine/loop/executions.ts";
import { NO_WAITS, noteSwept, withRun } from "../engine/context/telemetry-events.ts";
import { CommitCache } from "../history/commits.ts";
import { SegmentCache } from "../history/load.ts";
import { loadVouched } from "../history/vouch.ts";
import { inTurn } from "./mutex-lease.ts";

const SWEEP_PAGE = 100;
/** Runs in a row for which a store did not answer, before the sweep takes it to be away for all of them. */
const UNANSWERED_MAX = 5;

export interface SweepOptions {
  /** Names the code that is deployed; runs that back off are tried at once under another one. Null: it is not known. */
  readonly deployment?: string | null;
}

/**
 * Schedule 79: one run whose execution cannot be described, or whose row cannot be decoded, is told as an alarm and passed
 * over; the next sweep meets it again. If a store is away for all runs, each would wait for it: then the sweep ends.
 */
export async function sweep(world: World, invocation: Invocation, options: SweepOptions = {}): Promise<TaskResult> {
  let judged: number | null = null;
  const { deployment = null } = options;
  const isNew = deployment !== null && (await world.table.cursorOf(DEPLOYMENT)) !== deployment;
  let [isWhole, isOver] = [false, false];
  let unanswered = 0;
  let waits = NO_WAITS;
  await inTurn(world, invocation, {
    name: "sweep",
    next: async (after, { hasTime, reached }) => {
      judged ??= 0;
      isWhole ||= after === null;
      const page = await world.table.alive({ limit: SWEEP_PAGE, after, now: world.clock.now() });
      for (const { run, why } of page.damaged)
        alarm(world, run, { what: "Unreadable", why: `its row is damaged: ${why}` });
      let behind = after;
      for (const [index, row] of page.rows.entries()) {
        if (index > 0 && !hasTime()) return behind;
        behind = page.behind[index] ?? null;
        waits = withRun(waits, row, world.clock.now());
        reached(behind);
        const lost = await guarded(world, row, () => sweepOne(world, { invocation, row, isNew }));
        unanswered = lost === null ? 0 : unanswered + 1;
        if (lost !== null && unanswered >= UNANSWERED_MAX) throw lost;
        judged += 1;
      }
      isOver = page.next === null;
      return page.next;
    },
  });
  // Only after every run was looked at in one go: what a sweep of the code before has passed over is looked at again.
  if (isNew && isWhole && isOver) await remember(world, invocation, deployment);
  if (judged !== null) noteSwept(world, { runs: judged, ...waits });
  tellDoubt(world);
  return { kind: "sweep" };
}

/** Schedule 104: what has expired by this clock alone waits, and an operator should know why. After the answers of the sweep. */
function tellDoubt(world: World): void {
  const aheadMs = world.clock.now() - world.clock.earliest();
  if (aheadMs === 0) return;
  const why = `two clocks differ by ${Math.round(aheadMs / 1_000)} s: until they agree, what has expired by only one of them stays`;
  alarm(world, "", { what: "ClockDoubted", why });
}

/** One run that cannot be judged must not keep the sweep from all that follow it. The store that did not answer, or null. */
async function guarded(world: World, row: Row, judge: () => Promise<void>): Promise<StoreUnreachable | null> {
  try {
    await judge();
    return null;
  } catch (error) {
    alarm(world, row.run, { what: "SweepFailed", why: sentenceOf(error) });
    return error instanceof StoreUnreachable ? error : null;
  }
}

const DEPLOYMENT = "deployment";

async function remember(world: World, invocation: Invocation, deployment: string): Promise<void> {
  const { clock, random } = world;
  const now = clock.now();
  const turn = { name: DEPLOYMENT, owner: random.hex().slice(0, 16), until: now, cursor: deployment, now };
  await certainly<TurnOutcome>(
    () => world.table.takeTurn(turn),
    () => null,
    patient({ clock, random, until: invocation.deadline - world.limits.drainMs }),
  );
}

async function sweepOne(
  world: World,
  { invocation, row, isNew }: { readonly invocation: Invocation; readonly row: Row; readonly isNew: boolean },
): Promise<void> {
  if (row.format !== FORMAT) return alarm(world, row.run, { what: "Unreadable", why: `it has format ${row.format}` });
  if (hasEnded(row)) return tellEnd(world, row);
  // Its execution goes on trying, so the run goes on as soon as a newer process takes a beat.
  if (newerBy(row.run, row) !== null) return void (await startExecution(world, row));
  if (await sleepsWell(world, row)) {
    // A start may have died between the row and its execution, and can be repeated at any time.
    if (row.status === "queued") await startExecution(world, row);
    return;
  }
  const state = await stateOf(world, row);
  if (state === null) return;
  const { run, born, chain, epoch } = row;
  if (beyondHelp(row, { state, now: world.clock.earliest() }) === null) {
    const execution = await startExecution(world, row);
    // Schedule 94: its execution pauses between attempts that fail, and a pause cannot be woken. A message, a cancel or
    // another deployment is worth an attempt at once; the old execution is refused when its pause is over.
    // Only if no process has claimed the run since it was read: a claim may have led to a park, which nothing would wake.
    if (execution === "going" && (isNew || row.stirs !== row.stirsSeen))
      await moveOn(world, { run, born, chain, epoch });
    return;
  }
  const outcome = await handOver(world, { run, born, chain });
  if (outcome.kind !== "handed") return;
  const trouble = beyondHelp(outcome.row, { state, now: world.clock.earliest() });
  // Otherwise the next sweep finds it so: somebody spoke meanwhile, or whoever was overtaken may still act.
  if (trouble !== null) await end(world, { invocation, row: outcome.row, trouble });
}

/** Somebody holds it, or it waits for what can still wake it, or it moved not long ago. */
async function sleepsWell(world: World, row: Row): Promise<boolean> {
  const now = world.clock.now();
  if (row.owner !== null) return now < (row.leaseUntil ?? 0);
  const isStirred = row.stirs !== row.stirsSeen;
  if (row.park !== null) {
    const isOver = row.wakeAt !== null && row.wakeAt <= now;
    if (!isStirred && !isOver) return true;
    // A token that nothing waits on any more belongs to an execution that may be gone.
    if ((await world.chain.wake(row.park.token)).kind === "woken") return true;
  }
  // Without a token nothing sleeps longer than a wait: whoever was to park it may have died before it could.
  const waitsUntil = isStirred ? 0 : Math.min(row.wakeAt ?? 0, row.lastCheckpointAt + TIMES.waitSecondsMax * 1_000);
  return now < Math.max(row.lastCheckpointAt, waitsUntil) + world.limits.overdueMs;
}

/** What cannot be read is left alone, with its alarm, until it can be read again. */
async function readable<T>(world: World, { run }: Pick<Row, "run">, read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    alarm(world, run, { what: "Unreadable", why: `${error.code}: ${error.message}` });
    return null;
  }
}

const stateOf = (world: World, row: Row): Promise<State | null> =>
  readable(world, row, async () => (await loadVouched(world, row, new SegmentCache())).state);

/** Why no beat will bring it to an end: its processes die over and over, or nothing was committed for too long. */
function beyondHelp(
  row: Row,
  of: { readonly state: State; readonly now: number; readonly cause?: string | null },
): Trouble | null {
  const { deaths, deadline } = row;
  const { cause = null } = of;
  const { takeoversMax } = of.state;
  if (deaths > takeoversMax) return tooManyDeaths("Abandoned", { deaths, max: takeoversMax, cause });
  if (of.now < deadline) return null;
  const failure: Failure = { code: "Expired", message: "nothing was committed for as long as a run may wait" };
  return { kind: "deadline", failure };
}

/**
 * Ends a run under the epoch that its hand-over gave. False if it is not to end yet: somebody who was overtaken may still
 * act, or spoke just now. Quiet is judged on the row that the hand-over returned, since a zombie may have claimed after
 * any earlier read (schedule 36).
 */
async function end(
  world: World,
  of: { readonly invocation: Invocation; readonly row: Row; readonly trouble: Trouble },
): Promise<boolean> {
  const { invocation, row, trouble } = of;
  if (world.clock.now() < row.quietUntil) return false;
  const segments = new SegmentCache();
  const loaded = await readable(world, row, () => loadVouched(world, row, segments));
  if (loaded === null) return false;
  const run = new ActiveRun({ world, invocation, loaded, segments, commits: new CommitCache() });
  recordRedrive(run);
  if (run.state.ending === null || undoOwed(run.state) !== null)
    run.record(decideRecovery(run.state, trouble, run.now));
  try {
    while (run.state.ending !== null) {
      await commitDecided(run, run.state.ending);
      // Somebody spoke before the end was committed: it has not waited for too long any more.
      if (trouble.kind === "deadline" && run.state.ending !== null && world.clock.earliest() < run.row.deadline)
        return false;
    }
  } catch (error) {
    if (!(error instanceof Fenced)) throw error;
    return true;
  }
  await tellEnd(world, run.row);
  return true;
}

/**
 * Schedule 24: five attempts of a beat died. Its successor begins with a fresh epoch; a beat that enters again with
 * the stale one would be refused by its own dead attempt.
 */
export async function rescue(
  world: World,
  { payload, dead = null, cause }: Omit<Extract<Task, { readonly kind: "rescue" }>, "kind">,
  invocation: Invocation,
): Promise<TaskResult> {
  const { run, born, chain } = payload;
  // Of a row that cannot be read nobody can tell; the sweeper finds the run once it is mended.
  if ((await readable(world, payload, () => wakesParked(world, payload))) ?? true)
    return { kind: "rescue", until: null };
  const outcome = await handOver(world, { run, born, chain, dead });
  if (outcome.kind === "held") return { kind: "rescue", until: outcome.until };
  if (outcome.kind === "handed" || outcome.kind === "lost") {
    const { row } = outcome;
    if (hasEnded(row)) await tellEnd(world, row);
    // Schedule 39: a hand-over whose answer was lost shows the successor, which may never have been started.
    else if (row.chain > chain)
      await goOn(world, { invocation, row, isMine: outcome.kind === "handed", cause: cause ?? null });
  }
  return { kind: "rescue", until: null };
}

/**
 * A renewal whose every answer was lost is rescued although its successor is at work, or parked. One that is parked goes on
 * by itself once it is woken; handed over, it would wait beside its run until its park is over.
 */
async function wakesParked(world: World, { run, born, chain }: Payload): Promise<boolean> {
  const row = await world.table.read(run, world.clock.now());
  if (row === null || row.born !== born || row.chain !== chain || row.park === null || hasEnded(row)) return false;
  return (await world.chain.wake(row.park.token)).kind === "woken";
}

/** Schedule 25: beats that die before they claim would be rescued for ever; past the bound the run is ended here. */
async function goOn(
  world: World,
  of: {
    readonly invocation: Invocation;
    readonly row: Row;
    readonly isMine: boolean;
    readonly cause: string | null;
  },
): Promise<void> {
  const { row, cause } = of;
  const state = of.isMine ? await stateOf(world, row) : null;
  const trouble = state === null ? null : beyondHelp(row, { state, now: world.clock.earliest(), cause });
  if (trouble !== null && (await end(world, { ...of, trouble }))) return;
  await startExecution(world, row);
}
