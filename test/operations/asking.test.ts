/** What a run says that it does while it asks its model, and while its tool runs. */
import { expect, test } from "vitest";
import { runVerdict } from "../../src/console/model/verdict.ts";
import { pollEvents } from "../../src/operations/event-page.ts";
import { ANY_RUN, listRuns } from "../../src/operations/list.ts";
import { summaryOf } from "../../src/operations/summary.ts";
import { show } from "../../src/operations/views.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import type { Row } from "../../src/protocol/row.ts";
import { noteWords } from "../../src/render/outage.ts";
import { plain } from "../../src/render/paint.ts";
import { renderList } from "../../src/render/run-list.ts";
import { renderRun } from "../../src/render/run.ts";
import { attemptBeat, beginRun, runnerOf } from "../support/harness/drive.ts";
import { callsThenFinal, createHarness, scriptedAgent } from "../support/harness/harness.ts";

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
  const listed = async () => {
    const { runs } = await listRuns(world, { ...ANY_RUN, tenant: "local", limit: 9, after: null });
    return renderList(runs, style);
  };
  expect(await lines()).toMatch(/driven by +no process now; it is resumable/);
  expect(await listed()).toContain("no process drives it now, resumable");
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
  ] as const) {
    expect(renderRun(await shown(), { ...style, now, command: () => "" }).includes("longer than usual")).toBe(isSlow);
    expect(runVerdict(await shown(), now).says.includes("longer than usual")).toBe(isSlow);
  }
  expect(await lines()).not.toContain("driven by");
  expect(await lines()).toMatch(/asking the model since \d\d:\d\d:\d\d/);
  expect(await listed()).toMatch(/asking the model since \d\d:\d\d:\d\d/);
  // Once the lease is over, no process asks for it, and any process may go on with it.
  const row = harness.row(run);
  expect(summaryOf(row, { now: (row.leaseUntil ?? 0) + 1, modelMs })).toMatchObject({
    askingSince: null,
    resumable: true,
  });
  asked.go();
  await called.reached;
  expect(harness.row(run).unaccountedModelCalls).toBe(1);
  expect(await shown()).toMatchObject({ label: "running tools", askingSince: null });
  called.go();
  await harness.advanceUntilSettled(beat);
  expect((await shown()).askingSince).toBeNull();
});

test("a page of events says that the model takes longer than usual, at 80 % of what the call may take, and nothing is stored", async () => {
  const harness = createHarness(limitsFor(60_000));
  const { world, clock } = harness;
  const asked = gate();
  const agent = scriptedAgent({
    reply: async (conversation) => {
      await asked.hold();
      return callsThenFinal(0)(conversation);
    },
  });
  const payload = await beginRun(world, agent, {});
  const { run } = payload;
  const page = async () =>
    (await pollEvents(world, { run, after: 0, wait: 0, bytesMax: null })) ?? expect.fail("it is shown");
  const beat = attemptBeat(runnerOf(world, agent), payload);
  await asked.reached;
  const [begunAt, { version }] = [clock.now(), harness.row(run)];
  const { modelMs } = world.limits;
  expect(modelMs).toBe(45_000);
  clock.moveTo(begunAt + 0.8 * modelMs - 1);
  expect(await page()).not.toHaveProperty("slowSince");
  clock.moveTo(begunAt + 0.8 * modelMs);
  expect(await page()).toMatchObject({ slowSince: begunAt, next: version });
  expect(harness.row(run).version).toBe(version);
  asked.go();
  await harness.advanceUntilSettled(beat);
  expect(await page()).not.toHaveProperty("slowSince");
});

test("a run for which something has arrived, or whose time has come, says that no process drives it", async () => {
  const harness = createHarness();
  const { world, clock } = harness;
  const { run } = await beginRun(world, scriptedAgent({ reply: callsThenFinal(0) }), {});
  const row = { ...harness.row(run), status: "waiting" as const, phase: "AwaitingChildren" as const };
  const [now, modelMs] = [clock.now(), world.limits.modelMs];
  const noteOf = (change: Partial<Row>) => noteWords(summaryOf({ ...row, ...change }, { now, modelMs }), now);
  expect(noteOf({ wakeCount: row.wakeCountSeen + 1 })).toBe(
    "something has arrived for it; no process drives it now, resumable",
  );
  expect(noteOf({ wakeAt: now })).toBe("its time has come; no process drives it now, resumable");
  expect(noteOf({ wakeCount: row.wakeCountSeen, wakeAt: now + 1 })).toMatch(/^until .* at the latest$/);
  expect(noteOf({ wakeCount: row.wakeCountSeen + 1, status: "paused" })).toBeNull();
  expect(noteOf({ wakeCount: row.wakeCountSeen + 1, owner: "other", leaseUntil: now + 1 })).toBeNull();
});
