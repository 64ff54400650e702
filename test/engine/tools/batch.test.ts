/** Calls of one reply that run side by side: which result is committed while others run. */
import { describe, expect, test } from "vitest";
import type { Tool } from "../../../src/ports/agent.ts";
import { timeline } from "../../../src/operations/views.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { type Run, beside, held, statuses } from "../../support/beside.ts";
import { attempt, begin, runnerOf } from "../../support/drive.ts";
import { passing, rowOf, stage } from "../../support/stage.ts";
import { meeting, rest } from "../../support/steps.ts";

describe("while another call of its reply runs, a result is", () => {
  /** The versions that the row has while a call runs and in the end, and what the ledger says meanwhile. */
  async function heldBeside(first: Partial<Tool> & { readonly run: Run }, tookMs = 0) {
    const on = stage();
    const { run: run_, thaw } = held();
    const slow = first.run;
    const run: Run = (context) => {
      on.clock.moveTo(on.clock.now() + tookMs);
      return slow(context);
    };
    const agent = beside({ first: { ...first, run }, other: { effect: "keyed", run: run_ } });
    const payload = await begin(on.world, agent, {});
    const done = attempt(runnerOf(on.world, agent), payload);
    await rest();
    const meanwhile = { version: rowOf(on, payload.run).version, statuses: await statuses(on, payload.run) };
    thaw();
    expect(await passing(on, done)).toMatchObject({ kind: "beat" });
    expect(await statuses(on, payload.run)).toEqual(["succeeded", "succeeded"]);
    return { meanwhile, version: rowOf(on, payload.run).version };
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
    expect([meanwhile.version, version]).toEqual(status === "started" ? [1, 2] : [2, 3]);
  });

  test("committed also where it says that nothing happened", async () => {
    const on = stage();
    const { run: run_, thaw } = held();
    const run = (): never => {
      throw new Error("no seat left");
    };
    const agent = beside({ first: { run }, other: { run: run_ } });
    const payload = await begin(on.world, agent, {});
    const done = attempt(runnerOf(on.world, agent), payload);
    await rest();
    expect(await statuses(on, payload.run)).toEqual(["failed", "started"]);
    thaw();
    await passing(on, done);
  });
});

describe("no commit of its own has", () => {
  test.each([1, 3])("what %i calls return at the same moment", async (count) => {
    const on = stage();
    const tools = Array.from({ length: count }, (_, index) => [`act${index}`, { run: () => "done" }] as const);
    const agent = beside(Object.fromEntries(tools));
    const payload = await begin(on.world, agent, {});
    await attempt(runnerOf(on.world, agent), payload);
    expect(rowOf(on, payload.run).version).toBe(2);
  });

  test("the result that is the last one to be there", async () => {
    const on = stage();
    const { run, thaw } = held();
    const agent = beside({ look: { effect: "none", run: () => "seen" }, act: { run } });
    const payload = await begin(on.world, agent, {});
    const done = attempt(runnerOf(on.world, agent), payload);
    await rest();
    thaw();
    await passing(on, done);
    expect(rowOf(on, payload.run).version).toBe(2);
  });
});

test("what is there already rides on the commit, in the order of the reply", async () => {
  const on = stage();
  const [one, two, three] = [held(), held(), held()];
  const agent = beside({
    one: { effect: "none", run: one.run },
    two: { run: two.run },
    three: { effect: "none", run: three.run },
  });
  const payload = await begin(on.world, agent, {});
  const done = attempt(runnerOf(on.world, agent), payload);
  await rest();
  one.thaw();
  await rest();
  two.thaw();
  await rest();
  expect(await statuses(on, payload.run)).toEqual(["succeeded", "succeeded", "started"]);
  three.thaw();
  await passing(on, done);
  const events = (await timeline(on.world, { run: payload.run, after: 0 })) ?? [];
  expect(events.flatMap((event) => (event.kind === "ToolResultRecorded" ? [event.call] : []))).toEqual([
    "c1",
    "c2",
    "c3",
  ]);
});

test("there is one commit at a time, and what comes meanwhile is in the next one", async () => {
  const on = stage();
  const [one, two, three] = [held(), held(), held()];
  const slow = Promise.withResolvers<void>();
  let commits = 0;
  let underWay = 0;
  const world = meeting(on.world, "commit", (commit) => async (asked) => {
    commits += 1;
    underWay += 1;
    expect(underWay).toBe(1);
    if (commits === 2) await slow.promise;
    underWay -= 1;
    return commit(asked);
  });
  const agent = beside({ one: { run: one.run }, two: { run: two.run }, three: { run: three.run } });
  const payload = await begin(world, agent, {});
  const done = attempt(runnerOf(world, agent), payload);
  await rest();
  one.thaw();
  await rest();
  two.thaw();
  await rest();
  slow.resolve();
  await rest();
  expect(await statuses(on, payload.run)).toEqual(["succeeded", "succeeded", "started"]);
  three.thaw();
  await passing(on, done);
  expect(await statuses(on, payload.run)).toEqual(["succeeded", "succeeded", "succeeded"]);
});

test("a cancel that such a commit brings back ends the run; the calls that run are recorded before", async () => {
  const on = stage();
  const { run, thaw } = held();
  const first: Run = async () => {
    await sendRequest(on.world, { run: payload.run, want: "cancel" });
    return "sent";
  };
  const agent = beside({ first: { run: first }, other: { run } });
  const payload = await begin(on.world, agent, {});
  const done = attempt(runnerOf(on.world, agent), payload);
  await rest();
  thaw();
  expect(await passing(on, done)).toMatchObject({ kind: "beat", reply: { route: "done" } });
  expect(rowOf(on, payload.run).status).toBe("cancelled");
  expect(await statuses(on, payload.run)).toEqual(["succeeded", "succeeded"]);
});
