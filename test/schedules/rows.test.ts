/** Rows on DynamoDB: what lies between the read of a row and its write. */
import { expect, test } from "vitest";
import { rowItem } from "../../src/adapters/aws/table/item.ts";
import { NOW, words } from "../../src/testing/conformance/run.ts";
import {
  LANE,
  ROWS,
  MEETINGS,
  endOf,
  fixtures,
  held,
  mine,
  queued,
  rowAfter,
  stored,
  tableOf,
  writes,
} from "../support/aws/row-meetings.ts";
import { COMMIT } from "../../src/protocol/row-commit.ts";
import { CLAIM } from "../../src/protocol/row-claim.ts";
import { RESTORED_CHECK } from "../../src/protocol/row-restored.ts";

test("schedule 110: an older process, which raises no counter, writes between the read and the write of a newer one", async () => {
  const met = MEETINGS.filter(
    ([, meeting]) => !LANE.has(meeting.between) && writes(meeting, meeting.seen, meeting.seen),
  );
  expect(met.length).toBeGreaterThan(50);
  for (const [title, { seen, now, operation, title: name }] of met) {
    const table = tableOf(seen);
    table.before(name === "purge" ? "DeleteItem" : "UpdateItem", () => table.put(rowItem(now)));
    const expected = operation.decide(now, seen);
    expect({ title, sent: await operation.send(table.process(), seen) }).toEqual({ title, sent: expected });
    expect({ title, stored: stored(table) }).toEqual({
      title,
      stored: expected.kind === "purged" ? null : expected.row,
    });
  }
});

test("schedule 111: fifty messages and requests between a claim and its commits refuse no write of the beat", async () => {
  const table = tableOf(queued);
  const process = table.process();
  const holding = rowAfter(await process.decide(mine.claim(), CLAIM));
  const sender = fixtures(table.process());
  const later = NOW + 2_000_000;
  const messages = Array.from({ length: 50 }, (_, index) => words(`m${index}`, NOW + index));
  const storm = async (): Promise<void> => {
    const sends = messages.map((message) => table.process().deliver(sender.delivery(message, { deadline: later })));
    await Promise.all([...sends, table.process().request(sender.request("pause"))]);
  };
  table.before("UpdateItem", storm);
  const first = await process.decide(mine.commit(holding), COMMIT);
  expect(first).toMatchObject({ kind: "committed", row: { wakeCount: 51, pause: true, deadline: holding.deadline } });
  expect(table.sent.filter(({ isRefused }) => isRefused)).toEqual([]);
  const end = await process.decide(endOf(rowAfter(first)), COMMIT);
  expect(end).toMatchObject({ kind: "committed", row: { status: "failed", wakeCount: 51 } });
  expect(table.sent.filter(({ isRefused }) => isRefused)).toEqual([]);
});

test("schedule 112: a process remembers a row that another one has changed since, and refuses nothing from memory", async () => {
  const met = MEETINGS.filter(
    ([, meeting]) => !writes(meeting, meeting.seen, meeting.seen) && writes(meeting, meeting.now, meeting.seen),
  );
  expect(met.length).toBeGreaterThan(5);
  for (const [title, { seen, now, operation }] of met) {
    const table = tableOf(seen);
    const process = table.process();
    await process.read(mine.run, NOW);
    table.put(rowItem(now));
    expect({ title, sent: await operation.send(process, seen) }).toEqual({ title, sent: operation.decide(now, seen) });
  }
});

test("schedule 247: a message is acknowledged after an end was decided and before it is written; the end is decided again, and no decision raises the counter in silence", async () => {
  const table = tableOf(held);
  const process = table.process();
  await process.read(mine.run, NOW);
  const sender = fixtures(table.process());
  table.before("UpdateItem", () => table.process().deliver(sender.delivery(words("m1", NOW))));
  expect(await process.decide(endOf(held), COMMIT)).toMatchObject({
    kind: "woken",
    row: { status: "running", wakeCount: 1 },
  });
  const ending = (row: typeof held) => ({
    kind: "ended",
    row: { ...row, version: row.version + 1, wakeCount: row.wakeCount + 1 },
  });
  const before = stored(table);
  await expect(process.decide(mine.of, { name: "end", decision: ending })).rejects.toThrow("without naming it");
  expect(stored(table)).toEqual(before);
});

test("schedule 248: a message is acknowledged while an operator says the word about a restore; both count", async () => {
  const { restored } = ROWS;
  const table = tableOf(restored);
  const process = table.process();
  await process.read(mine.run, NOW);
  const sender = fixtures(table.process());
  table.before("UpdateItem", () => table.process().deliver(sender.delivery(words("m1", NOW))));
  const word = { ...mine.of, restoredAt: restored.restored?.at ?? 0, by: "ada" };
  expect(await process.decide(word, RESTORED_CHECK)).toMatchObject({
    kind: "checked",
    row: { wakeCount: restored.wakeCount + 2, restored: { checked: { by: "ada" } } },
  });
  expect(stored(table)).toMatchObject({ wakeCount: restored.wakeCount + 2 });
});
