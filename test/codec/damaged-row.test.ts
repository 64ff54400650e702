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
import { verify } from "../../src/history/verify.ts";
import { attempt, begin, drive, runnerOf } from "../support/drive.ts";
import { adopts, born } from "../support/family.ts";
import { HOUR, hourOf, plot, scheduled } from "../support/firing.ts";
import { LEVEL } from "../../src/core/levels.ts";
import { endedRun } from "../support/remains.ts";
import { type Room, change, invocation, nameOf, room, sweep } from "../support/supervise.ts";
import { actor, replyOf, rowOf } from "../support/stage.ts";

/** The row lacks a field. */
function damage(on: Room, run: string): Partial<Row> {
  const { commitId: _, ...rest } = rowOf(on, run);
  on.world.store.rows.set(run, rest as Row);
  return rest;
}

const perform = (on: Room, task: Task) => runTask(runnerOf(on.world, actor({})))(task, invocation(on));

const why = expect.stringContaining("its field commitId is missing") as string;

describe("the chain of a run whose row is damaged", () => {
  test("ends after one beat with an alarm and leaves the row unchanged", async () => {
    const on = room();
    const payload = await begin(on.world, actor({}), {});
    const found = damage(on, payload.run);
    for (const retry of [0, 1])
      expect(await replyOf(attempt(runnerOf(on.world, actor({})), payload, retry))).toMatchObject({
        route: "superseded",
      });
    expect(on.alarms).toMatchObject([
      { what: "Unreadable", run: payload.run, detail: { why } },
      { what: "Unreadable", run: payload.run },
    ]);
    expect(rowOf(on, payload.run)).toEqual(found);
  });

  test("ends within a beat at the commit that finds the damage", async () => {
    const on = room();
    const payload = await begin(on.world, actor({}), {});
    const agent = actor({ run: () => void damage(on, payload.run) });
    expect(await drive(runnerOf(on.world, agent), payload)).toMatchObject({ route: "superseded" });
    expect(on.alarms).toMatchObject([{ what: "Unreadable", run: payload.run, detail: { why } }]);
  });

  test.each(["rescue", "renew"] as const)("ends at its %s", async (kind) => {
    const on = room();
    const payload = await begin(on.world, actor({}), {});
    damage(on, payload.run);
    const task = { kind, payload } as Task;
    expect(await perform(on, task)).toMatchObject({ kind });
    expect(on.alarms).toMatchObject([{ what: "Unreadable", run: payload.run, detail: { why } }]);
    expect(on.world.chain.executions.size).toBe(1);
  });

  test("does not park; its execution runs one more beat, which finds the damage", async () => {
    const on = room();
    const payload = await begin(on.world, actor({}), {});
    damage(on, payload.run);
    const entry = { execution: nameOf(payload), epoch: 0, retry: 0 };
    const park = { kind: "park", payload, attempt: { ...entry, died: null }, token: "token" } as Task;
    expect(await perform(on, park)).toEqual({ kind: "park" });
  });
});

describe("a family with one damaged row", () => {
  test("a child continues when its parent's row is damaged, and its end waits until the parent can get it", async () => {
    const on = room();
    const parent = await born(on, { key: "parent" });
    const child = await born(on, { key: "child", parent });
    const sound = rowOf(on, parent.run);
    damage(on, parent.run);
    expect(await drive(runnerOf(on.world, actor({})), child)).toMatchObject({ route: "done" });
    expect(rowOf(on, child.run)).toMatchObject({ status: "completed", endNotified: false });
    on.world.store.rows.set(parent.run, sound);
    await sweep(on);
    expect(rowOf(on, child.run)).toMatchObject({ endNotified: true });
  });

  test("a parent cancels its other children when one row is damaged, and its end waits until all can be reached", async () => {
    const on = room();
    const parent = await born(on, { key: "parent" });
    const [one, two] = [await born(on, { key: "one", parent }), await born(on, { key: "two", parent })];
    const payload = await adopts(on, parent, [one.run, two.run]);
    const sound = rowOf(on, one.run);
    damage(on, one.run);
    expect(await sendRequest(on.world, { run: parent.run, want: "cancel" })).toBe("requested");
    expect(await drive(runnerOf(on.world, actor({})), payload)).toMatchObject({ route: "done" });
    expect(rowOf(on, two.run)).toMatchObject({ cancel: true });
    expect(rowOf(on, parent.run)).toMatchObject({ status: "cancelled", endNotified: false });
    on.world.store.rows.set(one.run, sound);
    await sweep(on);
    expect([rowOf(on, one.run).cancel, rowOf(on, parent.run).endNotified]).toEqual([true, true]);
  });
});

describe("the data of a run whose row is damaged", () => {
  test("is removed by no clean-up and no search for orphans, while data without a row is", async () => {
    const on = room();
    const { run, born: incarnation } = await endedRun(on, "key");
    const orphan = `runs/local/local-${"b".repeat(26)}/bbbbbbbbbb/snapshots/0`;
    await on.world.objects.put(orphan, Uint8Array.of(1));
    damage(on, run);
    const kept = [...on.world.store.objects.keys()].filter((key) => key !== orphan);
    on.clock.moveTo(on.clock.now() + 2 * TIMES.orphanAgeMs);
    expect(await perform(on, { kind: "orphans", after: null })).toEqual({ kind: "orphans", next: null });
    await perform(on, { kind: "cleanUp", run, born: incarnation });
    expect([...on.world.store.objects.keys()]).toEqual(kept);
    expect(on.alarms).toMatchObject([{ what: "NotRemoved", run }]);
  });

  test("is removed when its row is gone", async () => {
    const on = room();
    const { run, born: incarnation } = await endedRun(on, "key");
    on.world.store.rows.delete(run);
    await perform(on, { kind: "cleanUp", run, born: incarnation });
    expect(on.world.store.objects.size).toBe(0);
  });
});

describe("a schedule whose last run has a damaged row", () => {
  const damageIn = ({ on }: ReturnType<typeof plot>, run: string): void => void damage(on, run);

  test("starts the next run, because no invocation can continue the damaged one", async () => {
    const at = plot(scheduled());
    const first = hourOf(at) + HOUR;
    at.on.clock.moveTo(first);
    expect(await at.fire(first)).toMatchObject({ kind: "started" });
    damageIn(at, at.runOf(first));
    at.on.clock.moveTo(first + HOUR);
    expect(await at.fire(first + HOUR)).toMatchObject({ kind: "started", run: at.runOf(first + HOUR) });
  });

  test("starts no run beside one that a newer version of cairn continues", async () => {
    const at = plot(scheduled());
    const first = hourOf(at) + HOUR;
    at.on.clock.moveTo(first);
    await at.fire(first);
    change(at.on, { run: at.runOf(first) }, { level: LEVEL + 1, phase: "Voting" as Row["phase"] });
    at.on.clock.moveTo(first + HOUR);
    expect(await at.fire(first + HOUR)).toMatchObject({ kind: "skipped" });
  });

  test("does not wait for an unconfirmed firing whose run is damaged", async () => {
    const at = plot(scheduled());
    const first = hourOf(at) + HOUR;
    at.on.clock.moveTo(first);
    // It dies after its run was created and before its execution was started.
    const start = () => Promise.reject(new Error("the process died"));
    await expect(at.fire(first, { world: { ...at.world, chain: { ...at.world.chain, start } } })).rejects.toThrow(
      "died",
    );
    at.lapse();
    damageIn(at, at.runOf(first));
    expect(await at.fire(first)).toMatchObject({ kind: "exists" });
    at.on.clock.moveTo(first + HOUR);
    expect(await at.fire(first + HOUR)).toMatchObject({ kind: "started" });
  });
});

describe("an operator", () => {
  test("gets the damage as the answer to every request, and changes nothing", async () => {
    const on = room();
    const { run } = await begin(on.world, actor({}), {});
    const found = damage(on, run);
    const refused = { code: "RowDamaged", run };
    const words = { run, text: "take the train", by: "ann", id: "w" };
    await expect(send(on.world, words)).rejects.toMatchObject(refused);
    await expect(purge(on.world, run)).rejects.toMatchObject(refused);
    expect(await sendRequest(on.world, { run, want: "cancel" })).toBe("unreadable");
    expect(rowOf(on, run)).toEqual(found);
  });

  test("who starts a run under the same key again learns of the damage, and no second run is created", async () => {
    const on = room();
    const { run } = await born(on, { key: "key" });
    const found = damage(on, run);
    const asked = { agent: actor({}), input: {}, tenant: "local", idempotencyKey: "key" };
    await expect(startRun(on.world, asked)).rejects.toMatchObject({ code: "RowDamaged", run });
    // The damage may also happen between the read and the write.
    const table = { ...on.world.table, read: async () => null };
    await expect(startRun({ ...on.world, table }, asked)).rejects.toMatchObject({ code: "RowDamaged" });
    expect(rowOf(on, run)).toEqual(found);
  });

  test("who verifies it learns what is wrong with its row, even if it is damaged meanwhile", async () => {
    const on = room();
    const { run } = await begin(on.world, actor({}), {});
    change(on, { run }, { snapshot: { ...rowOf(on, run).snapshot, digest: "0" } });
    const verified = { run, agent: null, readable: false, findings: [{ where: "the row", what: expect.any(String) }] };
    const get: typeof on.world.objects.get = (key) => {
      damage(on, run);
      return on.world.objects.get(key);
    };
    const objects = { ...on.world.objects, get };
    expect(await verify({ ...on.world, objects }, { run })).toMatchObject(verified);
    expect(await verify(on.world, { run })).toMatchObject(verified);
  });
});
