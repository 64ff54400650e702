/** The mark of a restored run in an item of DynamoDB, and the write of the operator's word. */
import { expect, test } from "vitest";
import { rowItem } from "../../../src/adapters/aws/table/item.ts";
import { rowInItem } from "../../../src/adapters/aws/table/item-reader.ts";
import { swapWrite } from "../../../src/adapters/aws/table/row-writes.ts";
import { checksumOf } from "../../../src/codec/checksum.ts";
import { type RestoredMark, markForNew } from "../../../src/protocol/restored.ts";
import { decideRestoredCheck } from "../../../src/protocol/row-restored.ts";
import type { Row } from "../../../src/protocol/row.ts";
import { row } from "../../support/states/states-and-events.ts";

const MARK: RestoredMark = { at: 2_000, asOf: 1_000, version: 3, epoch: 1_000_003 };

const marked = (restored: RestoredMark): Row => {
  const { checksum: _, ...plain } = row();
  return { ...plain, checksum: checksumOf(plain), restored };
};

test.each<RestoredMark>([MARK, markForNew(MARK, true), { ...MARK, checked: { by: "ann", at: 9 } }])(
  "comes back as it was written: %o",
  (mark) => {
    expect(rowInItem(rowItem(marked(mark)))).toMatchObject({ restored: mark });
  },
);

test("an item with another shape of it is a damaged row", () => {
  const item = { ...rowItem(marked(MARK)), rs: { L: [{ N: "1" }] } };
  expect(rowInItem(item)).toMatchObject({ why: expect.stringContaining("restored") });
});

test("the word is written on condition that the mark is the one that was read, and ends the pause of a run that waited", () => {
  const before = { ...marked(markForNew(MARK, true)), pause: true };
  const of = { run: before.run, born: before.born, now: 9 };
  const { row: after } = decideRestoredCheck(before, { ...of, restoredAt: 2_000, by: "ann" });
  const lane = { reads: ["wakeCount", "pause"], replaces: ["wakeCount", "pause"] } as const;
  const { condition, changes } = swapWrite(before, after, lane);
  expect(condition.text).toContain("#restored = :seen_restored");
  expect(changes).toContainEqual({ kind: "remove", attribute: "pause" });
});
