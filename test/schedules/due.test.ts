/** Runs that a sweep of the runs that are due must not miss. */
import { expect, test } from "vitest";
import { rowItem } from "../../src/adapters/aws/table/item.ts";
import { StoreUnreachable, type World } from "../../src/ports/world.ts";
import { newRow, type Row } from "../../src/protocol/row.ts";
import { beginRun } from "../support/harness/drive.ts";
import { scriptedAgent, createSupervisedHarness } from "../support/harness/harness.ts";
import { dynamoTable } from "../support/aws/dynamo-table.ts";

const HOUR_MS = 3_600_000;

test("schedule 143: an older process claims a run that a newer one parked, and dies; a sweep of all runs finds it", async () => {
  const harness = createSupervisedHarness();
  await harness.sweep();
  const payload = await beginRun(harness.world, scriptedAgent({}), {});
  harness.stopExecution(payload);
  harness.passTime();
  // Its row still says that it is due at the end of the park, so a query of what is due does not return it.
  const alive: World["table"]["alive"] = (query) =>
    query.dueBy === undefined
      ? harness.world.table.alive(query)
      : Promise.resolve({ rows: [], damaged: [], behind: [], next: null });
  const world = { ...harness.world, table: { ...harness.world.table, alive } };
  await harness.sweep(world);
  expect(harness.row(payload.run).chain).toBe(1);
  harness.passTime(HOUR_MS);
  await harness.sweep(world);
  expect(harness.row(payload.run).chain).toBe(2);
});

test("schedule 144: a message comes to a parked run, and its sender dies before it wakes the run", async () => {
  const now = 1_700_000_000_000;
  const of = { run: "acme-aaaaaaaaaaaaaaaaaaaaaaaaaa", born: "aaaaaaaaaa" };
  const creation = { ...of, parent: null, tenant: "acme", agent: "a", agentVersion: "1", inputDigest: "in", now };
  const snapshot = { version: 0, key: "snapshots/0", digest: "digest" };
  const parked: Row = {
    ...newRow({ ...creation, snapshot, deadline: now + HOUR_MS }),
    ...{ status: "waiting", phase: "AwaitingApproval", wakeAt: now + HOUR_MS },
    park: { token: "token", entry: { execution: "e", epoch: 0, retry: 0 } },
  };
  const deliver = (store: ReturnType<typeof dynamoTable>) => {
    const message = { id: "m", body: { kind: "user", text: "go on", by: "ada" }, sentAt: now } as const;
    return store.process().deliver({ ...of, now, deadline: now + HOUR_MS, message });
  };
  for (const wake of [
    deliver,
    (store: ReturnType<typeof dynamoTable>) => store.process().request({ ...of, now, want: "resume" }),
  ]) {
    const store = dynamoTable();
    store.put(rowItem(parked));
    const due = async (dueBy: number): Promise<readonly string[]> => {
      const { rows } = await store.process().alive({ limit: 10, after: null, now, dueBy });
      return rows.map(({ run }) => run);
    };
    expect(await due(now)).toEqual([]);
    expect(await due(now + HOUR_MS)).toEqual([of.run]);
    await wake(store);
    expect(await due(now)).toEqual([of.run]);
  }
});

test("schedule 145: a sweep of all runs ends before the last run, and the next sweep judges all of them", async () => {
  const harness = createSupervisedHarness();
  const asked: (number | undefined)[] = [];
  let isAway = true;
  const alive: World["table"]["alive"] = (query) => {
    asked.push(query.dueBy);
    if (isAway) return Promise.reject(new StoreUnreachable("the table is away"));
    return harness.world.table.alive(query);
  };
  const world = { ...harness.world, table: { ...harness.world.table, alive } };
  await expect(harness.sweep(world)).rejects.toThrow("the table is away");
  isAway = false;
  await harness.sweep(world);
  expect(asked).toEqual([undefined, undefined]);
  await harness.sweep(world);
  expect(asked.at(-1)).toBe(harness.clock.now());
});
