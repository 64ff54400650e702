/** What a run says that it does while it asks its model, and while its tool runs. */
import { expect, test } from "vitest";
import { ANY_RUN, listRuns } from "../../src/operations/list.ts";
import { summaryOf } from "../../src/operations/summary.ts";
import { show } from "../../src/operations/views.ts";
import { plain } from "../../src/render/paint.ts";
import { renderList } from "../../src/render/run-list.ts";
import { renderRun } from "../../src/render/run.ts";
import { attemptBeat, beginRun, runnerOf } from "../support/harness/drive.ts";
import {
  advanceUntilSettled,
  callsThenFinal,
  createHarness,
  rowOf,
  scriptedAgent,
} from "../support/harness/harness.ts";

/** A place at which a call is held until `go` is called. */
function gate() {
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const hold = async (): Promise<void> => {
    reached.resolve();
    await released.promise;
  };
  return { reached: reached.promise, go: released.resolve, hold };
}

test("asks its model since its claim or its last commit, and no more while its tool runs", async () => {
  // With beats to come, the commit before the tool has the mark for the next call.
  const harness = createHarness({ beatsPerInvocation: 4 });
  const { world, clock } = harness;
  const [asked, called] = [gate(), gate()];
  const agent = scriptedAgent({
    reply: async (conversation) => {
      await asked.hold();
      return callsThenFinal(1)(conversation);
    },
    run: async () => {
      await called.hold();
      return "acted";
    },
  });
  const payload = await beginRun(world, agent, {});
  const { run } = payload;
  const shown = async () => (await show(world, run)) ?? expect.fail("it is shown");
  expect(await shown()).toMatchObject({ label: "waiting for its first beat", askingSince: null });
  const style = { now: clock.now(), paint: plain, width: 200 };
  const lines = async () => renderRun(await shown(), { ...style, command: () => "" });
  expect(await lines()).toMatch(/driven by +no process now; it is resumable/);
  const begunAt = clock.now();
  const beat = attemptBeat(runnerOf(world, agent), payload);
  await asked.reached;
  expect(await shown()).toMatchObject({ phase: "Preparing", label: "asking the model", askingSince: begunAt });
  const { modelMs } = world.limits;
  const slowFrom = begunAt + Math.min(90_000, modelMs * 0.8);
  expect(await shown()).toMatchObject({ slowFrom });
  for (const [now, isSlow] of [
    [slowFrom - 1, false],
    [slowFrom, true],
  ] as const)
    expect(renderRun(await shown(), { ...style, now, command: () => "" }).includes("longer than usual")).toBe(isSlow);
  expect(await lines()).not.toContain("driven by");
  expect(await lines()).toMatch(/asking the model since \d\d:\d\d:\d\d/);
  const { runs } = await listRuns(world, { ...ANY_RUN, tenant: "local", limit: 9, after: null });
  expect(renderList(runs, style)).toMatch(/asking the model since \d\d:\d\d:\d\d/);
  // Once the lease is over, no process asks for it, and any process may go on with it.
  const row = rowOf(harness, run);
  expect(summaryOf(row, { now: (row.leaseUntil ?? 0) + 1, modelMs })).toMatchObject({
    askingSince: null,
    resumable: true,
  });
  asked.go();
  await called.reached;
  expect(rowOf(harness, run).unaccountedModelCalls).toBe(1);
  expect(await shown()).toMatchObject({ label: "running tools", askingSince: null });
  called.go();
  await advanceUntilSettled(harness, beat);
  expect((await shown()).askingSince).toBeNull();
});
