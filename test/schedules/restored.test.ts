/** A store that was restored from a backup: its rows are older than what became of their runs. */
import { expect, test } from "vitest";
import { startExecution } from "../../src/engine/loop/executions.ts";
import { fenceRestored } from "../../src/operations/restored.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { verify } from "../../src/history/verify.ts";
import { begin } from "../support/drive.ts";
import { BEAT_MS, SKEW_MS, actor, callsThenOver, chainedStage, rowOf } from "../support/stage.ts";
import { frozenBefore, hear, leave, perform, playOut, rest, step } from "../support/steps.ts";

test("schedule 109: a process of the time after the backup thaws, and the restored run has its epoch no more", async () => {
  const on = chainedStage();
  const keys: string[] = [];
  const run = ({ key }: { readonly key: string }): string => {
    keys.push(key);
    return "acted";
  };
  const agent = actor({ reply: callsThenOver(3), run });
  const payload = await begin(on.world, agent, {});
  await step(on, agent);
  const backup = structuredClone(rowOf(on, payload.run));
  const before = leave(on);
  const frozen = frozenBefore(on.world, "commit");
  void perform(before.task, { world: frozen.world, agent });
  await rest();
  expect(rowOf(on, payload.run).epoch).toBe(backup.epoch + 1);
  on.clock.moveTo(on.clock.now() + BEAT_MS + SKEW_MS);
  hear(on, before, null);
  await playOut(on, agent);
  expect(rowOf(on, payload.run)).toMatchObject({ status: "completed" });
  const done = new Set(keys);

  on.world.store.rows.set(backup.run, backup);
  expect(await fenceRestored(on.world)).toEqual({ runs: [backup.run], held: [], damaged: [] });
  const fenced = rowOf(on, backup.run);
  expect(fenced).toMatchObject({ pause: true, owner: null, version: backup.version });
  frozen.thaw();
  await rest();
  expect(rowOf(on, backup.run)).toEqual(fenced);

  await startExecution(on.world, fenced);
  await playOut(on, agent);
  expect(rowOf(on, backup.run)).toMatchObject({ status: "paused", version: expect.any(Number) });
  await sendRequest(on.world, { run: backup.run, want: "resume" });
  await playOut(on, agent);
  expect(rowOf(on, backup.run)).toMatchObject({ status: "completed" });
  expect(await verify(on.world, { run: backup.run })).toMatchObject({ findings: [], readable: true });
  // What was done after the backup is done again, under the keys that it had.
  expect(new Set(keys)).toEqual(done);
  expect(keys.length).toBeGreaterThan(done.size);
});
