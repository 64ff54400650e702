/** What a world writes after a decision, and the fields of messages that no decision may change silently. */
import { describe, expect, test } from "vitest";
import { InvariantViolated } from "../../src/core/ensure.ts";
import { rowToWrite } from "../../src/protocol/row-decision.ts";
import { COMMIT } from "../../src/protocol/row-commit.ts";
import { HAND_OVER } from "../../src/protocol/row-hand-over.ts";
import { decidePurge } from "../../src/protocol/row-removal.ts";
import { REDRIVE } from "../../src/protocol/row-redrive.ts";
import { RESTORED_CHECK } from "../../src/protocol/row-restored.ts";
import { row } from "../support/states/states-and-events.ts";

const before = row();
const after = row({ epoch: 1 });

describe("a decision", () => {
  test("writes its row", () => {
    expect(rowToWrite(before, { kind: "granted", row: after }, [])).toBe(after);
  });

  test("writes nothing without a row, with the same row, or where it removes the row", () => {
    expect(rowToWrite(before, { kind: "missing" }, [])).toBeNull();
    expect(rowToWrite(before, { kind: "late", row: before }, [])).toBeNull();
    expect(rowToWrite(before, { kind: "removed", row: after, removes: true }, [])).toBeNull();
  });

  test.each(["wakeCount", "deadline", "cancel", "pause"] as const)("changes %s only if it names it", (field) => {
    const changed = { ...after, [field]: typeof before[field] === "number" ? before[field] + 1 : !before[field] };
    expect(rowToWrite(before, { kind: "any", row: changed }, [field])).toBe(changed);
    const silently = () => rowToWrite(before, { kind: "any", row: changed }, []);
    expect(silently).toThrow(InvariantViolated);
    expect(silently).toThrow(`a decision on ${before.run} changes ${field} without naming it`);
  });
});

test("a purge removes the row of a run whose end was delivered, and no other (schedule 41)", () => {
  const ended = row({ status: "failed", endNotified: true });
  expect(decidePurge(ended)).toEqual({ kind: "purged", row: ended, removes: true });
  for (const kept of [row(), row({ endNotified: true }), row({ status: "failed" })]) {
    expect(decidePurge(kept)).toEqual({ kind: "kept", row: kept });
  }
});

describe("the fields that a decision reads and replaces", () => {
  const of = { run: before.run, born: before.born, now: 1 };

  test("of a commit: the deadline is replaced, and an end reads the wake-up counter (schedule 247)", () => {
    const commit = (unlessWoken: boolean) => ({ unlessWoken }) as Parameters<typeof COMMIT.decision>[1];
    expect(COMMIT.reads?.(commit(true))).toEqual(["wakeCount"]);
    expect(COMMIT.reads?.(commit(false))).toEqual([]);
    expect(COMMIT.replaces?.(commit(true))).toEqual(["deadline"]);
  });

  test("of a hand-over: none, and a restore replaces a pause", () => {
    expect(HAND_OVER.replaces?.({ ...of, chain: 1 })).toEqual([]);
    expect(HAND_OVER.replaces?.({ ...of, chain: 1, restored: { at: 2, asOf: 1 } })).toEqual(["pause"]);
  });

  test("of a redrive: the deadline; of the word about a restore: what it raises and ends (schedule 248)", () => {
    const redrive = { ...of, epoch: 1, version: 0, note: { id: "r1", by: "ana", why: "w" }, deadline: 9 };
    expect(REDRIVE.replaces?.(redrive)).toEqual(["deadline"]);
    const check = { ...of, restoredAt: 2, by: "ana" };
    expect({ reads: RESTORED_CHECK.reads?.(check), replaces: RESTORED_CHECK.replaces?.(check) }).toEqual({
      reads: ["wakeCount", "pause"],
      replaces: ["wakeCount", "pause"],
    });
  });
});

test("a commit waits for the disk, alone where it releases the run, and not at all if it may come later", () => {
  const durable = (change: { durable?: "now" | "later"; release: boolean }) =>
    COMMIT.durable?.(change as Parameters<typeof COMMIT.decision>[1]);
  expect({
    atWork: durable({ release: false }),
    released: durable({ release: true }),
    later: durable({ durable: "later", release: false }),
    releasedLater: durable({ durable: "later", release: true }),
  }).toEqual({ atWork: "shared", released: "now", later: "later", releasedLater: "later" });
});
