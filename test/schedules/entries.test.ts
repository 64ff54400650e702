/** Journal entries on DynamoDB: what lies between the put of an entry and the write of the row that names it. */
import { describe, expect, test } from "vitest";
import { ATTRIBUTES } from "../../src/adapters/aws/table/attributes.ts";
import type { Commit, Row } from "../../src/protocol/row.ts";
import { NOW } from "../../src/testing/conformance/run.ts";
import { rowItem } from "../../src/adapters/aws/table/item.ts";
import { dynamoTable } from "../support/aws/dynamo-table.ts";
import { AFTER_LEASE, mine, queued, rowAfter, tableOf } from "../support/aws/row-meetings.ts";

const bytes = (fill: number): Uint8Array => new Uint8Array(3_000).fill(fill);
const joined = (...fills: readonly number[]): Uint8Array => Buffer.concat(fills.map(bytes));
const commitOf = (row: Row, journal: Uint8Array | null, more: Partial<Commit> = {}): Commit =>
  mine.commit(row, { journal, ...more });
const journalOf = (row: Row | null): string | null =>
  row?.journal == null ? null : Buffer.from(row.journal).toString("hex");
const hex = (...fills: readonly number[]): string => Buffer.from(joined(...fills)).toString("hex");

/** A process that holds the run and has committed one entry. */
async function begun() {
  const table = tableOf(queued);
  const process = table.process();
  const held = rowAfter(await process.claim(mine.claim()));
  const first = rowAfter(await process.commit(commitOf(held, joined(1))));
  return { table, process, first };
}

test("each commit writes its own part and a small row, and another process reads the whole journal", async () => {
  const { table, process, first } = await begun();
  const second = rowAfter(await process.commit(commitOf(first, joined(1, 2))));
  expect(journalOf(second)).toBe(hex(1, 2));
  expect(table.item(mine.run)?.[ATTRIBUTES.journal]?.B?.byteLength).toBe(0);
  expect(journalOf(await table.process().read(mine.run, NOW))).toBe(hex(1, 2));
});

/** The claim of the next epoch, by another process. */
async function takenOver(table: ReturnType<typeof tableOf>) {
  const next = table.process();
  const entry = { ...mine.claim().entry, retry: 7 };
  const taken = rowAfter(await next.claim({ ...mine.claim({ owner: "a retry", now: AFTER_LEASE }), entry }));
  return { next, taken };
}

test("schedule 151: a frozen process puts its entry after the next epoch put another one into the same slot", async () => {
  const { table, process, first } = await begun();
  const { next, taken } = await takenOver(table);
  await next.commit({ ...commitOf(taken, joined(1, 3)), now: AFTER_LEASE });
  expect(await process.commit(commitOf(first, joined(1, 2)))).toMatchObject({ kind: "fenced" });
  expect(taken.epoch).toBeGreaterThan(first.epoch);
  expect(journalOf(await table.process().read(mine.run, NOW))).toBe(hex(1, 3));
});

test("schedule 152: a put whose answer was lost lands after a later put of the same process into the same slot", async () => {
  let isLosing = false;
  const late: (() => object)[] = [];
  const table = dynamoTable({
    clock: { after: (_, call) => (call(), () => undefined) },
    send: async ({ operation }, apply) => {
      if (operation !== "PutItem" || !isLosing) return apply();
      late.push(apply);
      throw new Error("the connection was lost");
    },
  });
  table.put(rowItem(queued));
  const process = table.process();
  const first = rowAfter(await process.commit(commitOf(rowAfter(await process.claim(mine.claim())), joined(1))));
  isLosing = true;
  expect(await process.commit(commitOf(first, joined(1, 2)))).toMatchObject({ kind: "ambiguous" });
  isLosing = false;
  expect(await process.commit(commitOf(first, joined(1, 4)))).toMatchObject({ kind: "committed" });
  expect(late).toHaveLength(1);
  expect(late[0]).toThrow("refused");
  expect(journalOf(await table.process().read(mine.run, NOW))).toBe(hex(1, 4));
});

test("schedule 153: a process dies before its entry is put, or before the row names it", async () => {
  for (const operation of ["PutItem", "UpdateItem"]) {
    const { table, process, first } = await begun();
    table.before(operation, () => Promise.reject(new Error("killed")));
    await process.commit(commitOf(first, joined(1, 2)));
    expect(journalOf(await table.process().read(mine.run, NOW))).toBe(hex(1));
    const { next, taken } = await takenOver(table);
    expect(journalOf(taken)).toBe(hex(1));
    await next.commit({ ...commitOf(taken, joined(1, 3)), now: AFTER_LEASE });
    expect(journalOf(await table.process().read(mine.run, NOW))).toBe(hex(1, 3));
  }
});

describe("between the reads of a row and of its entries", () => {
  test("schedule 154: a snapshot comes, and another journal is in the same slot", async () => {
    const { table, process, first } = await begun();
    table.before("Query", async () => {
      const cleared = rowAfter(await process.commit(commitOf(first, null)));
      await process.commit(commitOf(cleared, joined(7)));
    });
    const found = await table.process().read(mine.run, NOW);
    expect(found?.version).toBe(first.version + 2);
    expect(journalOf(found)).toBe(hex(7));
  });

  test("schedule 154: the run is removed and cleaned up", async () => {
    const { table } = await begun();
    table.before("Query", async () => {
      table.remove(mine.run);
      await table.process().forget(mine.of);
    });
    expect(await table.process().read(mine.run, NOW)).toBeNull();
  });
});

test("a put that the table throttles changes nothing, and the same commit lands when it is sent again", async () => {
  const { table, process, first } = await begun();
  const throttled = Object.assign(new Error("slow down"), { name: "ThrottlingException" });
  table.before("PutItem", () => Promise.reject(throttled));
  expect(await process.commit(commitOf(first, joined(1, 2)))).toMatchObject({ kind: "ambiguous", isBusy: true });
  expect(await table.process().read(mine.run, NOW)).toMatchObject({ version: first.version });
  expect(await process.commit(commitOf(first, joined(1, 2)))).toMatchObject({ kind: "committed" });
  expect(journalOf(await table.process().read(mine.run, NOW))).toBe(hex(1, 2));
});

test.each([
  ["flipped", (part: Uint8Array) => part.map((byte, index) => (index === 7 ? byte ^ 1 : byte))],
  ["truncated", (part: Uint8Array) => part.subarray(0, 100)],
])("an entry that is %s is named", async (_, damage) => {
  const { table, process, first } = await begun();
  await process.commit(commitOf(first, joined(1, 2)));
  const [, second] = table.sent.filter(({ operation }) => operation === "PutItem").map(({ input }) => input.Item ?? {});
  table.put({ ...second, [ATTRIBUTES.journal]: { B: damage(bytes(2)) } });
  await expect(table.process().read(mine.run, NOW)).rejects.toThrow(
    /entry 2 of the 2 that hold its journal \(.*\) does not match its digest/,
  );
});

test("after a snapshot the slots are filled again, and the clean-up removes the entries", async () => {
  const { table, process, first } = await begun();
  const cleared = rowAfter(await process.commit(commitOf(first, null)));
  await process.commit(commitOf(cleared, joined(5)));
  expect(journalOf(await table.process().read(mine.run, NOW))).toBe(hex(5));
  await table.process().forget(mine.of);
  await expect(table.process().read(mine.run, NOW)).rejects.toThrow("is missing");
});

test("an entry of a run that was removed meanwhile is removed by the process that put it", async () => {
  const { table, process, first } = await begun();
  table.remove(mine.run);
  expect(await process.commit(commitOf(first, joined(1, 2)))).toEqual({ kind: "missing" });
  const put = table.sent.findLast(({ operation }) => operation === "PutItem")?.input.Item;
  const removed = table.sent.findLast(({ operation }) => operation === "BatchWriteItem")?.input.RequestItems;
  expect(put?.[ATTRIBUTES.item]?.S).toContain("00001");
  expect(JSON.stringify(removed)).toContain(JSON.stringify(put?.[ATTRIBUTES.item]));
});
