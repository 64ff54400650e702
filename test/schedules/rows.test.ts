/** Rows on DynamoDB: what lies between the read of a row and its write. */
import { expect, test } from "vitest";
import { rowItem } from "../../src/adapters/aws/table/item.ts";
import { NOW, words } from "../../src/testing/conformance/run.ts";
import {
  LANE,
  MEETINGS,
  endOf,
  fixtures,
  mine,
  queued,
  rowAfter,
  stored,
  tableOf,
  writes,
} from "../support/aws/row-meetings.ts";

test("schedule 110: an older process, which raises no counter, writes between the read and the write of a newer one", async () => {
  const met = MEETINGS.filter(
    ([, meeting]) => !LANE.has(meeting.between) && writes(meeting, meeting.seen, meeting.seen),
  );
  expect(met.length).toBeGreaterThan(50);
  for (const [title, { seen, now, operation, title: name }] of met) {
    const table = tableOf(seen);
    table.before(name === "purge" ? "DeleteItem" : "UpdateItem", () => table.put(rowItem(now)));
    const expected = operation.decide(now, seen);
    expect([title, await operation.send(table.process(), seen)]).toEqual([title, expected]);
    expect([title, stored(table)]).toEqual([title, expected.kind === "purged" ? null : expected.row]);
  }
});

test("schedule 111: fifty messages and requests between a claim and its commits refuse no write of the beat", async () => {
  const table = tableOf(queued);
  const process = table.process();
  const holding = rowAfter(await process.claim(mine.claim()));
  const sender = fixtures(table.process());
  const later = NOW + 2_000_000;
  const messages = Array.from({ length: 50 }, (_, index) => words(`m${index}`, NOW + index));
  const storm = async (): Promise<void> => {
    const sends = messages.map((message) => table.process().deliver(sender.delivery(message, { deadline: later })));
    await Promise.all([...sends, table.process().request(sender.request("pause"))]);
  };
  table.before("UpdateItem", storm);
  const first = await process.commit(mine.commit(holding));
  expect(first).toMatchObject({ kind: "committed", row: { wakeCount: 51, pause: true, deadline: holding.deadline } });
  expect(table.sent.filter(({ isRefused }) => isRefused)).toEqual([]);
  const end = await process.commit(endOf(rowAfter(first)));
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
    expect([title, await operation.send(process, seen)]).toEqual([title, operation.decide(now, seen)]);
  }
});
