/** Abandoned runs, as a sweeper finds them. */
import { beginRun, attemptBeat, runnerOf } from "../harness/drive.ts";
import { scriptedAgent, callsThenFinal, dieInTool, beatReply, type Harness } from "../harness/harness.ts";

/** A run that waits for an operator, parked by its execution. */
export async function abandonedParkedRun(harness: Harness) {
  const agent = scriptedAgent({});
  const payload = await beginRun(harness.world, agent, {});
  await harness.world.table.request({ ...payload, now: harness.clock.now(), want: "pause" });
  const row = await harness.driveUntil({ agent, run: payload.run, until: (row) => row.park !== null });
  return { agent, run: payload.run, row };
}

/** A run that released its lease and whose execution is about to start its next beat. */
export async function runBetweenBeats(harness: Harness) {
  const agent = scriptedAgent({ reply: callsThenFinal(2) });
  const payload = await beginRun(harness.world, agent, {});
  await beatReply(attemptBeat(runnerOf(harness.world, agent), payload));
  return { agent, run: payload.run, row: harness.row(payload.run) };
}

/** A run whose beat died in its tool call and whose execution has ended. */
export async function runDeadInTool(harness: Harness, effect: "keyed" | "unsafe" = "unsafe") {
  const agent = scriptedAgent({ effect });
  const payload = await beginRun(harness.world, agent, {});
  await dieInTool(harness, { payload, agent });
  harness.stopExecution(payload);
  return { agent, payload, run: payload.run, row: harness.row(payload.run) };
}

/** Live runs whose executions have ended, newest first: a sweep starts a new execution of each. */
export async function runsWithoutExecution(harness: Harness, count: number): Promise<readonly string[]> {
  const runs: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const payload = await beginRun(harness.world, scriptedAgent({}), {});
    harness.stopExecution(payload);
    runs.unshift(payload.run);
    harness.passTime(1);
  }
  harness.passTime();
  return runs;
}
