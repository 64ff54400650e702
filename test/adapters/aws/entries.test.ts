/** Journal entries on DynamoDB: how they are written, read, damaged and removed. */
import { expect, test } from "vitest";
import { ATTRIBUTES } from "../../../src/adapters/aws/table/attributes.ts";
import { NOW } from "../../../src/testing/conformance/run.ts";
import { begun, bytes, commitOf, hex, joined, journalOf } from "../../support/aws/journal-entries.ts";
import { mine, rowAfter } from "../../support/aws/row-meetings.ts";
import { COMMIT } from "../../../src/protocol/row-commit.ts";

test("each commit writes its own part and a small row, and another process reads the whole journal", async () => {
  const { table, process, first } = await begun();
  const second = rowAfter(await process.decide(commitOf(first, joined(1, 2)), COMMIT));
  expect(journalOf(second)).toBe(hex(1, 2));
  expect(table.item(mine.run)?.[ATTRIBUTES.journal]?.B?.byteLength).toBe(0);
  expect(journalOf(await table.process().read(mine.run, NOW))).toBe(hex(1, 2));
});

test("a put that the table throttles changes nothing, and the same commit lands when it is sent again", async () => {
  const { table, process, first } = await begun();
  const throttled = Object.assign(new Error("slow down"), { name: "ThrottlingException" });
  table.before("PutItem", () => Promise.reject(throttled));
  expect(await process.decide(commitOf(first, joined(1, 2)), COMMIT)).toMatchObject({
    kind: "ambiguous",
    isBusy: true,
  });
  expect(await table.process().read(mine.run, NOW)).toMatchObject({ version: first.version });
  expect(await process.decide(commitOf(first, joined(1, 2)), COMMIT)).toMatchObject({ kind: "committed" });
  expect(journalOf(await table.process().read(mine.run, NOW))).toBe(hex(1, 2));
});

test.each([
  ["flipped", (part: Uint8Array) => part.map((byte, index) => (index === 7 ? byte ^ 1 : byte))],
  ["truncated", (part: Uint8Array) => part.subarray(0, 100)],
])("an entry that is %s is named", async (_, damage) => {
  const { table, process, first } = await begun();
  await process.decide(commitOf(first, joined(1, 2)), COMMIT);
  const [, second] = table.sent.filter(({ operation }) => operation === "PutItem").map(({ input }) => input.Item ?? {});
  table.put({ ...second, [ATTRIBUTES.journal]: { B: damage(bytes(2)) } });
  await expect(table.process().read(mine.run, NOW)).rejects.toThrow(
    /entry 2 of the 2 that hold its journal \(.*\) does not match its digest/,
  );
});

test("after a snapshot the slots are filled again, and the clean-up removes the entries", async () => {
  const { table, process, first } = await begun();
  const cleared = rowAfter(await process.decide(commitOf(first, null), COMMIT));
  await process.decide(commitOf(cleared, joined(5)), COMMIT);
  expect(journalOf(await table.process().read(mine.run, NOW))).toBe(hex(5));
  await table.process().forget(mine.of);
  await expect(table.process().read(mine.run, NOW)).rejects.toThrow("is missing");
});

test("an entry of a run that was removed meanwhile is removed by the process that put it", async () => {
  const { table, process, first } = await begun();
  table.remove(mine.run);
  expect(await process.decide(commitOf(first, joined(1, 2)), COMMIT)).toEqual({ kind: "missing" });
  const put = table.sent.findLast(({ operation }) => operation === "PutItem")?.input.Item;
  const removed = table.sent.findLast(({ operation }) => operation === "BatchWriteItem")?.input.RequestItems;
  expect(put?.[ATTRIBUTES.item]?.S).toContain("00001");
  expect(JSON.stringify(removed)).toContain(JSON.stringify(put?.[ATTRIBUTES.item]));
});
