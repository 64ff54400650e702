/**
 * A firing of a schedule, in every world: at most one run for each scheduled time, however often that is delivered, and
 * none over a run that the schedule started before and that is alive, unless the agent allows it.
 *
 * It is decided in a turn of the schedule, whose cursor remembers the newest decision (`protocol/firing.ts`). The decision
 * to start is written before the run, as an intent is, and confirmed after it; the run's key is the schedule and the time.
 * `test/slow/crash/firing.test.ts` plays a death before and after each call, and these schedules:
 *
 * - Death between decision and run: the same firing, delivered again, starts the run. So does the next firing before it is
 *   decided itself; nothing is lost, and it finds the run alive, so the two do not overlap.
 * - Death between run and confirmation: the same, and the key finds the run that is there.
 * - Death while it is decided: the turn lapses with the deadline of who held it. Firings until then are told `held`.
 * - A frozen process thaws after its turn lapsed and somebody decided a newer firing. Its decision is refused, since the
 *   turn was another's meanwhile; a run that it starts by an older decision is there already, under the same key.
 * - A firing is delivered late, after a newer one: it starts nothing. Where runs may overlap it is started for as long as a
 *   run that it made before would still be found.
 * - The last run is purged, or its time is over: it is not alive. Its tombstone says that its firing was done.
 * - A decision is found unconfirmed after more than a day, there is no run, and no tombstone keeps its key: the run may
 *   have ended and been forgotten, or never have been. It is not started, for that might be twice, and an alarm says so.
 */
import * as z from "zod";
import type { Agent, Schedule } from "../ports/agent.ts";
import { RowNewer, RowUnreadable } from "../codec/row.ts";
import { runId } from "../protocol/ids.ts";
import { CERTAIN_MS, type FiringOutcome, type LastFiring, judged } from "../protocol/firing.ts";
import { hasEnded } from "../protocol/row.ts";
import type { Turn, TurnOutcome } from "../protocol/mutex-lease.ts";
import type { TaskResult } from "../protocol/chain.ts";
import type { Invocation } from "../ports/tasks.ts";
import type { World } from "../ports/world.ts";
import { alarm } from "../history/alarm.ts";
import { certainly } from "../history/resolve-ambiguous-write.ts";
import { findRow } from "../history/damage.ts";
import { startRun } from "../operations/start.ts";

export interface FiringOf {
  readonly agent: Agent;
  /** Whose run it becomes. */
  readonly tenant: string;
  /** The time that it is scheduled for, epoch milliseconds. */
  readonly at: number;
  /** False: nobody knows whether the schedule was there at that time. */
  readonly watched: boolean;
}

type FiringResult = Extract<TaskResult, { readonly kind: "firing" }>;

/** @throws Error for an agent without a schedule, and for one that does not take its own input any more */
export async function fire(world: World, invocation: Invocation, firing: FiringOf): Promise<FiringResult> {
  const schedule = scheduleOf(firing.agent);
  const memory = memoryOf(world, { invocation, name: turnName(firing) });
  const taken = await memory.take();
  if (taken.kind === "held") return { kind: "firing", outcome: taken };
  try {
    const outcome = await decide(world, { ...firing, schedule, memory, before: lastFiringIn(taken.cursor) });
    return { kind: "firing", outcome };
  } finally {
    // Whoever fires again must not have to wait for the turn to lapse; if even this fails, it does.
    await memory.giveUp().catch(() => undefined);
  }
}

/**
 * For a trigger that repeats what fails, and not at once: waits for a turn that another firing has, as long as there is
 * time.
 *
 * @throws Error where that is not long enough
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

function scheduleOf(agent: Agent): Schedule {
  if (!agent.schedule) throw new Error(`agent ${agent.name} has no schedule`);
  return agent.schedule;
}

interface Deciding extends FiringOf {
  readonly schedule: Schedule;
  readonly memory: Memory;
  readonly before: LastFiring | null;
}

async function decide(world: World, of: Deciding): Promise<FiringOutcome> {
  const { at, watched, schedule, memory, before } = of;
  const { every, timezone, overlap, missed } = schedule;
  const last = before?.stage === "starting" ? await finished(world, of, before) : before;
  const decidedAt = world.clock.now();
  const firing = { at, now: decidedAt, of: `${every} ${timezone}`, watched, overlap, missed };
  const verdict = judged(last, firing);
  const decision = { at, decidedAt, run: last?.run ?? null, of: firing.of };
  switch (verdict.kind) {
    case "exists":
    case "late":
      return verdict;
    case "missed":
    case "unseen":
      if (last === null || last.at < at) await memory.write({ ...decision, stage: "passed" });
      return verdict;
    case "aside":
      return start(world, of, at);
    case "due":
      break;
  }
  const alive = overlap === "skip" ? await aliveRun(world, last) : null;
  if (alive !== null) {
    await memory.write({ ...decision, stage: "passed" });
    tellSkipped(world, of, alive);
    return { kind: "skipped", run: alive };
  }
  const intent = { ...decision, run: runOf(world, of, at) };
  await memory.write({ ...intent, stage: "starting" });
  const outcome = await start(world, of, at);
  await memory.write({ ...intent, stage: "started" });
  return outcome;
}

/** What somebody decided and did not confirm is done first, or a death could lose a run, or let the next one overlap it. */
async function finished(world: World, of: Deciding, last: LastFiring): Promise<LastFiring> {
  const isCertain = world.clock.now() - last.decidedAt < CERTAIN_MS;
  if (isCertain) await start(world, of, last.at);
  else if (!(await wasStarted(world, last.run ?? ""))) {
    const why = `it cannot be known any more whether the firing of ${firingKey(of.agent.name, last.at)} started it`;
    alarm(world, last.run ?? "", { what: "FiringUncertain", why });
  }
  const confirmed = { ...last, stage: "started" } as const;
  await of.memory.write(confirmed);
  return confirmed;
}

/** There is such a run, or there was one whose key is still kept. */
/** A row that is damaged was started, too. */
async function wasStarted(world: World, run: string): Promise<boolean> {
  const now = world.clock.earliest();
  return (await findRow(world, run, now)) !== null || (await world.table.readKey(run, now)) !== null;
}

async function start(world: World, of: Deciding, at: number): Promise<FiringOutcome> {
  const { agent, tenant, schedule } = of;
  const idempotencyKey = firingKey(agent.name, at);
  const asked = { agent, tenant, input: schedule.input, idempotencyKey, by: `schedule:${agent.name}` };
  const started = await startRun(world, asked).catch(asDamaged);
  // It was started, or there would be no row to be damaged; the next firing must not wait until somebody mends it.
  if (started instanceof RowUnreadable) return { kind: "exists", run: started.run };
  if (started.kind === "invalid") throw new Error(`the schedule of ${agent.name}: input: ${started.why}`);
  // Under this key another input is that of another version of the agent, which was there first.
  return { kind: started.kind === "started" ? "started" : "exists", run: runOf(world, of, at) };
}

function asDamaged(error: unknown): RowUnreadable {
  if (error instanceof RowUnreadable) return error;
  throw error;
}

const runOf = (world: World, { agent, tenant }: FiringOf, at: number): string =>
  runId(world.hash, { tenant, agent: agent.name, idempotencyKey: firingKey(agent.name, at) });

async function aliveRun(world: World, last: LastFiring | null): Promise<string | null> {
  if (last === null || last.run === null) return null;
  const row = await findRow(world, last.run, world.clock.now());
  // A newer version of cairn goes on with it.
  if (row instanceof RowNewer) return last.run;
  // No invocation can go on with a run whose row is damaged: it must not keep its schedule waiting for ever.
  return row === null || row instanceof RowUnreadable || hasEnded(row) ? null : last.run;
}

function tellSkipped(world: World, { agent, at }: FiringOf, run: string): void {
  const detail = { agent: agent.name, at, why: "the run that the schedule started last has not ended" };
  world.telemetry.record({ at: world.clock.now(), run, level: "trace", what: "FiringSkipped", detail });
}

/** The newest firing that was decided, or null. */
export const lastFired = async (world: World, of: Pick<FiringOf, "agent" | "tenant">): Promise<LastFiring | null> =>
  lastFiringIn(await world.table.cursorOf(turnName(of)));

const turnName = ({ tenant, agent }: Pick<FiringOf, "agent" | "tenant">): string => `schedule ${tenant} ${agent.name}`;

interface Memory {
  /** The turn, with what is remembered. */
  readonly take: () => Promise<TurnOutcome>;
  /** Throws where somebody else had the turn meanwhile: whatever was decided is not. */
  readonly write: (last: LastFiring) => Promise<void>;
  readonly giveUp: () => Promise<void>;
}

function memoryOf(world: World, of: { readonly invocation: Invocation; readonly name: string }): Memory {
  const { clock, limits, random } = world;
  const owner = random.hex().slice(0, 16);
  const lapsesAt = of.invocation.deadline + limits.skewMs;
  const ask = (turn: Pick<Turn, "until" | "cursor" | "again">): Promise<TurnOutcome> =>
    certainly<TurnOutcome>(
      () => world.table.takeTurn({ name: of.name, owner, now: clock.now(), ...turn }),
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

const lastFiring: z.ZodType<LastFiring> = z.object({
  at: z.number(),
  decidedAt: z.number(),
  run: z.string().nullable(),
  stage: z.enum(["starting", "started", "passed"]),
  of: z.string(),
});

function lastFiringIn(cursor: string | null): LastFiring | null {
  return cursor === null ? null : lastFiring.parse(JSON.parse(cursor));
}

/** The idempotency key of a firing: however often it is delivered, it is one run. `at` in epoch milliseconds. */
export const firingKey = (agent: string, at: number): string => `schedule ${agent} ${new Date(at).toISOString()}`;
