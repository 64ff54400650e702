/** What a restored run does before the first attempt of a call, by its class and its key. */
import { expect, test } from "vitest";
import { startExecution } from "../../../src/engine/context/executions.ts";
import { verify } from "../../../src/features/seals/verify.ts";
import { decide } from "../../../src/operations/decide.ts";
import { forkRun } from "../../../src/operations/fork.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { checkRun } from "../../../src/operations/checked.ts";
import { checkStore, fenceRestored } from "../../../src/operations/restored.ts";
import { ledger, show } from "../../../src/operations/views.ts";
import type { Row } from "../../../src/protocol/row.ts";
import { assertSafety } from "../../support/gate/safety.ts";
import { startKeyedRun } from "../../support/harness/chain-steps.ts";
import { stateOf } from "../../support/agents/approval-agent.ts";
import { beginRun } from "../../support/harness/drive.ts";
import { createChainHarness } from "../../support/harness/harness.ts";
import { backUp, createScene, operate, restoreFrom, startIn, workFor } from "../../support/restores/lost-time.ts";
import { answer, asked, clerk, lose, resume } from "../../support/restores/clerk.ts";

test("a restored run asks before its first unsafe call, names both moments, and asks no more after the word", async () => {
  const harness = createChainHarness();
  const done: string[] = [];
  const agent = clerk({ effect: "unsafe", words: () => "pay", done, calls: 2 });
  const { run, restored } = await lose(harness, agent);
  expect(await show(harness.world, run)).toMatchObject({
    status: "paused",
    label: "restored and paused until an operator resumes it",
    restored: { at: restored?.at, asOf: restored?.asOf, waits: false },
  });
  await resume(harness, agent, run);
  expect(done).toHaveLength(2);
  const says = `this run was restored from its state of ${new Date(restored?.asOf ?? 0).toISOString()}`;
  expect(await asked(harness, run)).toEqual([expect.stringContaining(says)]);
  expect((await show(harness.world, run))?.unknown).toMatchObject([{ lostTime: true, answered: false }]);
  expect(await reconcile(harness.world, answer(run, "succeeded"))).toMatchObject({ kind: "accepted" });
  expect(await checkRun(harness.world, { run, by: "ann" })).toMatchObject({ kind: "checked" });
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed", restored: { checked: { by: "ann" } } });
  // The second call is made: nobody had to be asked about it.
  expect(done).toHaveLength(3);
  expect(await verify(harness.world, { run })).toMatchObject({ findings: [], readable: true });
});

test("a restored run probes first under a business key, and takes what the probe finds", async () => {
  const harness = createChainHarness();
  const done: string[] = [];
  let words = "pay";
  const agent = clerk({ effect: "probed", words: () => words, done, part: { key: () => "order-1" } });
  const { run } = await lose(harness, agent);
  words = "please pay";
  await resume(harness, agent, run);
  expect({ done, status: harness.row(run).status }).toEqual({ done: ["order-1"], status: "completed" });
  expect(await ledger(harness.world, run)).toMatchObject([{ status: "reconciled", restored: { first: "probe" } }]);
});

test("a keyed call without a business key is made, and the ledger says what it may repeat", async () => {
  const harness = createChainHarness();
  const done: string[] = [];
  const agent = clerk({ effect: "keyed", words: () => "pay", done });
  const { run } = await lose(harness, agent);
  await resume(harness, agent, run);
  expect({ done: done.length, differentOrders: new Set(done).size }).toEqual({ done: 2, differentOrders: 1 });
  expect(await ledger(harness.world, run)).toMatchObject([{ status: "succeeded", restored: { first: "newKey" } }]);
});

test("newer objects of the run settle a call with the same key and arguments, and nobody is asked", async () => {
  const harness = createChainHarness();
  const done: string[] = [];
  const agent = clerk({ effect: "unsafe", words: () => "pay", done });
  const { run } = await beginRun(harness.world, agent, {});
  const backup = structuredClone(harness.row(run));
  await harness.runUntilIdle(agent);
  harness.world.store.rows.set(run, backup);
  await fenceRestored(harness.world);
  await startExecution(harness.world, harness.row(run));
  await resume(harness, agent, run);
  expect({ done: done.length, status: harness.row(run).status }).toEqual({ done: 1, status: "completed" });
  expect(await ledger(harness.world, run)).toMatchObject([
    { status: "reconciled", evidence: expect.stringContaining("newer objects of this run") },
  ]);
  expect(await verify(harness.world, { run })).toMatchObject({ findings: [], readable: true });
});

test("a call behind a gate is asked about once after a restore, and a denial is the answer that it failed", async () => {
  const harness = createChainHarness();
  const done: string[] = [];
  let askedFor: string | false = false;
  const agent = clerk({ effect: "unsafe", words: () => "pay", done, part: { approval: () => askedFor } });
  // In the lost time nobody had to approve it.
  const { run } = await lose(harness, agent);
  askedFor = "it is a payment";
  await resume(harness, agent, run);
  expect({ done: done.length, gates: (await show(harness.world, run))?.gates }).toEqual({ done: 1, gates: [] });
  expect(await asked(harness, run)).toHaveLength(1);
  expect((await show(harness.world, run))?.unknown).toMatchObject([{ lostTime: true, approval: "it is a payment" }]);
  harness.clock.moveTo((await show(harness.world, run))?.unknown[0]?.reconcilableFrom ?? 0);
  const denied = { ...answer(run, "succeeded"), as: "failed", result: null } as const;
  expect(await reconcile(harness.world, denied)).toMatchObject({ kind: "accepted" });
  await harness.runUntilIdle(agent);
  expect({ done: done.length, status: harness.row(run).status }).toEqual({ done: 1, status: "completed" });
  expect((await stateOf(harness.world, run)).spent.toolCalls).toBe(1);
});

test("newer objects settle a call behind a gate, whether the gate was open in the backup or not", async () => {
  for (const isOpen of [false, true]) {
    const harness = createChainHarness();
    const done: string[] = [];
    const agent = clerk({ effect: "unsafe", words: () => "pay", done, part: { approval: "always" } });
    const { run } = await beginRun(harness.world, agent, {});
    const early = structuredClone(harness.row(run));
    await harness.runUntilIdle(agent);
    const backup = isOpen ? structuredClone(harness.row(run)) : early;
    const [gate] = (await show(harness.world, run))?.gates ?? [];
    const approve = { run, gate: gate?.gate ?? "", as: "approve", args: null, by: "ann", note: null } as const;
    expect(await decide(harness.world, approve)).toMatchObject({ kind: "accepted" });
    await harness.runUntilIdle(agent);
    harness.world.store.rows.set(run, backup);
    await fenceRestored(harness.world);
    await startExecution(harness.world, harness.row(run));
    await resume(harness, agent, run);
    expect({ done: done.length, status: harness.row(run).status }).toEqual({ done: 1, status: "completed" });
    expect(await ledger(harness.world, run)).toMatchObject([
      { status: "reconciled", evidence: expect.stringContaining("newer objects of this run") },
    ]);
  }
});

test("a probed call with a business key is probed behind its gate, and the gate opens once", async () => {
  const harness = createChainHarness();
  const done: string[] = [];
  const part = { key: () => "order-1", approval: "always" } as const;
  const agent = clerk({ effect: "probed", words: () => "pay", done, part });
  const { run } = await beginRun(harness.world, agent, {});
  await harness.runUntilIdle(agent);
  await fenceRestored(harness.world);
  await startExecution(harness.world, harness.row(run));
  done.push("order-1");
  await resume(harness, agent, run);
  const gates = (await show(harness.world, run))?.gates ?? [];
  expect(gates).toMatchObject([{ decided: false }]);
  const approve = { run, gate: gates[0]?.gate ?? "", as: "approve", args: null, by: "ann", note: null } as const;
  expect(await decide(harness.world, approve)).toMatchObject({ kind: "accepted" });
  await harness.runUntilIdle(agent);
  expect({ done, status: harness.row(run).status }).toEqual({ done: ["order-1"], status: "completed" });
});

test("newer objects settle no call with other arguments", async () => {
  const harness = createChainHarness();
  const done: string[] = [];
  let words = "pay";
  const agent = clerk({ effect: "unsafe", words: () => words, done });
  const { run } = await beginRun(harness.world, agent, {});
  const backup = structuredClone(harness.row(run));
  await harness.runUntilIdle(agent);
  harness.world.store.rows.set(run, backup);
  await fenceRestored(harness.world);
  words = "please pay";
  await startExecution(harness.world, harness.row(run));
  await resume(harness, agent, run);
  assertSafety("nothing is done twice", () => expect(done).toHaveLength(1));
  expect(await asked(harness, run)).toHaveLength(1);
});

test("after the word for the whole store a keyed start waits for nothing", async () => {
  const harness = createChainHarness();
  const agent = clerk({ effect: "unsafe", words: () => "pay", done: [] });
  const { run } = await beginRun(harness.world, agent, {});
  await fenceRestored(harness.world);
  expect(await checkStore(harness.world, { by: "ann", confirmed: false })).toMatchObject({ runs: [run] });
  expect(harness.row(run).restored?.checked).toBeUndefined();
  expect(await checkStore(harness.world, { by: "ann", confirmed: true })).toMatchObject({
    kind: "checked",
    runs: [run],
  });
  expect(harness.row(run)).toMatchObject({ pause: true, restored: { checked: { by: "ann" } } });
  expect((await startKeyedRun(harness.world, { agent, key: "k" })).restored).toBeUndefined();
});

test("a fork of a run that had ended before the backup asks as well, and one of a newer run does not", async () => {
  const harness = createChainHarness();
  const done: string[] = [];
  const agent = clerk({ effect: "unsafe", words: () => "pay", done });
  const { run } = await beginRun(harness.world, agent, {});
  await harness.runUntilIdle(agent);
  await fenceRestored(harness.world);
  expect(harness.row(run).restored).toBeUndefined();
  const forkOf = async (from: string): Promise<Row> => {
    const forked = await forkRun(harness.world, {
      ...{ run: from, at: 0, agent, key: null, by: "ann", confirmed: true },
    });
    if (!("row" in forked)) throw new Error(forked.kind);
    return forked.row;
  };
  expect(await forkOf(run)).toMatchObject({ status: "queued", restored: { version: 0 } });
  harness.clock.moveTo(harness.clock.now() + 1);
  const { run: newer } = await beginRun(harness.world, agent, {});
  await harness.runUntilIdle(agent);
  expect((await forkOf(newer)).restored).toBeUndefined();
});

test("a fork to before a call that a human found in the lost time is refused until it is confirmed", async () => {
  const harness = createChainHarness();
  const done: string[] = [];
  const agent = clerk({ effect: "unsafe", words: () => "pay", done });
  const { run } = await lose(harness, agent);
  await resume(harness, agent, run);
  harness.clock.moveTo((await show(harness.world, run))?.unknown[0]?.reconcilableFrom ?? 0);
  expect(await reconcile(harness.world, answer(run, "succeeded"))).toMatchObject({ kind: "accepted" });
  await harness.runUntilIdle(agent);
  expect(await checkRun(harness.world, { run, by: "ann" })).toMatchObject({ kind: "checked" });
  // The run itself released it never, and it happened.
  expect(await ledger(harness.world, run)).toMatchObject([{ status: "reconciled", attempts: 0 }]);
  const fork = { run, at: 0, agent, key: null, by: "ann", confirmed: false };
  const effects = { later: ["act (c1)"], undone: [] };
  expect(await forkRun(harness.world, fork)).toEqual({ kind: "notConfirmed", effects });
});

test("children that are made again after the restore inherit the mark and ask", async () => {
  const scene = createScene("family");
  const noDeaths = { roll: () => 1 };
  await startIn(scene, { agent: "boss", key: null, input: { id: "b", steps: ["pay"], isFickle: true } });
  const backup = backUp(scene);
  await workFor(scene, noDeaths, 40);
  const orders = ["bw0-0", "bw1-0"];
  expect(orders.map((order) => scene.services.effects("pay", order))).toEqual([1, 1]);
  await restoreFrom(scene, backup, "all");
  const questions = await operate(scene, noDeaths);
  assertSafety("nothing is done twice", () =>
    expect(orders.map((order) => scene.services.effects("pay", order))).toEqual([1, 1]),
  );
  expect(questions.map(({ order }) => order).toSorted()).toEqual(orders);
});
