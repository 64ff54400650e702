/** Compare-and-swap on rows: an operation that decides on a remembered row gives what it would give on the stored one. */
import { expect, test } from "vitest";
import { rowItem } from "../../../src/adapters/aws/table/item.ts";
import { type Row, wokenRow } from "../../../src/protocol/row.ts";
import { NOW } from "../../../src/testing/conformance/run.ts";
import { dynamoTable } from "../../support/aws/dynamo-table.ts";
import {
  AFTER_LEASE,
  LANE,
  MEETINGS,
  OPERATIONS,
  ROWS,
  endOf,
  held,
  mine,
  queued,
  releaseOf,
  rowAfter,
  stored,
  tableOf,
} from "../../support/aws/row-meetings.ts";
import { FORMAT } from "../../../src/protocol/row.ts";
import { HAND_OVER } from "../../../src/protocol/row-hand-over.ts";
import { COMMIT } from "../../../src/protocol/row-commit.ts";
import { PARK } from "../../../src/protocol/row-park.ts";
import { CLAIM } from "../../../src/protocol/row-claim.ts";

/** Decisions that hold only for what they saw of messages and requests. */
const COUNTING = new Set(["park", "terminal commit", "word about a restore"]);

test("every operation meets what every other process may have written before it", () => {
  expect(MEETINGS.length).toBeGreaterThan(250);
});

test.each(MEETINGS)("%s is decided on the stored row", async (_title, { seen, between, now, operation, title }) => {
  const table = tableOf(seen);
  const process = table.process();
  expect(await process.read(mine.run, NOW)).toEqual(seen);
  table.put(rowItem(now));
  const expected = operation.decide(now, seen);
  expect(await operation.send(process, seen)).toEqual(expected);
  expect(stored(table)).toEqual(expected.kind === "purged" ? null : expected.row);
  const refused = table.sent.filter(({ isRefused }) => isRefused).length;
  // What messages and requests write refuses no write but those that must not overlook it (schedule 111).
  expect(refused).toBeLessThanOrEqual(LANE.has(between) && !COUNTING.has(title) ? 0 : 1);
});

test.each(Object.entries(OPERATIONS))("a %s of a remembered row that is gone is missing", async (_, operation) => {
  for (const seen of Object.values(ROWS)) {
    const table = tableOf(seen);
    const process = table.process();
    await process.read(mine.run, NOW);
    table.remove(mine.run);
    expect(await operation.send(process, seen)).toEqual({ kind: "missing" });
    expect(table.item(mine.run)).toBeUndefined();
  }
});

test("of fifty processes that claim a row at once, one is granted, and each writes once at most", async () => {
  const table = tableOf(queued);
  const owners = Array.from({ length: 50 }, (_, index) => `owner ${index}`);
  const outcomes = await Promise.all(owners.map((owner) => table.process().decide(mine.claim({ owner }), CLAIM)));
  const granted = outcomes.filter(({ kind }) => kind === "granted");
  expect(granted).toHaveLength(1);
  expect(outcomes.filter(({ kind }) => kind === "superseded")).toHaveLength(49);
  expect(table.sent.filter(({ operation }) => operation === "UpdateItem")).toHaveLength(50);
  expect(stored(table)).toMatchObject({ epoch: 1, takeovers: 0, claims: 1 });
});

test("a message that arrives before the write of an end refuses it, and the answer says so at once", async () => {
  const table = tableOf(held);
  const process = table.process();
  await process.read(mine.run, NOW);
  table.before("UpdateItem", () => table.put(rowItem(wokenRow(held, held.deadline))));
  expect(await process.decide(endOf(held), COMMIT)).toMatchObject({
    kind: "woken",
    row: { wakeCount: 1, status: "running" },
  });
  expect(table.sent.map(({ operation }) => operation)).toEqual(["GetItem", "UpdateItem"]);
});

test("a creation returns the row that is stored, and its process claims it without a read", async () => {
  const table = dynamoTable();
  const process = table.process();
  const made = await process.create({ ...mine.creation(), ...{ unknown: "not stored" } });
  expect(made).toEqual({ kind: "created", row: stored(table) });
  expect(await process.decide(mine.claim(), CLAIM)).toMatchObject({ kind: "granted" });
  expect(table.sent.map(({ operation }) => operation)).toEqual(["TransactWriteItems", "UpdateItem"]);
});

test("a beat reads its row once, and each further write of its process costs one request", async () => {
  const table = tableOf(queued);
  const process = table.process();
  const holding = rowAfter(await process.decide(mine.claim(), CLAIM));
  const saved = rowAfter(await process.decide(mine.commit(holding), COMMIT));
  await process.decide(releaseOf(saved), COMMIT);
  await process.decide(mine.park(rowAfter({ kind: "", row: stored(table) as Row })), PARK);
  expect(table.sent.map(({ operation }) => operation)).toEqual(["GetItem", ...Array(4).fill("UpdateItem")]);
});

test("a row that changes before each write is ambiguous after four of them, so its caller sends it again", async () => {
  const table = tableOf(held);
  for (let change = 1; change <= 4; change += 1) {
    table.before("UpdateItem", () => table.put(rowItem({ ...held, epoch: 1 + change })));
  }
  const over = await table.process().decide(mine.handOver({ now: AFTER_LEASE }), HAND_OVER);
  expect(over).toMatchObject({ kind: "ambiguous", why: expect.stringContaining("changed 4 times") });
  expect(table.sent.filter(({ operation }) => operation === "UpdateItem")).toHaveLength(4);
});

test("attributes that only a newer version knows are kept", async () => {
  const table = dynamoTable();
  table.put({ ...rowItem(queued), future: { S: "kept" } });
  expect(await table.process().decide(mine.claim(), CLAIM)).toMatchObject({ kind: "granted", row: { epoch: 1 } });
  expect(table.item(mine.run)).toMatchObject({ future: { S: "kept" } });
});

test.each([
  ["another incarnation", { born: "cccccccccc" }, "missing"],
  ["a newer format", { format: FORMAT + 1 }, "newer"],
  ["a format from before the first release", { format: FORMAT - 1 }, "unreadable"],
] as const)("a row of %s that takes the place of a row is not written", async (_, change, kind) => {
  for (const [name, operation] of Object.entries(OPERATIONS)) {
    for (const seen of Object.values(ROWS)) {
      const table = tableOf(seen);
      const other = rowItem({ ...seen, ...change });
      const process = table.process();
      await process.read(mine.run, NOW);
      table.put(other);
      expect({ name, sent: await operation.send(process, seen) }).toEqual({
        name,
        sent: expect.objectContaining({ kind }),
      });
      expect({ name, item: table.item(mine.run) }).toEqual({ name, item: other });
    }
  }
});

test("an expired row that a redrive revives is not removed by a creation", async () => {
  const expired = { ...ROWS.delivered, expiresAtSec: 1 };
  const table = tableOf(expired);
  const revived = rowItem({
    ...expired,
    epoch: expired.epoch + 1,
    endNotified: false,
    expiresAtSec: null,
    status: "running",
  });
  table.before("DeleteItem", () => table.put(revived));
  expect(await table.process().create(mine.creation({ born: "cccccccccc" }))).toMatchObject({ kind: "exists" });
  expect(table.item(mine.run)).toEqual(revived);
});
