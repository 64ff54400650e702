/** Rows in the shards of the index `byStatus`: the contract, lists, rows that move between shards, and the requests. */
import { describe, expect, test } from "vitest";
import { ATTRIBUTES } from "../../../src/adapters/aws/table/attributes.ts";
import { rowItem } from "../../../src/adapters/aws/table/item.ts";
import { rowInItem } from "../../../src/adapters/aws/table/item-reader.ts";
import { STATUS_SHARDS, statusShard } from "../../../src/adapters/aws/table/keys.ts";
import type { Status } from "../../../src/core/phases.ts";
import { type Row, newRow } from "../../../src/protocol/row.ts";
import { CLAIM } from "../../../src/protocol/row-claim.ts";
import { COMMIT } from "../../../src/protocol/row-commit.ts";
import { childCases } from "../../../src/testing/conformance/children.ts";
import { claimCases, createCases } from "../../../src/testing/conformance/claims.ts";
import { commitCases, endCases } from "../../../src/testing/conformance/commits.ts";
import { damageCases } from "../../../src/testing/conformance/damage.ts";
import { levelCases } from "../../../src/testing/conformance/levels.ts";
import { messageCases, requestCases } from "../../../src/testing/conformance/messages.ts";
import { redriveCases } from "../../../src/testing/conformance/redrive.ts";
import { ENDED, NOW, allOf, subject, words } from "../../../src/testing/conformance/run.ts";
import { handOverCases, listCases, parkCases } from "../../../src/testing/conformance/waiting.ts";
import { type DynamoTable, dynamoTable } from "../../support/aws/dynamo-table.ts";
import { LANE, MEETINGS, mine, stored, tableOf } from "../../support/aws/row-meetings.ts";
import { tableWorld } from "../../support/aws/table-world.ts";

const CASES = [
  ...[...createCases, ...claimCases, ...commitCases, ...endCases, ...messageCases, ...requestCases, ...parkCases],
  ...[...handOverCases, ...listCases, ...damageCases, ...redriveCases, ...levelCases, ...childCases],
];

describe.each([1, 4, 16])("RunTable, with %i shards", (shards) => {
  test.each(CASES)("$name", async ({ run }) => {
    const memory = dynamoTable();
    const process = memory.process(undefined, shards);
    await run(tableWorld(memory, { table: process, inbox: process }));
    expect(memory.sent.length).toBeGreaterThan(0);
  });
});

test.each(MEETINGS)("with 16 shards %s is decided on the stored row", async (_, { seen, between, now, operation }) => {
  const table = tableOf(seen);
  const process = table.process(undefined, 16);
  await process.read(mine.run, NOW);
  table.put(rowItem(now));
  const expected = operation.decide(now, seen);
  expect(await operation.send(process, seen)).toEqual(expected);
  expect(stored(table)).toEqual(expected.kind === "purged" ? null : expected.row);
  const isKept = expected.kind !== "purged" && expected.row !== now && !LANE.has(between);
  if (isKept) expect(placeOf(table, mine.run)).toBe(statusShard(mine.run, 16));
});

const TENANT = "acme";
const LETTERS = [..."abcdefghijklmnopqrstuvwx"];

/** The shard of a row. */
const placeOf = (table: DynamoTable, run: string): number =>
  Number(table.item(run)?.[ATTRIBUTES.tenantStatus]?.S?.split("#")[2] ?? 0);

const creationOf = (letter: string) => subject({ table: null as never, tenant: TENANT }, letter).creation();

/** Runs of processes with each number of shards. */
async function filled(): Promise<{ readonly table: DynamoTable; readonly runs: readonly string[] }> {
  const table = dynamoTable();
  for (const [index, letter] of LETTERS.entries()) {
    const creation = { ...creationOf(letter), now: NOW + index };
    await table.process(undefined, STATUS_SHARDS[index % STATUS_SHARDS.length]).create(creation);
  }
  return { table, runs: LETTERS.map((letter) => creationOf(letter).run).toReversed() };
}

test.each([1, 2, 5, 23, 24, 100])(
  "a list in pages of %i has the runs of every shard once, in order of their times",
  async (limit) => {
    const { table, runs } = await filled();
    expect(new Set(runs.map((run) => placeOf(table, run))).size).toBeGreaterThan(5);
    for (const status of [null, "queued"] as const) {
      // Whatever the reader is set to: it reads what the table records.
      for (const reader of [table.process(), table.process(undefined, 16), table.process(undefined, null)]) {
        const query = { tenant: TENANT, status, limit, now: NOW };
        expect((await allOf((after) => reader.list({ ...query, after }))).rows).toEqual(runs);
      }
    }
  },
);

test("a row of the first shard moves into its shard with the next write, and keeps the level of its commits", async () => {
  for (const level of [undefined, 2, 9]) {
    const row: Row = { ...newRow(creationOf("b")), status: "running", ...(level === undefined ? {} : { level }) };
    const table = dynamoTable();
    table.put(rowItem(row));
    expect({ place: placeOf(table, row.run), statusShard: statusShard(row.run, 16) }).toEqual({
      place: 0,
      statusShard: expect.any(Number),
    });
    const process = table.process(undefined, 16);
    const claim = subject({ table: process, tenant: TENANT }, "b").claim({ level: 99 });
    expect(await process.decide(claim, CLAIM)).toMatchObject({ kind: "granted", row: { status: "running" } });
    const shard = placeOf(table, row.run);
    expect({ shard, isZero: shard === 0 }).toEqual({ shard: statusShard(row.run, 16), isZero: false });
    const kept = await table.process().read(row.run, NOW);
    expect({ status: kept?.status, epoch: kept?.epoch, level: kept?.level }).toEqual({
      status: "running",
      epoch: 1,
      level,
    });
    expect(table.item(row.run)?.[ATTRIBUTES.level]?.N).toBe(level?.toString());
  }
});

test("a process that writes no shards moves a row back with its next status, and both keep its level", async () => {
  const table = dynamoTable();
  const [before, after] = [table.process(undefined, 16), table.process()];
  const { run, ...at } = subject({ table: before, tenant: TENANT }, "b");
  const held = await at.granted();
  expect(placeOf(table, run)).toBe(statusShard(run, 16));
  const first = await after.decide(at.commit(held, { level: 2 }), COMMIT);
  expect(first).toMatchObject({ kind: "committed", row: { level: 2 } });
  expect((await before.read(run, NOW))?.level).toBe(2);
  const second = await before.decide(at.commit((first as { readonly row: Row }).row, { level: 3 }), COMMIT);
  expect(second).toMatchObject({ kind: "committed", row: { level: 3 } });
  expect({ place: placeOf(table, run), level: (await after.read(run, NOW))?.level }).toEqual({
    place: statusShard(run, 16),
    level: 3,
  });
  const ended = await after.decide(
    at.commit((second as { readonly row: Row }).row, { ...ENDED, release: true }),
    COMMIT,
  );
  expect(ended).toMatchObject({ kind: "committed", row: { level: 3, status: "completed" } });
  expect({ place: placeOf(table, run), level: (await before.read(run, NOW))?.level }).toEqual({ place: 0, level: 3 });
});

test("a key with a shard in which the run cannot be is damage", async () => {
  const row = newRow(creationOf("b"));
  const possible = new Set(STATUS_SHARDS.map((shards) => statusShard(row.run, shards)));
  for (let shard = 0; shard < 20; shard += 1) {
    const key = shard === 0 ? `${TENANT}#queued` : `${TENANT}#queued#${shard}`;
    const found = rowInItem({ ...rowItem(row), [ATTRIBUTES.tenantStatus]: { S: key } });
    expect({ shard, hasStatus: "status" in found }).toEqual({ shard, hasStatus: possible.has(shard) });
  }
  for (const key of [`${TENANT}#queued#0`, `${TENANT}#queued#01`, `${TENANT}#queued#`, `${TENANT}#queued#1#1`]) {
    expect("status" in rowInItem({ ...rowItem(row), [ATTRIBUTES.tenantStatus]: { S: key } })).toBe(false);
  }
});

test("a message and a request come too late for a run that ended in any shard", async () => {
  const ends: readonly Status[] = ["completed", "failed", "cancelled"];
  for (const shards of STATUS_SHARDS) {
    for (const status of ends) {
      const table = dynamoTable();
      const process = table.process(undefined, shards);
      const at = subject({ table: process, tenant: TENANT }, "b");
      await process.decide(at.commit(await at.granted(), { ...ENDED, status, release: true }), COMMIT);
      expect(await table.process().deliver(at.delivery(words("m")))).toMatchObject({ kind: "late" });
      expect((await table.process().request(at.request("cancel"))).kind).toBe("late");
      expect(table.item(at.run)?.[ATTRIBUTES.wakeCount]?.N).toBe("0");
    }
  }
});

const countOf = (table: DynamoTable, of: string): number =>
  table.sent.filter(({ operation }) => operation === of).length;

test.each([
  [1, 8, 1],
  [4, 32, 4],
  [16, 128, 16],
])("with %i shards a list takes %i queries, and %i for one status", async (shards, all, one) => {
  const table = dynamoTable();
  await table.process(undefined, shards).create(creationOf("b"));
  for (const [status, queries] of [[null, all] as const, ["queued", one] as const]) {
    const [before, read] = [countOf(table, "Query"), countOf(table, "GetItem")];
    await table.process().list({ tenant: TENANT, status, limit: 9, after: null, now: NOW });
    expect({ queries: countOf(table, "Query") - before, reads: countOf(table, "GetItem") - read }).toEqual({
      queries,
      reads: 1,
    });
  }
});

test("a process records its number of shards once, and one without shards reads and writes nothing for it", async () => {
  const table = dynamoTable();
  const requestsOf = async (shards: number | null, letters: string): Promise<readonly string[]> => {
    const requests: string[] = [];
    const process = table.process(({ operation }) => void requests.push(operation), shards);
    for (const letter of letters) await process.create(creationOf(letter));
    return requests;
  };
  const create = "TransactWriteItems";
  expect(await requestsOf(1, "ab")).toEqual([create, create]);
  expect(await requestsOf(4, "cd")).toEqual(["GetItem", "UpdateItem", create, create]);
  expect(await requestsOf(4, "ef")).toEqual(["GetItem", create, create]);
  // A client of an operator uses what the table records, and a smaller number stays recorded as it is.
  expect(await requestsOf(null, "gh")).toEqual(["GetItem", create, create]);
  expect(await requestsOf(2, "ij")).toEqual(["GetItem", create, create]);
  expect(await requestsOf(16, "kl")).toEqual(["GetItem", "UpdateItem", create, create]);
  expect(placeOf(table, creationOf("k").run)).toBe(statusShard(creationOf("k").run, 16));
});

test("while it is not known whether the number was recorded, rows go to the first shard", async () => {
  const table = dynamoTable();
  table.before("UpdateItem", () => Promise.reject(Object.assign(new Error("no answer"), { name: "TimeoutError" })));
  const process = table.process(undefined, 16);
  const lettersOfLater = LETTERS.filter((letter) => statusShard(creationOf(letter).run, 16) > 0);
  const [first = "", second = ""] = lettersOfLater;
  await process.create(creationOf(first));
  expect(placeOf(table, creationOf(first).run)).toBe(0);
  await process.create(creationOf(second));
  expect(placeOf(table, creationOf(second).run)).toBe(statusShard(creationOf(second).run, 16));
});
