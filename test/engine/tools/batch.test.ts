/** Calls of one reply that run side by side: which result is committed while others run. */
import { describe, expect, test } from "vitest";
import type { Tool } from "../../../src/ports/agent.ts";
import { timeline } from "../../../src/operations/views.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import {
  type ToolRun,
  parallelCallsAgent,
  deferredCall,
  callStatuses,
} from "../../support/agents/parallel-calls-agent.ts";
import { attemptBeat, beginRun, runnerOf } from "../../support/harness/drive.ts";
import { createHarness, flushPromises } from "../../support/harness/harness.ts";
import { wrapTableCall } from "../../support/harness/chain-steps.ts";

describe("a result that returns while another call of its reply runs", () => {
  /** The versions that the row has while a call runs and in the end, and what the ledger says meanwhile. */
  async function heldBeside(first: Partial<Tool> & { readonly run: ToolRun }, tookMs = 0) {
    const harness = createHarness();
    const { run: run_, thaw } = deferredCall();
    const slow = first.run;
    const run: ToolRun = (context) => {
      harness.clock.moveTo(harness.clock.now() + tookMs);
      return slow(context);
    };
    const agent = parallelCallsAgent({ first: { ...first, run }, other: { effect: "keyed", run: run_ } });
    const payload = await beginRun(harness.world, agent, {});
    const done = attemptBeat(runnerOf(harness.world, agent), payload);
    await flushPromises();
    const meanwhile = {
      version: harness.row(payload.run).version,
      statuses: await callStatuses(harness, payload.run),
    };
    thaw();
    expect(await harness.advanceUntilSettled(done)).toMatchObject({ kind: "beat" });
    expect(await callStatuses(harness, payload.run)).toEqual(["succeeded", "succeeded"]);
    return { meanwhile, version: harness.row(payload.run).version };
  }

  test.each<readonly [Tool["effect"], number, string]>([
    ["unsafe", 0, "succeeded"],
    ["probed", 0, "succeeded"],
    ["keyed", 500, "started"],
    ["keyed", 510, "succeeded"],
    ["none", 1_000, "started"],
  ])("of a %s call that took %i ms: %s", async (effect, tookMs, status) => {
    const { meanwhile, version } = await heldBeside({ effect, run: () => "done", timeoutMs: 1_500 }, tookMs);
    expect(meanwhile.statuses).toEqual([status, "started"]);
    // The plan, the result that did not wait, and the release.
    expect({ meanwhile: meanwhile.version, version }).toEqual(
      status === "started" ? { meanwhile: 1, version: 2 } : { meanwhile: 2, version: 3 },
    );
  });

  test("is committed also when it reports that nothing happened", async () => {
    const harness = createHarness();
    const { run: run_, thaw } = deferredCall();
    const run = (): never => {
      throw new Error("no seat left");
    };
    const agent = parallelCallsAgent({ first: { run }, other: { run: run_ } });
    const payload = await beginRun(harness.world, agent, {});
    const done = attemptBeat(runnerOf(harness.world, agent), payload);
    await flushPromises();
    expect(await callStatuses(harness, payload.run)).toEqual(["failed", "started"]);
    thaw();
    await harness.advanceUntilSettled(done);
  });
});

describe("no commit of its own is made for", () => {
  test.each([1, 3])("%i calls that return at the same moment", async (count) => {
    const harness = createHarness();
    const tools = Array.from({ length: count }, (_, index) => [`act${index}`, { run: () => "done" }] as const);
    const agent = parallelCallsAgent(Object.fromEntries(tools));
    const payload = await beginRun(harness.world, agent, {});
    await attemptBeat(runnerOf(harness.world, agent), payload);
    expect(harness.row(payload.run).version).toBe(2);
  });

  test("the last result", async () => {
    const harness = createHarness();
    const { run, thaw } = deferredCall();
    const agent = parallelCallsAgent({ look: { effect: "none", run: () => "seen" }, act: { run } });
    const payload = await beginRun(harness.world, agent, {});
    const done = attemptBeat(runnerOf(harness.world, agent), payload);
    await flushPromises();
    thaw();
    await harness.advanceUntilSettled(done);
    expect(harness.row(payload.run).version).toBe(2);
  });
});

test("results that are already there join the commit, in the order of the reply", async () => {
  const harness = createHarness();
  const [one, two, three] = [deferredCall(), deferredCall(), deferredCall()];
  const agent = parallelCallsAgent({
    one: { effect: "none", run: one.run },
    two: { run: two.run },
    three: { effect: "none", run: three.run },
  });
  const payload = await beginRun(harness.world, agent, {});
  const done = attemptBeat(runnerOf(harness.world, agent), payload);
  await flushPromises();
  one.thaw();
  await flushPromises();
  two.thaw();
  await flushPromises();
  expect(await callStatuses(harness, payload.run)).toEqual(["succeeded", "succeeded", "started"]);
  three.thaw();
  await harness.advanceUntilSettled(done);
  const events = (await timeline(harness.world, { run: payload.run, after: 0 })) ?? [];
  expect(events.flatMap((event) => (event.kind === "ToolResultRecorded" ? [event.call] : []))).toEqual([
    "c1",
    "c2",
    "c3",
  ]);
});

test("commits do not overlap, and results that return meanwhile join the next one", async () => {
  const harness = createHarness();
  const [one, two, three] = [deferredCall(), deferredCall(), deferredCall()];
  const slow = Promise.withResolvers<void>();
  let commits = 0;
  let underWay = 0;
  const world = wrapTableCall(harness.world, "commit", (commit) => async (asked) => {
    commits += 1;
    underWay += 1;
    expect(underWay).toBe(1);
    if (commits === 2) await slow.promise;
    underWay -= 1;
    return commit(asked);
  });
  const agent = parallelCallsAgent({ one: { run: one.run }, two: { run: two.run }, three: { run: three.run } });
  const payload = await beginRun(world, agent, {});
  const done = attemptBeat(runnerOf(world, agent), payload);
  await flushPromises();
  one.thaw();
  await flushPromises();
  two.thaw();
  await flushPromises();
  slow.resolve();
  await flushPromises();
  expect(await callStatuses(harness, payload.run)).toEqual(["succeeded", "succeeded", "started"]);
  three.thaw();
  await harness.advanceUntilSettled(done);
  expect(await callStatuses(harness, payload.run)).toEqual(["succeeded", "succeeded", "succeeded"]);
});

test("a cancel that such a commit returns ends the run; running calls are recorded before", async () => {
  const harness = createHarness();
  const { run, thaw } = deferredCall();
  const first: ToolRun = async () => {
    await sendRequest(harness.world, { run: payload.run, want: "cancel" });
    return "sent";
  };
  const agent = parallelCallsAgent({ first: { run: first }, other: { run } });
  const payload = await beginRun(harness.world, agent, {});
  const done = attemptBeat(runnerOf(harness.world, agent), payload);
  await flushPromises();
  thaw();
  expect(await harness.advanceUntilSettled(done)).toMatchObject({ kind: "beat", reply: { route: "done" } });
  expect(harness.row(payload.run).status).toBe("cancelled");
  expect(await callStatuses(harness, payload.run)).toEqual(["succeeded", "succeeded"]);
});
