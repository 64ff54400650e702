/** A store that was restored from a backup: its rows are older than what became of their runs. */
import { expect, test } from "vitest";
import { startExecution } from "../../src/engine/context/executions.ts";
import { fenceRestored } from "../../src/operations/restored.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { verify } from "../../src/history/verify.ts";
import { beginRun } from "../support/harness/drive.ts";
import {
  BEAT_MS,
  SKEW_MS,
  scriptedAgent,
  callsThenFinal,
  createChainHarness,
  rowOf,
} from "../support/harness/harness.ts";
import {
  freezeBeforeCall,
  endAttempt,
  startAttempt,
  performTask,
  runUntilIdle,
  flushPromises,
  runAttempt,
} from "../support/harness/chain-steps.ts";

test("schedule 109: a process from after the backup thaws, and the restored run no longer has its epoch", async () => {
  const harness = createChainHarness();
  const keys: string[] = [];
  const run = ({ key }: { readonly key: string }): string => {
    keys.push(key);
    return "acted";
  };
  const agent = scriptedAgent({ reply: callsThenFinal(3), run });
  const payload = await beginRun(harness.world, agent, {});
  await runAttempt(harness, agent);
  const backup = structuredClone(rowOf(harness, payload.run));
  const before = startAttempt(harness);
  const frozen = freezeBeforeCall(harness.world, "commit");
  void performTask(before.task, { world: frozen.world, agent });
  await flushPromises();
  expect(rowOf(harness, payload.run).epoch).toBe(backup.epoch + 1);
  harness.clock.moveTo(harness.clock.now() + BEAT_MS + SKEW_MS);
  endAttempt(harness, before, null);
  await runUntilIdle(harness, agent);
  expect(rowOf(harness, payload.run)).toMatchObject({ status: "completed" });
  const done = new Set(keys);

  harness.world.store.rows.set(backup.run, backup);
  expect(await fenceRestored(harness.world)).toEqual({ runs: [backup.run], held: [], damaged: [] });
  const fenced = rowOf(harness, backup.run);
  expect(fenced).toMatchObject({ pause: true, owner: null, version: backup.version });
  frozen.thaw();
  await flushPromises();
  expect(rowOf(harness, backup.run)).toEqual(fenced);

  await startExecution(harness.world, fenced);
  await runUntilIdle(harness, agent);
  expect(rowOf(harness, backup.run)).toMatchObject({ status: "paused", version: expect.any(Number) });
  await sendRequest(harness.world, { run: backup.run, want: "resume" });
  await runUntilIdle(harness, agent);
  expect(rowOf(harness, backup.run)).toMatchObject({ status: "completed" });
  expect(await verify(harness.world, { run: backup.run })).toMatchObject({ findings: [], readable: true });
  // What was done after the backup is done again, under the keys that it had.
  expect(new Set(keys)).toEqual(done);
  expect(keys.length).toBeGreaterThan(done.size);
});
