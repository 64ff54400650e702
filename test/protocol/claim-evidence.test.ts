/** For how long a run was not claimed, and what counts as a claim. */
import { expect, test } from "vitest";
import { definitionOf } from "../../src/adapters/aws/machine/asl.ts";
import { rowItem } from "../../src/adapters/aws/table/item.ts";
import { rowInItem } from "../../src/adapters/aws/table/item-reader.ts";
import { decodeRow } from "../../src/codec/row.ts";
import { UNCLAIMED_MS, isLongUnclaimed } from "../../src/protocol/claim-evidence.ts";
import { TIMES, limitsFor } from "../../src/protocol/limits.ts";
import { type Row, decideCommit, newRow } from "../../src/protocol/row.ts";
import { decideClaim } from "../../src/protocol/row-claim.ts";
import { decideHandOver } from "../../src/protocol/row-hand-over.ts";
import { decideRedrive } from "../../src/protocol/row-redrive.ts";
import { NOW, subject } from "../../src/testing/conformance/run.ts";

const mine = subject({ table: null as never, tenant: "acme" });
const rowAfter = (outcome: { readonly kind: string; readonly row?: Row }): Row => outcome.row as Row;
const at = (minutes: number) => ({ now: NOW + minutes * 60_000 });

const created = newRow(mine.creation());
const held = rowAfter(decideClaim(created, mine.claim(at(1))));
const released = rowAfter(
  decideCommit(held, mine.commit(held, { release: true, ...at(2), lastCheckpointAt: at(2).now })),
);
const over = (row: Row, of: { readonly now: number }): readonly boolean[] => [
  isLongUnclaimed(row, { now: of.now + UNCLAIMED_MS - 1 }),
  isLongUnclaimed(row, { now: of.now + UNCLAIMED_MS }),
];

test("a claim, a hand-over, a commit that moves the run on, and a redrive count as claims", () => {
  expect(held.claimedAt).toBe(at(1).now);
  expect(rowAfter(decideHandOver(released, mine.handOver(at(3)))).claimedAt).toBe(at(3).now);
  const moved = rowAfter(decideCommit(held, mine.commit(held, { release: true, nextChain: true, ...at(4) })));
  expect(moved.claimedAt).toBe(at(4).now);
  const failed: Row = { ...released, status: "failed", phase: "Failed" };
  const note = { id: "r", by: "ada", why: "again" };
  const redrive = { ...mine.of, ...at(5), epoch: failed.epoch, version: failed.version, note, deadline: NOW + 1e9 };
  expect(rowAfter(decideRedrive(failed, redrive)).claimedAt).toBe(at(5).now);
  expect(released.claimedAt).toBe(at(1).now);
});

test("the time counts from the claim, the last checkpoint and the lease, whichever is the latest", () => {
  expect(over(released, at(2))).toEqual([false, true]);
  expect(over(rowAfter(decideHandOver(released, mine.handOver(at(30)))), at(30))).toEqual([false, true]);
  expect(over({ ...held, leaseUntil: at(20).now }, at(20))).toEqual([false, true]);
});

test("a parked run, and one that only older versions claimed, is never unclaimed for long", () => {
  const { claimedAt: _, ...old } = released;
  const park = { token: "token", entry: { execution: "e", epoch: 1, retry: 0 } };
  for (const row of [created, old, { ...released, park }]) expect(over(row, at(100_000))).toEqual([false, false]);
});

test("no pause of one try of a beat is as long, whatever turns it away", () => {
  const { entryAttemptsMax, backoffMsMax, rescueMs } = limitsFor(TIMES.invocationMsMax);
  const definition = definitionOf({
    ...{ functions: { beat: "beat", park: "park", sweep: "sweep" }, beatSeconds: 900, sweepSeconds: 120 },
    ...{ rescueSeconds: rescueMs / 1_000, triesMax: entryAttemptsMax, backoffSeconds: backoffMsMax / 2_000 },
  });
  const { Retry = [] } = definition.States.Beat as { readonly Retry?: readonly Turned[] };
  const turnedAwayMs = Retry.map(({ MaxAttempts = 0, MaxDelaySeconds = 0 }) => MaxAttempts * MaxDelaySeconds * 1_000);
  const longestMs = Math.max(...turnedAwayMs) + 2 * backoffMsMax;
  expect(longestMs).toBe(110 * 60_000);
  expect(UNCLAIMED_MS).toBeGreaterThan(longestMs + TIMES.waitSecondsMax * 1_000);
});

interface Turned {
  readonly MaxAttempts?: number;
  readonly MaxDelaySeconds?: number;
}

test("the time is stored by both worlds, and a time that no claim can have is damage", () => {
  expect(rowInItem(rowItem(released))).toMatchObject({ epoch: 1, claimedAt: at(1).now });
  expect(decodeRow(released, released.run)).toEqual(released);
  for (const claimedAt of [-1, 1.5, 1e17]) {
    expect(rowInItem(rowItem({ ...released, claimedAt }))).toMatchObject({ code: "RowDamaged" });
    expect(decodeRow({ ...released, claimedAt }, released.run)).toMatchObject({ code: "RowDamaged" });
  }
});
