/**
 * Decides a firing of a schedule, in every world. Each scheduled time starts at most one run, however often the firing
 * is delivered. Unless the agent allows overlap, a firing starts no run while the schedule's previous run is alive.
 *
 * The decision is made under a mutex lease of the schedule, whose cursor stores the newest decision
 * (`protocol/firing.ts`). The decision to start is written before the run is created, and confirmed afterwards; the
 * idempotency key of the run is the schedule and the time. `test/slow/crash/firing.test.ts` kills the process before
 * and after each call and plays these schedules:
 *
 * - The process dies between decision and run. The same firing, delivered again, starts the run; so does the next firing
 *   before its own decision. No firing is lost, and the next one finds the run alive, so the two do not overlap.
 * - The process dies between run and confirmation. The same happens, and the key finds the existing run.
 * - The process dies while it decides. Its mutex lease expires with its deadline. Until then other firings get `held`.
 * - A frozen process thaws after its lease expired and another process decided a newer firing. Its decision is refused,
 *   because the lease changed hands. A run that it starts by an older decision exists already, under the same key.
 * - A firing is delivered late, after a newer one: it starts nothing. If runs may overlap, it is started as long as a run
 *   that it may have created before would still be found.
 * - The last run is purged or expired: it counts as not alive. Its tombstone shows that its firing is done.
 * - An operator paused the schedule: each firing is decided as passed, so it is not made up for after the pause. A firing
 *   that read the pause before it was written may still start its run.
 * - The store was restored from a backup, and the firing was due before that: its run may have existed. It is created
 *   paused, and waits for an operator's word (schedule 220).
 * - A decision is still unconfirmed after more than a day, and there is neither a run nor a tombstone. The run may have
 *   ended and been forgotten, or may never have existed. It is not started, as that could be twice; an alarm says so.
 */
import type { Agent, Schedule } from "../../ports/agent.ts";
import type { RunLabels } from "../../core/ids.ts";
import type { Json } from "../../core/json.ts";
import { RowUnreadable } from "../../codec/row.ts";
import type { RunFiring } from "../../core/run-firing.ts";
import { runId } from "../../protocol/ids.ts";
import { CERTAIN_MS, type FiringOutcome, type LastFiring, decideFiring, isMadeUp } from "../../protocol/firing.ts";
import type { MutexLease, MutexLeaseOutcome } from "../../protocol/mutex-lease.ts";
import type { TaskResult } from "../../protocol/chain.ts";
import type { Invocation } from "../../ports/tasks.ts";
import type { World } from "../../ports/world.ts";
import { alarm } from "../../history/alarm.ts";
import { resolveAmbiguousWrite } from "../../history/resolve-ambiguous-write.ts";
import { findRow } from "../../history/damage.ts";
import { aliveRun, firingKey, lastFiringIn, pausedIn, scheduleName } from "./schedule-memory.ts";

/** A run that a firing starts. */
interface FiredRun {
  readonly agent: Agent;
  readonly tenant: string;
  readonly input: Json;
  readonly idempotencyKey: string;
  readonly by: string;
  readonly isScheduled: true;
  readonly due: number;
  readonly firing: RunFiring;
  readonly labels: RunLabels | undefined;
}

type FiredStart =
  | { readonly kind: "started" | "exists" | "conflict" | "ended" | "limitReached" | "budgetMissing" }
  | { readonly kind: "invalid"; readonly why: string };

export interface FiringOf {
  readonly agent: Agent;
  /** The tenant of the new run. */
  readonly tenant: string;
  /** The scheduled time, epoch milliseconds. */
  readonly at: number;
  /** False: it is not known whether the schedule existed at that time. */
  readonly watched: boolean;
  /** The operation that starts a run. Operations stand above the features, so a firing is given it. */
  readonly startRun: (world: World, run: FiredRun) => Promise<FiredStart>;
}

type FiringResult = Extract<TaskResult, { readonly kind: "firing" }>;

/**
 * Decides one firing and starts its run if it is due.
 *
 * @throws Error if the agent has no schedule, or if its task schema rejects the schedule's input
 */
export async function fire(world: World, invocation: Invocation, firing: FiringOf): Promise<FiringResult> {
  const schedule = scheduleOf(firing.agent);
  const memory = memoryOf(world, { invocation, name: scheduleName(firing) });
  const taken = await memory.take();
  if (taken.kind === "held") return { kind: "firing", outcome: taken };
  try {
    const outcome = await decide(world, { ...firing, schedule, memory, before: lastFiringIn(taken.cursor) });
    return { kind: "firing", outcome };
  } finally {
    // Release the lease, so that the next firing need not wait for its expiry. If the release fails, it expires.
    await memory.giveUp().catch(() => undefined);
  }
}

/**
 * `fire` for a trigger that retries failures only after a delay. It waits for the mutex lease that another firing
 * holds, until shortly before the deadline of the invocation.
 *
 * @throws Error if the lease is still held then
 */
export async function fireInTime(world: World, invocation: Invocation, firing: FiringOf): Promise<FiringResult> {
  const { clock, limits } = world;
  for (;;) {
    const result = await fire(world, invocation, firing);
    if (result.outcome.kind !== "held") return result;
    const leftMs = invocation.deadline - 2 * limits.drainMs - clock.now();
    if (leftMs <= 0 || invocation.drain.aborted) {
      throw new Error(`another firing of ${firing.agent.name} is being decided; this one has to be delivered again`);
    }
    await new Promise<void>((resolve) => void clock.after(Math.min(leftMs, HELD_LOOK_MS), resolve));
  }
}

const HELD_LOOK_MS = 500;

/**
 * Parses the time that EventBridge Scheduler substitutes for `<aws.scheduler.scheduled-time>`, to epoch milliseconds.
 *
 * @throws Error if the text is not a time in UTC
 */
export function scheduledTime(text: unknown): number {
  const at = typeof text === "string" && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at))
    throw new Error(`scheduledTime is ${JSON.stringify(text)}, not a time such as 2027-01-31T08:00:00Z`);
  return at;
}

function scheduleOf(agent: Agent): Schedule {
  if (!agent.schedule) throw new Error(`agent ${agent.name} has no schedule`);
  return agent.schedule;
}

interface Deciding extends FiringOf {
  readonly schedule: Schedule;
  readonly memory: Memory;
  readonly before: LastFiring | null;
}

async function decide(world: World, deciding: Deciding): Promise<FiringOutcome> {
  const { at, watched, schedule, memory, before } = deciding;
  const { every, timezone, overlap, missed } = schedule;
  const last = before?.stage === "starting" ? await finished(world, deciding, before) : before;
  const decidedAt = world.clock.now();
  const firing = { at, now: decidedAt, of: `${every} ${timezone}`, watched, overlap, missed };
  const verdict = decideFiring(last, firing);
  const kept = last?.firing === undefined ? {} : { firing: last.firing };
  const decision = { at, decidedAt, run: last?.run ?? null, of: firing.of, ...kept };
  const own = { schedule: deciding.agent.name, dueAt: at, previousDueAt: null, makesUp: isMadeUp(firing) };
  switch (verdict.kind) {
    case "exists":
    case "late":
      return verdict;
    case "missed":
    case "unseen":
      if (last === null || last.at < at) await memory.write({ ...decision, stage: "passed" });
      return verdict;
    case "aside":
    case "due":
      break;
  }
  const paused = await pausedIn(world, deciding);
  if (paused !== null) {
    if (verdict.kind === "due") await memory.write({ ...decision, stage: "passed" });
    return { kind: "paused", by: paused.by };
  }
  if (verdict.kind === "aside") return start(world, deciding, own);
  const alive = overlap === "skip" ? await aliveRun(world, last) : null;
  if (alive !== null) {
    await memory.write({ ...decision, stage: "passed" });
    tellSkipped(world, deciding, alive);
    return { kind: "skipped", run: alive };
  }
  // The run gets the same when another process starts it, after this one has died.
  const known = { ...own, previousDueAt: last?.firing?.dueAt ?? null };
  const intent = { ...decision, run: runOf(world, deciding, at), firing: known };
  await memory.write({ ...intent, stage: "starting" });
  const outcome = await start(world, deciding, known);
  await memory.write({ ...intent, stage: "started" });
  return outcome;
}

/**
 * Completes a decision that a dead process left unconfirmed, before the next decision. Otherwise a crash could lose a
 * run, or let the next run overlap it.
 */
async function finished(world: World, deciding: Deciding, last: LastFiring): Promise<LastFiring> {
  const isCertain = world.clock.now() - last.decidedAt < CERTAIN_MS;
  const unknown = { schedule: deciding.agent.name, dueAt: last.at, previousDueAt: null, makesUp: false };
  let known = last;
  if (isCertain) await start(world, deciding, last.firing ?? unknown);
  else if (!(await wasStarted(world, last.run ?? ""))) {
    // The next run would take it for the run before, and leave out what that one may not have done.
    const { firing: _, ...uncertain } = last;
    known = uncertain;
    const why = `it is no longer known whether the firing of ${firingKey(deciding.agent.name, last.at)} started this run`;
    alarm(world, last.run ?? "", { what: "FiringUncertain", why });
  }
  const confirmed = { ...known, stage: "started" } as const;
  await deciding.memory.write(confirmed);
  return confirmed;
}

/** Whether the run exists, also with a damaged row, or has existed and its key is still kept. */
async function wasStarted(world: World, run: string): Promise<boolean> {
  const now = world.clock.earliest();
  return (await findRow(world, run, now)) !== null || (await world.table.readKey(run, now)) !== null;
}

async function start(world: World, deciding: Deciding, firing: RunFiring): Promise<FiringOutcome> {
  const { agent, tenant, schedule, startRun } = deciding;
  const at = firing.dueAt;
  const idempotencyKey = firingKey(agent.name, at);
  const asked: FiredRun = {
    agent,
    tenant,
    input: schedule.input,
    idempotencyKey,
    by: `schedule:${agent.name}`,
    isScheduled: true,
    due: at,
    firing,
    labels: schedule.labels,
  };
  const started = await startRun(world, asked).catch(asDamaged);
  // The row exists, so the run was started; the next firing must not wait until an operator repairs the row.
  if (started instanceof RowUnreadable) return { kind: "exists", run: started.run };
  if (started.kind === "invalid") throw new Error(`the schedule of ${agent.name}: input: ${started.why}`);
  // A run with another input under this key was started by another version of the agent: the firing is done.
  return { kind: started.kind === "started" ? "started" : "exists", run: runOf(world, deciding, at) };
}

function asDamaged(error: unknown): RowUnreadable {
  if (error instanceof RowUnreadable) return error;
  throw error;
}

const runOf = (world: World, { agent, tenant }: FiringOf, at: number): string =>
  runId(world.hash, { tenant, agent: agent.name, idempotencyKey: firingKey(agent.name, at) });

function tellSkipped(world: World, { agent, at }: FiringOf, run: string): void {
  const detail = { agent: agent.name, at, why: "the previous run of this schedule has not ended" };
  world.telemetry.record({ at: world.clock.now(), run, level: "trace", what: "FiringSkipped", detail });
}

interface Memory {
  /** Takes the mutex lease; its cursor holds the newest decision. */
  readonly take: () => Promise<MutexLeaseOutcome>;
  /** Stores a decision. Throws if another process has taken the lease since: the decision is then void. */
  readonly write: (last: LastFiring) => Promise<void>;
  readonly giveUp: () => Promise<void>;
}

function memoryOf(
  world: World,
  { invocation, name }: { readonly invocation: Invocation; readonly name: string },
): Memory {
  const { clock, limits, random } = world;
  const owner = random.hex().slice(0, 16);
  const lapsesAt = invocation.deadline + limits.skewMs;
  const ask = (turn: Pick<MutexLease, "until" | "cursor" | "again">): Promise<MutexLeaseOutcome> =>
    resolveAmbiguousWrite<MutexLeaseOutcome>(
      () => world.leases.take({ name, owner, now: clock.now(), ...turn }),
      () => null,
    );
  return {
    take: () => ask({ until: lapsesAt }),
    write: async (last) => {
      const { kind } = await ask({ until: lapsesAt, cursor: JSON.stringify(last), again: true });
      if (kind === "held") throw new Error("another firing was decided meanwhile; this one has to be delivered again");
    },
    giveUp: async () => void (await ask({ until: clock.now(), again: true })),
  };
}
