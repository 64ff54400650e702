/** A store that was restored from a backup: its rows are older than what became of their runs. */
import { expect, test } from "vitest";
import { startExecution } from "../../src/engine/context/executions.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { snapshotAt } from "../../src/history/object-keys.ts";
import { verify } from "../../src/features/seals/verify.ts";
import { decide } from "../../src/operations/decide.ts";
import { listGates } from "../../src/operations/approvals.ts";
import { reconcile } from "../../src/operations/reconcile.ts";
import { checkRun } from "../../src/operations/checked.ts";
import { fenceRestored } from "../../src/operations/restored.ts";
import { show } from "../../src/operations/views.ts";
import type { Row } from "../../src/protocol/row.ts";
import { decideRedrive } from "../../src/protocol/row-redrive.ts";
import { RESTORED_CHECK } from "../../src/protocol/row-restored.ts";
import { assertSafety } from "../support/gate/safety.ts";
import { dieInTool, freezeBeforeCall, startKeyedRun, sweep } from "../support/harness/chain-steps.ts";
import { beginRun } from "../support/harness/drive.ts";
import { scriptedAgent, callsThenFinal, createChainHarness, flushPromises, MS } from "../support/harness/harness.ts";
import { answer, asked, clerk, lose, restoreAlone, resume } from "../support/restores/clerk.ts";

test("schedule 109: a process from after the backup thaws, and the restored run no longer has its epoch", async () => {
  const harness = createChainHarness();
  const keys: string[] = [];
  const run = ({ key }: { readonly key: string }): string => {
    keys.push(key);
    return "acted";
  };
  const agent = scriptedAgent({ reply: callsThenFinal(3), run });
  const payload = await beginRun(harness.world, agent, {});
  await harness.runAttempt(agent);
  const backup = structuredClone(harness.row(payload.run));
  const before = harness.startAttempt();
  const frozen = freezeBeforeCall(harness.world, "commit");
  void before.perform({ world: frozen.world, agent });
  await flushPromises();
  expect(harness.row(payload.run).epoch).toBe(backup.epoch + 1);
  harness.clock.moveTo(harness.clock.now() + MS.beat + MS.skew);
  before.end(null);
  await harness.runUntilIdle(agent);
  expect(harness.row(payload.run)).toMatchObject({ status: "completed" });
  const done = new Set(keys);

  harness.world.store.rows.set(backup.run, backup);
  expect(await fenceRestored(harness.world)).toMatchObject({ runs: [backup.run], held: [], damaged: [] });
  const fenced = harness.row(backup.run);
  expect(fenced).toMatchObject({ pause: true, status: "paused", owner: null, version: backup.version });
  // A restore is no takeover, and nothing of the run died.
  expect({ takeovers: fenced.takeovers, deaths: fenced.deaths }).toEqual({
    takeovers: backup.takeovers,
    deaths: backup.deaths,
  });
  frozen.thaw();
  await flushPromises();
  expect(harness.row(backup.run)).toEqual(fenced);

  await startExecution(harness.world, fenced);
  await harness.runUntilIdle(agent);
  expect(harness.row(backup.run)).toMatchObject({ status: "paused", version: expect.any(Number) });
  await sendRequest(harness.world, { run: backup.run, want: "resume" });
  await harness.runUntilIdle(agent);
  expect(harness.row(backup.run)).toMatchObject({ status: "completed" });
  expect(await verify(harness.world, { run: backup.run })).toMatchObject({ findings: [], readable: true });
  // What was done after the backup is done again, under the keys that it had.
  expect(new Set(keys)).toEqual(done);
  expect(keys.length).toBeGreaterThan(done.size);
});

test("schedule 221: the model words its reply differently after the restore, and the derived key is new", async () => {
  const harness = createChainHarness();
  const done: string[] = [];
  let words = "pay";
  const agent = clerk({ effect: "probed", words: () => words, done });
  const { run } = await lose(harness, agent);
  words = "please pay";
  await resume(harness, agent, run);
  assertSafety("nothing is done twice", () => expect(done).toHaveLength(1));
  expect(await asked(harness, run)).toHaveLength(1);
  expect(harness.row(run)).toMatchObject({ status: "blocked" });
});

test("schedule 222: the before-image is taken after what may have happened, so its call asks", async () => {
  const harness = createChainHarness();
  const done: string[] = [];
  const agent = clerk({
    effect: "probed",
    words: () => "set",
    done,
    part: {
      key: () => "order-1",
      before: () => done.length,
      probe: ({ before }: { readonly before: unknown }) =>
        done.length === before ? { kind: "absent" } : { kind: "happened", result: "acted" },
    } as never,
  });
  const { run } = await lose(harness, agent);
  await resume(harness, agent, run);
  assertSafety("nothing is done twice", () => expect(done).toHaveLength(1));
  expect(await asked(harness, run)).toHaveLength(1);
});

test("schedule 223: an answer `retry` from before the backup was applied in the lost time, and asks anew", async () => {
  const harness = createChainHarness();
  const done: string[] = [];
  const agent = clerk({ effect: "unsafe", words: () => "pay", done });
  const { run } = await beginRun(harness.world, agent, {});
  await dieInTool(harness, agent);
  await harness.runUntilIdle(agent);
  const [unknown] = (await show(harness.world, run))?.unknown ?? [];
  harness.clock.moveTo(unknown?.reconcilableFrom ?? 0);
  expect(await reconcile(harness.world, answer(run, "retry"))).toMatchObject({ kind: "accepted" });
  const { rows, messages } = harness.world.store;
  const backup = structuredClone({ rows: [...rows], messages: [...messages] });
  await harness.runUntilIdle(agent);
  expect({ done: done.length, status: harness.row(run).status }).toEqual({ done: 1, status: "completed" });
  for (const [name, map] of [
    ["rows", rows],
    ["messages", messages],
  ] as const) {
    map.clear();
    for (const [key, value] of backup[name]) (map as Map<string, unknown>).set(key, value);
  }
  const version = harness.row(run).snapshot.version;
  for (const key of harness.world.store.objects.keys())
    if ((snapshotAt(key)?.version ?? 0) > version) harness.world.store.objects.delete(key);
  harness.clock.moveTo(harness.clock.now() + MS.beat + MS.skew);
  await fenceRestored(harness.world);
  await startExecution(harness.world, harness.row(run));
  await resume(harness, agent, run);
  assertSafety("nothing is done twice", () => expect(done).toHaveLength(1));
  expect(await asked(harness, run)).toEqual([expect.stringContaining("this run was restored")]);
});

test("schedule 220: a keyed start of the lost time is sent again, and waits for the word", async () => {
  const harness = createChainHarness();
  const done: string[] = [];
  const agent = clerk({ effect: "unsafe", words: () => "pay", done });
  const other = await beginRun(harness.world, agent, {});
  await harness.runUntilIdle(agent);
  const { run } = await startKeyedRun(harness.world, { agent, key: "k" });
  await harness.runUntilIdle(agent);
  expect(done).toHaveLength(2);
  harness.world.store.rows.delete(run);
  harness.world.store.tombstones.delete(run);
  await fenceRestored(harness.world);
  const again = await startKeyedRun(harness.world, { agent, key: "k" });
  expect(again).toMatchObject({ run, pause: true, status: "paused", restored: { waits: true } });
  await sweep(harness.world);
  await harness.runUntilIdle(agent);
  assertSafety("nothing is done twice", () => expect(done).toHaveLength(2));
  expect((await listGates(harness.world, { tenant: "local", after: null, bytesMax: null })).restored).toMatchObject([
    { run, waits: true },
  ]);
  // Another start of the key finds that run, and one without a key is none of the lost time.
  expect((await beginRun(harness.world, agent, {})).run).not.toBe(other.run);
  expect(await checkRun(harness.world, { run, by: "ann" })).toMatchObject({ kind: "checked" });
  await harness.runUntilIdle(agent);
  expect({ status: harness.row(run).status, done: done.length }).toEqual({ status: "completed", done: 4 });
});

test("schedule 219: a failed run was redriven in the lost time, and a redrive after the restore takes other epochs", async () => {
  const harness = createChainHarness();
  const agent = clerk({ effect: "unsafe", words: () => "pay", done: [] });
  const { run } = await beginRun(harness.world, agent, {});
  const failed: Row = { ...harness.row(run), status: "failed", phase: "Failed", epoch: 3, endNotified: true };
  const note = { id: "1", by: "ann", why: "mended" };
  const redriven = decideRedrive(failed, { ...failed, now: 9, deadline: 99, note, restored: { at: 5, asOf: 4 } });
  expect(redriven.row).toMatchObject({ epoch: 1_000_003, restored: { at: 5, asOf: 4, epoch: 1_000_003 } });
  expect(decideRedrive(failed, { ...failed, now: 9, deadline: 99, note }).row.epoch).toBe(4);
});

test("schedule 224: the word about one restore says nothing about the next one", async () => {
  const harness = createChainHarness();
  const agent = clerk({ effect: "unsafe", words: () => "pay", done: [] });
  const { run, born } = await beginRun(harness.world, agent, {});
  await fenceRestored(harness.world);
  const first = harness.row(run).restored?.at ?? 0;
  harness.clock.moveTo(harness.clock.now() + 1_000);
  await fenceRestored(harness.world);
  const now = harness.clock.now();
  const check = { run, born, now, by: "ann" };
  expect(await harness.world.table.decide({ ...check, restoredAt: first }, RESTORED_CHECK)).toMatchObject({
    kind: "same",
  });
  expect(harness.row(run).restored?.checked).toBeUndefined();
  expect(await harness.world.table.decide({ ...check, restoredAt: first + 1_000 }, RESTORED_CHECK)).toMatchObject({
    kind: "checked",
  });
});

test("schedule 207: a gate of before the backup is approved after the restore, and one question says both", async () => {
  const harness = createChainHarness();
  const done: string[] = [];
  const agent = clerk({ effect: "unsafe", words: () => "pay", done, part: { approval: "always" } });
  const { run } = await beginRun(harness.world, agent, {});
  await harness.runUntilIdle(agent);
  const backup = structuredClone(harness.row(run));
  const [gate] = (await show(harness.world, run))?.gates ?? [];
  const approve = { run, gate: gate?.gate ?? "", as: "approve", args: null, by: "ann", note: null } as const;
  expect(await decide(harness.world, approve)).toMatchObject({ kind: "accepted" });
  await harness.runUntilIdle(agent);
  expect({ done: done.length, status: harness.row(run).status }).toEqual({ done: 1, status: "completed" });
  restoreAlone(harness, backup);
  harness.clock.moveTo(harness.clock.now() + MS.beat + MS.skew);
  await fenceRestored(harness.world);
  await startExecution(harness.world, harness.row(run));
  await harness.runUntilIdle(agent);
  // While it is paused no gate invites an approval that would be asked about again.
  expect(await show(harness.world, run)).toMatchObject({ status: "paused", gates: [] });
  await resume(harness, agent, run);
  assertSafety("nothing is done twice", () => expect(done).toHaveLength(1));
  expect(await asked(harness, run)).toEqual([expect.stringContaining("this run was restored from its state of")]);
  expect((await show(harness.world, run))?.unknown).toMatchObject([
    { lostTime: true, approval: "this tool always needs approval" },
  ]);
  expect((await show(harness.world, run))?.gates).toEqual([]);
  // The old gate takes no decision any more.
  expect((await decide(harness.world, approve)).kind).not.toBe("accepted");
  harness.clock.moveTo((await show(harness.world, run))?.unknown[0]?.reconcilableFrom ?? 0);
  expect(await reconcile(harness.world, answer(run, "retry"))).toMatchObject({ kind: "accepted" });
  await harness.runUntilIdle(agent);
  // The answer approves it, too: there is no second question.
  expect({ status: harness.row(run).status, done: done.length }).toEqual({ status: "completed", done: 2 });
  expect(await verify(harness.world, { run })).toMatchObject({ findings: [], readable: true });
});
