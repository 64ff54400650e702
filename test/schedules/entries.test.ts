/** Journal entries on DynamoDB: what lies between the put of an entry and the write of the row that names it. */
import { expect, test } from "vitest";
import { ATTRIBUTES } from "../../src/adapters/aws/table/attributes.ts";
import type { Commit, Row } from "../../src/protocol/row.ts";
import { NOW } from "../../src/testing/conformance/run.ts";
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

test("schedule 150: a frozen process puts its entry after the next epoch put another one into the same slot", async () => {
  const { table, process, first } = await begun();
  const next = table.process();
  const taken = rowAfter(
    await next.claim({
      ...mine.claim({ owner: "a retry", now: AFTER_LEASE }),
      entry: { ...mine.claim().entry, retry: 7 },
    }),
  );
  const second = rowAfter(await next.commit({ ...commitOf(taken, joined(1, 3)), now: AFTER_LEASE }));
  expect(await process.commit(commitOf(first, joined(1, 2)))).toMatchObject({ kind: "fenced" });
  expect(second.epoch).toBeGreaterThan(first.epoch);
  expect(journalOf(await table.process().read(mine.run, NOW))).toBe(hex(1, 3));
});

test("schedule 152: a process dies after it put an entry and before the row names it", async () => {
  const { table, process, first } = await begun();
  table.before("UpdateItem", () => Promise.reject(new Error("killed")));
  await process.commit(commitOf(first, joined(1, 2))).catch(() => null);
  expect(journalOf(await table.process().read(mine.run, NOW))).toBe(hex(1));
  const next = table.process();
  const taken = rowAfter(
    await next.claim({
      ...mine.claim({ owner: "a retry", now: AFTER_LEASE }),
      entry: { ...mine.claim().entry, retry: 7 },
    }),
  );
  await next.commit({ ...commitOf(taken, joined(1, 3)), now: AFTER_LEASE });
  expect(journalOf(await table.process().read(mine.run, NOW))).toBe(hex(1, 3));
});

test("a flipped bit in an entry is named, and a snapshot lets the slots be filled again", async () => {
  const { table, process, first } = await begun();
  const entry = table.sent.find(({ operation }) => operation === "PutItem")?.input.Item ?? {};
  table.put({ ...entry, [ATTRIBUTES.journal]: { B: bytes(9) } });
  await expect(table.process().read(mine.run, NOW)).rejects.toThrow("entry 1 of the 1 that hold its journal");
  table.put(entry);
  const cleared = rowAfter(await process.commit(commitOf(first, null)));
  const again = rowAfter(await process.commit(commitOf(cleared, joined(5))));
  expect(journalOf(await table.process().read(mine.run, NOW))).toBe(hex(5));
  await table.process().forget(mine.of);
  await expect(table.process().read(mine.run, NOW)).rejects.toThrow("is missing");
  expect(again.version).toBe(cleared.version + 1);
});
