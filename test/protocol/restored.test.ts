/** The mark of a restored run, as decisions on rows: what a restore writes, what the word of an operator takes away. */
import { describe, expect, test } from "vitest";
import { RESTORED_EPOCHS, inheritedMark, markForNew, openMark } from "../../src/protocol/restored.ts";
import { decideHandOver } from "../../src/protocol/row-hand-over.ts";
import { decideRestoredCheck } from "../../src/protocol/row-restored.ts";
import { newRow, type Row } from "../../src/protocol/row.ts";
import { row } from "../support/states/states-and-events.ts";

const RESTORED = { at: 2_000, asOf: 1_000 };

const fenced = (of: Partial<Row>, restored = RESTORED): Row => {
  const before: Row = { ...row(), ...of };
  const { run, born, chain } = before;
  const outcome = decideHandOver(before, { run, born, chain, now: 10 ** 13, restored });
  if (outcome.kind !== "handed") throw new Error(outcome.kind);
  return outcome.row;
};

describe("a restore", () => {
  test("marks and pauses a run that was held, and counts neither a takeover nor a death", () => {
    const held = { status: "running", owner: "o", leaseUntil: 5, takeovers: 1, deaths: 0 } as const;
    expect(fenced(held)).toMatchObject({ status: "paused", pause: true, owner: null, takeovers: 1, deaths: 0 });
    expect(openMark(fenced(held))).toMatchObject(RESTORED);
  });

  test("keeps the earlier moment of a restore that nobody has checked, and drops that of a checked one", () => {
    const again = { at: 4_000, asOf: 3_000 };
    const first = fenced({});
    expect(openMark(fenced(first, again))).toMatchObject({ at: 4_000, asOf: 1_000 });
    const { row: checked } = decideRestoredCheck(first, { ...first, now: 3, restoredAt: 2_000, by: "ann" });
    expect(openMark(checked)).toBeNull();
    expect(openMark(fenced(checked, again))).toMatchObject(again);
  });
});

test("a restore raises the epoch of the mark as that of the row, and keeps that a run waits", () => {
  const first = fenced({ epoch: 3, version: 8 });
  expect(openMark(first)).toEqual({ ...RESTORED, version: 8, epoch: 3 + RESTORED_EPOCHS });
  expect(first.epoch).toBe(3 + RESTORED_EPOCHS);
  const waiting = newRow({ ...row(), restored: markForNew(RESTORED, true), now: 1 });
  expect(openMark(fenced(waiting, { at: 4_000, asOf: 3_000 }))).toMatchObject({ waits: true });
});

test("a run begins with a mark that does not wait, unless its start may have happened", () => {
  const mark = { ...RESTORED, version: 0, epoch: 0 };
  expect(markForNew(RESTORED)).toEqual(mark);
  expect(markForNew(RESTORED, true)).toEqual({ ...mark, waits: true });
});

describe("the word", () => {
  test("lets a run that waited go on, and leaves one paused that the restore paused", () => {
    const { run, born } = row();
    const waiting = newRow({ ...row(), restored: markForNew(RESTORED, true), now: 1 });
    expect({ status: waiting.status, pause: waiting.pause }).toEqual({ status: "paused", pause: true });
    const check = { run, born, now: 9, restoredAt: 2_000, by: "ann" };
    expect(decideRestoredCheck(waiting, check)).toMatchObject({ kind: "checked", row: { pause: false } });
    expect(decideRestoredCheck(fenced({}), check)).toMatchObject({ kind: "checked", row: { pause: true } });
  });

  test("says who gave it and when, and wakes the run", () => {
    const marked = fenced({ wakeCount: 4 });
    const check = { ...marked, now: 9, restoredAt: 2_000, by: "ann" };
    expect(decideRestoredCheck(marked, check)).toMatchObject({
      row: { wakeCount: 5, restored: { ...RESTORED, checked: { by: "ann", at: 9 } } },
    });
  });

  test("counts once, for the restore that it names, and for no run without a mark", () => {
    const marked = fenced({});
    const check = { ...marked, now: 9, restoredAt: 2_000, by: "ann" };
    const { row: checked } = decideRestoredCheck(marked, check);
    const others = [
      { row: checked, check },
      { row: marked, check: { ...check, restoredAt: 1_999 } },
      { row: row(), check },
    ];
    for (const each of others) {
      expect(decideRestoredCheck(each.row, each.check)).toEqual({ kind: "same", row: each.row });
    }
  });
});

describe("a run that goes on after its end, or a fork of it", () => {
  const of = (createdAt: number, restored?: Row["restored"]) => ({ createdAt, ...(restored && { restored }) });
  const checked = { by: "ann", at: 9 };

  test("inherits the mark of the store, if it is older than the restore", () => {
    expect(inheritedMark(of(1_999), RESTORED)).toEqual(RESTORED);
    expect(inheritedMark(of(2_000), RESTORED)).toEqual(RESTORED);
    expect(inheritedMark(of(2_001), RESTORED)).toBeNull();
    expect(inheritedMark(of(1_999), null)).toBeNull();
    expect(inheritedMark(of(1_999), { ...RESTORED, checked })).toBeNull();
  });

  test("inherits its own mark, unless its word or that of the store was said", () => {
    const own = { ...RESTORED, version: 1, epoch: 1 };
    expect(inheritedMark(of(5, own), RESTORED)).toEqual(own);
    expect(inheritedMark(of(5, { ...own, checked }), RESTORED)).toBeNull();
    expect(inheritedMark(of(5, own), { ...RESTORED, checked })).toBeNull();
    expect(inheritedMark(of(5, own), null)).toEqual(own);
    // A word about an earlier restore says nothing about this one.
    expect(inheritedMark(of(5, own), { at: 1_999, asOf: 1, checked })).toEqual(own);
    expect(inheritedMark(of(5, { ...own, checked }), { at: 3_000, asOf: 2_500 })).toMatchObject({ at: 3_000 });
  });
});
