/** Every task that meets a damaged row terminates, names the run, and continues with all other runs. */
import { describe, expect, test } from "vitest";
import type { Task } from "../../src/protocol/chain.ts";
import { TIMES } from "../../src/protocol/limits.ts";
import type { Row } from "../../src/protocol/row.ts";
import { runTask } from "../../src/maintenance/chain-tasks.ts";
import { purge } from "../../src/operations/purge.ts";
import { startRun } from "../../src/operations/start.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { send } from "../../src/operations/steer.ts";
import { verify } from "../../src/features/seals/verify.ts";
import { attemptBeat, beginRun, drive, runnerOf } from "../support/harness/drive.ts";
import { recordChildren, createIdleRun } from "../support/runs/parent-and-children.ts";
import { lastFullHour, createScheduleHarness, scheduledAgent } from "../support/harness/schedule-harness.ts";
import { LEVEL } from "../../src/core/levels.ts";
import { endedRun } from "../support/runs/leftover-objects.ts";
import {
  scriptedAgent,
  beatReply,
  MS,
  type Harness,
  createSupervisedHarness,
  executionNameOf,
} from "../support/harness/harness.ts";

/** The row lacks a field. */
function damage(harness: Harness, run: string): Partial<Row> {
  const { commitId: _, ...rest } = harness.row(run);
  harness.world.store.rows.set(run, rest as Row);
  return rest;
}

const perform = (harness: Harness, task: Task) =>
  runTask(runnerOf(harness.world, scriptedAgent({})))(task, harness.invocation());

const why = expect.stringContaining("its field commitId is missing") as string;

describe("the chain of a run whose row is damaged", () => {
  test("ends after one beat with an alarm and leaves the row unchanged", async () => {
    const harness = createSupervisedHarness();
    const payload = await beginRun(harness.world, scriptedAgent({}), {});
    const found = damage(harness, payload.run);
    for (const retry of [0, 1])
      expect(await beatReply(attemptBeat(runnerOf(harness.world, scriptedAgent({})), payload, retry))).toMatchObject({
        route: "superseded",
      });
    expect(harness.alarms).toMatchObject([
      { what: "Unreadable", run: payload.run, detail: { why } },
      { what: "Unreadable", run: payload.run },
    ]);
    expect(harness.row(payload.run)).toEqual(found);
  });

  test("ends within a beat at the commit that finds the damage", async () => {
    const harness = createSupervisedHarness();
    const payload = await beginRun(harness.world, scriptedAgent({}), {});
    const agent = scriptedAgent({ run: () => void damage(harness, payload.run) });
    expect(await drive(runnerOf(harness.world, agent), payload)).toMatchObject({ route: "superseded" });
    expect(harness.alarms).toMatchObject([{ what: "Unreadable", run: payload.run, detail: { why } }]);
  });

  test.each(["rescue", "renew"] as const)("ends at its %s", async (kind) => {
    const harness = createSupervisedHarness();
    const payload = await beginRun(harness.world, scriptedAgent({}), {});
    damage(harness, payload.run);
    const task = { kind, payload } as Task;
    expect(await perform(harness, task)).toMatchObject({ kind });
    expect(harness.alarms).toMatchObject([{ what: "Unreadable", run: payload.run, detail: { why } }]);
    expect(harness.world.chain.executions.size).toBe(1);
  });

  test("does not park; its execution runs one more beat, which finds the damage", async () => {
    const harness = createSupervisedHarness();
    const payload = await beginRun(harness.world, scriptedAgent({}), {});
    damage(harness, payload.run);
    const entry = { execution: executionNameOf(payload), epoch: 0, retry: 0 };
    const park = { kind: "park", payload, attempt: { ...entry, died: null }, token: "token" } as Task;
    expect(await perform(harness, park)).toEqual({ kind: "park" });
  });
});

describe("a parent and children with one damaged row", () => {
  test("a child continues when its parent's row is damaged, and its end waits until the parent can get it", async () => {
    const harness = createSupervisedHarness();
    const parent = await createIdleRun(harness, { key: "parent" });
    const child = await createIdleRun(harness, { key: "child", parent });
    const sound = harness.row(parent.run);
    damage(harness, parent.run);
    expect(await drive(runnerOf(harness.world, scriptedAgent({})), child)).toMatchObject({ route: "done" });
    expect(harness.row(child.run)).toMatchObject({ status: "completed", endNotified: false });
    harness.world.store.rows.set(parent.run, sound);
    await harness.sweep();
    expect(harness.row(child.run)).toMatchObject({ endNotified: true });
  });

  test("a parent cancels its other children when one row is damaged, and its end waits until all can be reached", async () => {
    const harness = createSupervisedHarness();
    const parent = await createIdleRun(harness, { key: "parent" });
    const [one, two] = [
      await createIdleRun(harness, { key: "one", parent }),
      await createIdleRun(harness, { key: "two", parent }),
    ];
    const payload = await recordChildren(harness, parent, [one.run, two.run]);
    const sound = harness.row(one.run);
    damage(harness, one.run);
    expect(await sendRequest(harness.world, { run: parent.run, want: "cancel" })).toBe("requested");
    const waiting = await drive(runnerOf(harness.world, scriptedAgent({})), payload);
    expect(waiting).toMatchObject({ route: "park" });
    expect(harness.row(two.run)).toMatchObject({ cancel: true });
    expect(harness.row(parent.run).status).toBe("running");
    harness.world.store.rows.set(one.run, sound);
    await drive(runnerOf(harness.world, scriptedAgent({})), waiting);
    expect(harness.row(one.run).cancel).toBe(true);
    for (const child of [one, two]) await drive(runnerOf(harness.world, scriptedAgent({})), child);
    await drive(runnerOf(harness.world, scriptedAgent({})), { ...waiting, epoch: harness.row(parent.run).epoch });
    expect(harness.row(parent.run)).toMatchObject({ status: "cancelled", endNotified: true });
  });
});

describe("the data of a run whose row is damaged", () => {
  test("is removed by no clean-up and no search for orphans, while data without a row is", async () => {
    const harness = createSupervisedHarness();
    const { run, born: incarnation } = await endedRun(harness, "key");
    const orphan = `runs/local/local-${"b".repeat(26)}/bbbbbbbbbb/snapshots/0`;
    await harness.world.objects.put(orphan, Uint8Array.of(1));
    damage(harness, run);
    const kept = [...harness.world.store.objects.keys()].filter((key) => key !== orphan);
    harness.clock.moveTo(harness.clock.now() + 2 * TIMES.orphanAgeMs);
    expect(await perform(harness, { kind: "orphans", after: null })).toEqual({ kind: "orphans", next: null });
    await perform(harness, { kind: "cleanUp", removed: [{ run, born: incarnation }] });
    expect([...harness.world.store.objects.keys()]).toEqual(kept);
    expect(harness.alarms).toMatchObject([{ what: "NotRemoved", run }]);
  });

  test("is removed when its row is gone", async () => {
    const harness = createSupervisedHarness();
    const { run, born: incarnation } = await endedRun(harness, "key");
    harness.world.store.rows.delete(run);
    await perform(harness, { kind: "cleanUp", removed: [{ run, born: incarnation }] });
    expect(harness.world.store.objects.size).toBe(0);
  });
});

describe("a schedule whose last run has a damaged row", () => {
  const damageIn = ({ harness }: ReturnType<typeof createScheduleHarness>, run: string): void =>
    void damage(harness, run);

  test("starts the next run, because no invocation can continue the damaged one", async () => {
    const at = createScheduleHarness(scheduledAgent());
    const first = lastFullHour(at) + MS.hour;
    at.harness.clock.moveTo(first);
    expect(await at.fire(first)).toMatchObject({ kind: "started" });
    damageIn(at, at.runOf(first));
    at.harness.clock.moveTo(first + MS.hour);
    expect(await at.fire(first + MS.hour)).toMatchObject({ kind: "started", run: at.runOf(first + MS.hour) });
  });

  test("starts no run beside one that a newer version of cairn continues", async () => {
    const at = createScheduleHarness(scheduledAgent());
    const first = lastFullHour(at) + MS.hour;
    at.harness.clock.moveTo(first);
    await at.fire(first);
    at.harness.changeRow({ run: at.runOf(first) }, { level: LEVEL + 1, phase: "Voting" as Row["phase"] });
    at.harness.clock.moveTo(first + MS.hour);
    expect(await at.fire(first + MS.hour)).toMatchObject({ kind: "skipped" });
  });

  test("does not wait for an unconfirmed firing whose run is damaged", async () => {
    const at = createScheduleHarness(scheduledAgent());
    const first = lastFullHour(at) + MS.hour;
    at.harness.clock.moveTo(first);
    // It dies after its run was created and before its execution was started.
    const start = () => Promise.reject(new Error("the process died"));
    await expect(at.fire(first, { world: { ...at.world, chain: { ...at.world.chain, start } } })).rejects.toThrow(
      "died",
    );
    at.lapse();
    damageIn(at, at.runOf(first));
    expect(await at.fire(first)).toMatchObject({ kind: "exists" });
    at.harness.clock.moveTo(first + MS.hour);
    expect(await at.fire(first + MS.hour)).toMatchObject({ kind: "started" });
  });
});

describe("an operator of a run with a damaged row", () => {
  test("gets the damage as the response to every request, and changes nothing", async () => {
    const harness = createSupervisedHarness();
    const { run } = await beginRun(harness.world, scriptedAgent({}), {});
    const found = damage(harness, run);
    const refused = { code: "RowDamaged", run };
    const words = { run, text: "take the train", by: "ann", id: "w" };
    await expect(send(harness.world, words)).rejects.toMatchObject(refused);
    await expect(purge(harness.world, run)).rejects.toMatchObject(refused);
    expect(await sendRequest(harness.world, { run, want: "cancel" })).toBe("unreadable");
    expect(harness.row(run)).toEqual(found);
  });

  test("learns of the damage when starting a run under the same key, and no second run is created", async () => {
    const harness = createSupervisedHarness();
    const { run } = await createIdleRun(harness, { key: "key" });
    const found = damage(harness, run);
    const asked = { agent: scriptedAgent({}), input: {}, tenant: "local", idempotencyKey: "key" };
    await expect(startRun(harness.world, asked)).rejects.toMatchObject({ code: "RowDamaged", run });
    // The damage may also happen between the read and the write.
    const table = { ...harness.world.table, read: async () => null };
    await expect(startRun({ ...harness.world, table }, asked)).rejects.toMatchObject({ code: "RowDamaged" });
    expect(harness.row(run)).toEqual(found);
  });

  test("learns from verify what is wrong with the row, even if it is damaged meanwhile", async () => {
    const harness = createSupervisedHarness();
    const { run } = await beginRun(harness.world, scriptedAgent({}), {});
    harness.changeRow({ run }, { snapshot: { ...harness.row(run).snapshot, digest: "0" } });
    const verified = { run, agent: null, readable: false, findings: [{ where: "the row", what: expect.any(String) }] };
    const get: typeof harness.world.objects.get = (key) => {
      damage(harness, run);
      return harness.world.objects.get(key);
    };
    const objects = { ...harness.world.objects, get };
    expect(await verify({ ...harness.world, objects }, { run })).toMatchObject(verified);
    expect(await verify(harness.world, { run })).toMatchObject(verified);
  });
});
