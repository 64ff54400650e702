/**
 * A world in memory whose executions are driven like by a supervisor, in virtual time: each ready entry goes to a
 * process, one after another, and time passes only when none is ready.
 */
import { virtualClock } from "../../../src/adapters/memory/clock.ts";
import { withKernel } from "../../../src/features/compose.ts";
import { memoryWorld } from "../../../src/adapters/memory/world.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import { executionName } from "../../../src/protocol/ids.ts";
import { TIMES, type Limits, limitsFor } from "../../../src/protocol/limits.ts";
import type { Incarnation, Row } from "../../../src/protocol/row.ts";
import type { Invocation } from "../../../src/ports/tasks.ts";
import type { TelemetryRecord, World } from "../../../src/ports/world.ts";
import { runTask } from "../../../src/maintenance/chain-tasks.ts";
import { AT } from "../states/states-and-events.ts";
import { runnerOf } from "./drive.ts";
import { BEAT_MS, SETTLE_MS, SKEW_MS, type Harness, harnessOf, scriptedAgent } from "./harness.ts";
import { rewriteRow } from "../runs/rewrite-row.ts";

/** A harness whose tokens wake their executions and whose alarms are recorded. */
export interface SupervisedHarness extends Harness {
  readonly alarms: readonly TelemetryRecord[];
}

export const OVERDUE_MS = 20_000;
/** A little longer than a run may wait without a token. */
export const UNPARKED_MS = TIMES.waitSecondsMax * 1_000 + OVERDUE_MS;

export function createSupervisedHarness(change: Partial<Limits> = {}): SupervisedHarness {
  const clock = virtualClock(AT);
  const limits = limitsFor(BEAT_MS, { settleMs: SETTLE_MS, skewMs: SKEW_MS, overdueMs: OVERDUE_MS, ...change });
  const alarms: TelemetryRecord[] = [];
  const record = (each: TelemetryRecord): void => {
    if (each.level === "alarm") alarms.push(each);
  };
  const world = withKernel(memoryWorld({ clock, limits, telemetry: { record } }));
  return { ...harnessOf({ world, clock, wakes: [] }), alarms };
}

/** An invocation that starts now. */
export const invocation = ({ clock }: Harness): Invocation => ({
  deadline: clock.now() + BEAT_MS,
  drain: new AbortController().signal,
});

/** One sweep by a process with this world. */
export const sweep = (harness: Harness, world: World = harness.world): Promise<unknown> =>
  harness.advanceUntilSettled(runTask(runnerOf(world, scriptedAgent({})))({ kind: "sweep" }, invocation(harness)));

/** Lets time pass until the run is overdue. */
export const passTime = (harness: Harness, ms = OVERDUE_MS): void => harness.clock.moveTo(harness.clock.now() + ms);

export const executionNameOf = ({ run, born, chain }: Pick<Row, "run" | "born" | "chain">): string =>
  executionName(run, born, chain);

/** Ends that execution, whatever its run waits for. */
export function endExecution({ world: { chain } }: Harness, of: Pick<Row, "run" | "born" | "chain">): void {
  const name = executionNameOf(of);
  const { attempt } = chain.begin(name);
  const payload = { run: of.run, born: of.born, chain: of.chain, epoch: 0, agent: "" };
  const reply = { ...payload, route: "superseded", seconds: 1 } as const;
  chain.end(name, attempt, { kind: "beat", reply });
}

const STEPS_MAX = 400;

/** Drives until the row satisfies the condition. */
export async function driveUntil(
  harness: Harness,
  of: { readonly agent: Agent; readonly run: string; readonly until: (row: Row) => boolean; readonly world?: World },
): Promise<Row> {
  const { world, clock } = harness;
  const perform = runTask(runnerOf(of.world ?? world, of.agent));
  for (let step = 0; step < STEPS_MAX; step += 1) {
    const row = world.store.rows.get(of.run) as Row;
    if (of.until(row)) return row;
    const [name] = world.chain.ready(clock.now());
    if (name === undefined) {
      const next = world.chain.next();
      if (next === null) throw new Error(`no execution drives ${of.run}, which is ${row.status} in ${row.phase}`);
      clock.moveTo(Math.max(clock.now(), next));
      continue;
    }
    const { task, attempt } = world.chain.begin(name);
    const answer = await harness.advanceUntilSettled(perform(task, invocation(harness)));
    world.chain.end(name, attempt, answer.kind === "exit" ? { kind: "beat", reply: answer.reply } : answer);
  }
  throw new Error(`${of.run} is not there after ${STEPS_MAX} steps`);
}

export const isEndNotified = ({ endNotified }: Row): boolean => endNotified;

export const changeRow = ({ world }: Harness, { run }: Pick<Incarnation, "run">, to: Partial<Row>): void => {
  world.store.rows.set(run, rewriteRow(world.store.rows.get(run) as Row, to));
};
