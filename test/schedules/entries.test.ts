/** Journal entries on DynamoDB: what lies between the put of an entry and the write of the row that names it. */
import { expect, test } from "vitest";
import { NOW } from "../../src/testing/conformance/run.ts";
import { rowItem } from "../../src/adapters/aws/table/item.ts";
import { dynamoTable } from "../support/aws/dynamo-table.ts";
import { begun, commitOf, hex, joined, journalOf } from "../support/aws/journal-entries.ts";
import { AFTER_LEASE, mine, queued, rowAfter, type tableOf } from "../support/aws/row-meetings.ts";
import { COMMIT } from "../../src/protocol/row-commit.ts";
import { CLAIM } from "../../src/protocol/row-claim.ts";

/** The claim of the next epoch, by another process. */
async function takenOver(table: ReturnType<typeof tableOf>) {
  const next = table.process();
  const entry = { ...mine.claim().entry, retry: 7 };
  const taken = rowAfter(await next.decide({ ...mine.claim({ owner: "a retry", now: AFTER_LEASE }), entry }, CLAIM));
  return { next, taken };
}

test("schedule 151: a frozen process puts its entry after the next epoch put another one into the same slot", async () => {
  const { table, process, first } = await begun();
  const { next, taken } = await takenOver(table);
  await next.decide({ ...commitOf(taken, joined(1, 3)), now: AFTER_LEASE }, COMMIT);
  expect(await process.decide(commitOf(first, joined(1, 2)), COMMIT)).toMatchObject({ kind: "fenced" });
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
  const first = rowAfter(
    await process.decide(commitOf(rowAfter(await process.decide(mine.claim(), CLAIM)), joined(1)), COMMIT),
  );
  isLosing = true;
  expect(await process.decide(commitOf(first, joined(1, 2)), COMMIT)).toMatchObject({ kind: "ambiguous" });
  isLosing = false;
  expect(await process.decide(commitOf(first, joined(1, 4)), COMMIT)).toMatchObject({ kind: "committed" });
  expect(late).toHaveLength(1);
  expect(late[0]).toThrow("refused");
  expect(journalOf(await table.process().read(mine.run, NOW))).toBe(hex(1, 4));
});

test("schedule 153: a process dies before its entry is put, or before the row names it", async () => {
  for (const operation of ["PutItem", "UpdateItem"]) {
    const { table, process, first } = await begun();
    table.before(operation, () => Promise.reject(new Error("killed")));
    await process.decide(commitOf(first, joined(1, 2)), COMMIT);
    expect(journalOf(await table.process().read(mine.run, NOW))).toBe(hex(1));
    const { next, taken } = await takenOver(table);
    expect(journalOf(taken)).toBe(hex(1));
    await next.decide({ ...commitOf(taken, joined(1, 3)), now: AFTER_LEASE }, COMMIT);
    expect(journalOf(await table.process().read(mine.run, NOW))).toBe(hex(1, 3));
  }
});

test("schedule 154: another journal is in the slot, or the run is gone, when the entries of a row are read", async () => {
  const { table, process, first } = await begun();
  table.before("Query", async () => {
    const cleared = rowAfter(await process.decide(commitOf(first, null), COMMIT));
    await process.decide(commitOf(cleared, joined(7)), COMMIT);
  });
  const found = await table.process().read(mine.run, NOW);
  expect(found?.version).toBe(first.version + 2);
  expect(journalOf(found)).toBe(hex(7));
  table.before("Query", async () => {
    table.remove(mine.run);
    await table.process().forget(mine.of);
  });
  expect(await table.process().read(mine.run, NOW)).toBeNull();
});
