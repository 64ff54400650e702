/**
 * The crash test: SIGKILL between a checkpoint in the middle of a turn and the next one, then a reload from disk.
 * The companion asserts the reverse: after a clean end the run says so.
 */
import { expect, test } from "vitest";
import { travel } from "../../agents/travel/agent.ts";
import { startRun } from "../../src/operations/start.ts";
import { show, transcript } from "../../src/operations/views.ts";
import type { Agent } from "../../src/ports/agent.ts";
import { LONG_TIMEOUTS } from "../support/processes/cli-process.ts";
import {
  killPausedProcess,
  startSupervisorProcess,
  waitForStatus,
  createProcessHarness,
} from "../support/processes/supervisor-process.ts";

test("checkpoints survive a crash: in progress, baseline and tool batch, each message with its own time and source", async () => {
  const harness = createProcessHarness();
  const before = Date.now();
  const input = { from: "Hamburg", to: "Lisbon", date: "2027-03-14", nights: 3, traveller: "Ada" };
  const started = await startRun(harness.world, {
    agent: travel as Agent,
    input,
    tenant: "local",
    idempotencyKey: null,
  });
  if (started.kind !== "started") throw new Error(started.kind);
  const { run } = started.row;
  // The first beat is checkpointed; the reply of the second one is there, and nothing of it is committed.
  // A beat that ends early, for want of time on a busy machine, would move that point to another beat.
  const env = { ...LONG_TIMEOUTS, CAIRN_HOLD: "before:intent:3" };
  const first = startSupervisorProcess(harness, { env });
  await killPausedProcess(harness);
  await first.kill("SIGKILL");

  const reloaded = await show(harness.world, run);
  expect(reloaded).toMatchObject({ inProgress: true, status: "running", version: 2, messages: 3 });
  const messages = (await transcript(harness.world, run)) ?? [];
  expect(messages.map(({ id, role, source }) => ({ id, role, source }))).toEqual([
    { id: "m1", role: "user", source: "task" },
    { id: "m2", role: "assistant", source: "model:scripted:travel-model" },
    { id: "m3", role: "tool", source: "tool:searchFlights" },
  ]);
  const times = messages.map(({ at }) => at);
  expect(times[0]).toBeGreaterThanOrEqual(before);
  expect(times).toEqual(times.toSorted((one, other) => one - other));
  expect(times.at(-1)).toBeLessThanOrEqual(Date.now());

  startSupervisorProcess(harness, { env: LONG_TIMEOUTS });
  await waitForStatus(harness, run, "completed");
  expect(await show(harness.world, run)).toMatchObject({ inProgress: false, resumable: false });
  const final = (await transcript(harness.world, run)) ?? [];
  expect(final.slice(0, 3)).toEqual(messages);
});
