/** The cause of a process death: it is kept in the execution and passed to the task that ends the run. */
import { expect, test } from "vitest";
import { executionsOf } from "../../../src/adapters/local/store/executions.ts";
import type { Executions } from "../../../src/ports/driven-store.ts";
import type { Payload } from "../../../src/protocol/chain.ts";
import {
  type Execution,
  type AttemptFailure,
  applyAnswer,
  applyFailure,
  taskOfExecution,
} from "../../../src/protocol/execution.ts";
import { show } from "../../../src/operations/views.ts";
import { runTask } from "../../../src/maintenance/chain-tasks.ts";
import { attemptBeat, beginRun, runnerOf } from "../../support/harness/drive.ts";
import { scriptedAgent, dieInTool, createSupervisedHarness, executionNameOf } from "../../support/harness/harness.ts";
import { NOW, open, temporaryStore } from "../../process/fixtures/store.ts";

const PAYLOAD: Payload = { run: "local-run", born: "born", chain: 1, epoch: 4, agent: "clerk" };
const NAME = "local-run-born-1";
const ENTRY = { execution: NAME, epoch: PAYLOAD.epoch };
const LIMITS = { rescueMs: 60_000, entryAttemptsMax: 5, backoffMsMax: 300_000 };

function next(executions: Executions, now: number): Execution {
  const execution = executions.begin(NAME, now);
  if (execution === null) throw new Error(`${NAME} is not ready`);
  return execution;
}

test("passes the cause of the last death to the next attempt and the Rescue, also after a restart of the supervisor", () => {
  const store = temporaryStore();
  let now = NOW;
  const fails = (executions: Executions, attempted: Execution, of: Partial<AttemptFailure>): Execution | null => {
    const failure = { now, limits: LIMITS, atOnce: false, isDeath: true, ...of };
    const moved = executions.settle(attempted, (found) => applyFailure(found, failure));
    now = moved?.readyAt ?? now;
    return moved;
  };
  const before = executionsOf(store);
  before.start({ name: NAME, payload: PAYLOAD, now });
  expect(fails(before, next(before, now), { cause: "SIGKILL" })).toMatchObject({ died: 0, cause: "SIGKILL" });
  fails(before, next(before, now), { cause: "the store is away", isDeath: false });
  expect(taskOfExecution(next(before, now))).toMatchObject({ attempt: { died: 0, cause: "SIGKILL" } });
  const after = executionsOf(open(store.dir));
  after.recover({ now, limits: LIMITS });
  const restarted = next(after, now);
  expect(taskOfExecution(restarted)).toMatchObject({ attempt: { died: 2_000, cause: "it ended with its supervisor" } });
  // If the chain did not see how a process ended, it passes no cause.
  fails(after, restarted, {});
  const silent = next(after, now);
  expect(taskOfExecution(silent)).toEqual({
    kind: "beat",
    payload: PAYLOAD,
    attempt: { ...ENTRY, retry: 4_000, died: 3_000 },
  });
  fails(after, silent, { cause: "exit code 1" });
  const dead = { ...ENTRY, retry: 4_000 };
  const rescue = next(after, now);
  expect(taskOfExecution(rescue)).toEqual({ kind: "rescue", payload: PAYLOAD, dead, cause: "exit code 1" });
  // The run is held for a moment, then its chain continues with the next entry.
  after.settle(rescue, (found) => applyAnswer(found, { answer: { kind: "rescue", until: now }, now }));
  expect(taskOfExecution(next(after, now + 1_000))).toMatchObject({ dead, cause: "exit code 1" });
});

test("a new entry has no cause of death", () => {
  const executions = executionsOf(temporaryStore());
  executions.start({ name: NAME, payload: PAYLOAD, now: NOW });
  const failure = { now: NOW, limits: LIMITS, atOnce: true, isDeath: true, cause: "SIGKILL" };
  executions.settle(next(executions, NOW), (found) => applyFailure(found, failure));
  const reply = { ...PAYLOAD, epoch: 5, route: "wait", seconds: 1 } as const;
  executions.settle(next(executions, NOW), (found) =>
    applyAnswer(found, { answer: { kind: "beat", reply }, now: NOW }),
  );
  expect(next(executions, NOW + 1_000)).toMatchObject({ retry: 0, died: null, cause: null });
});

/** A run whose process died in a tool, after ten others, and whose lease is over. */
async function afterTenDeaths() {
  const harness = createSupervisedHarness();
  const agent = scriptedAgent({ effect: "keyed" });
  const payload = await beginRun(harness.world, agent, {});
  await dieInTool(harness, { payload, agent });
  harness.clock.moveTo(harness.row(payload.run).leaseUntil ?? 0);
  harness.changeRow(payload, { deaths: 10 });
  return { harness, agent, payload };
}

test("the failure of a run in a crash loop says how the last process ended", async () => {
  const { harness, agent, payload } = await afterTenDeaths();
  const tried = {
    execution: executionNameOf(payload),
    epoch: 0,
    retry: 1_000,
    died: 0,
    cause: "killed at its deadline",
  };
  await runTask(runnerOf(harness.world, agent))({ kind: "beat", payload, attempt: tried }, harness.invocation());
  const message =
    "11 processes died one after the other while they held this run, 10 are allowed; " +
    "the last one ended with: killed at its deadline";
  expect(await show(harness.world, payload.run)).toMatchObject({ failure: { code: "CrashLoop", message } });
});

test("the failure names no cause when the chain did not see how the process ended", async () => {
  const { harness, agent, payload } = await afterTenDeaths();
  await attemptBeat(runnerOf(harness.world, agent), payload, 1);
  const message = "11 processes died one after the other while they held this run, 10 are allowed";
  expect(await show(harness.world, payload.run)).toMatchObject({ failure: { code: "CrashLoop", message } });
});
