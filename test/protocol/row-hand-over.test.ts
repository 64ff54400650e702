/** Handing a run to the next execution: only what nobody drives any more, and never without saying how long to wait. */
import { describe, expect, test } from "vitest";
import { type Row } from "../../src/protocol/row.ts";
import { decideClaim } from "../../src/protocol/row-claim.ts";
import { type HandOver, decideHandOver } from "../../src/protocol/row-hand-over.ts";
import { AT, BORN, RUN, row } from "../support/states/states-and-events.ts";

const LEASE = AT + 1_000;
const entry = { execution: `${RUN}-${BORN}-1`, epoch: 0, retry: 0 };

const held = (change: Partial<Row> = {}): Row =>
  row({ epoch: 1, owner: "A", leaseUntil: LEASE, entry, chainClaims: 9, claims: 2, ...change });

const handOver = (change: Partial<HandOver> = {}): HandOver => ({
  ...{ run: RUN, born: BORN, now: LEASE, chain: 1 },
  ...change,
});

describe("a hand-over", () => {
  test("starts the next chain with a fresh epoch and no owner, and keeps the counts of the run", () => {
    const parkedRow = held({ owner: null, leaseUntil: null, park: { token: "t", entry } });
    expect(decideHandOver(parkedRow, handOver())).toEqual({
      kind: "handed",
      row: { ...parkedRow, chain: 2, epoch: 2, park: null, chainClaims: 0, claimedAt: handOver().now },
    });
  });

  test("is refused while the owner's lease lasts, to the millisecond, and changes nothing", () => {
    expect(decideHandOver(held(), handOver({ now: LEASE - 1 }))).toEqual({ kind: "held", row: held(), until: LEASE });
    expect(decideHandOver(held(), handOver({ now: LEASE })).kind).toBe("handed");
  });

  test("from an owner counts a takeover, and a death only with evidence about its attempt", () => {
    expect(decideHandOver(held(), handOver())).toMatchObject({ row: { takeovers: 1, deaths: 0 } });
    expect(decideHandOver(held(), handOver({ dead: entry }))).toMatchObject({ row: { takeovers: 1, deaths: 1 } });
    const other = { ...entry, retry: 1_000 };
    expect(decideHandOver(held(), handOver({ dead: other }))).toMatchObject({ row: { deaths: 0 } });
    const free = held({ owner: null, leaseUntil: null });
    expect(decideHandOver(free, handOver({ dead: entry }))).toMatchObject({ row: { takeovers: 0, deaths: 0 } });
  });

  test("schedule 33: from an owner raises effectsSettleAt to its lease, and never lowers it", () => {
    expect(decideHandOver(held(), handOver({ now: LEASE + 50 }))).toMatchObject({
      row: { effectsSettleAt: LEASE, owner: null },
    });
    expect(decideHandOver(held({ effectsSettleAt: LEASE + 9 }), handOver())).toMatchObject({
      row: { effectsSettleAt: LEASE + 9 },
    });
    expect(decideHandOver(row(), handOver())).toMatchObject({ row: { effectsSettleAt: 0 } });
  });

  test("schedule 24: accepts the successor's first attempt, and refuses the dead ones", () => {
    const outcome = decideHandOver(held(), handOver());
    const next = outcome.kind === "handed" ? outcome.row : row();
    const by = (chain: number, epoch: number, retry: number) =>
      decideClaim(next, {
        ...{ run: RUN, born: BORN, now: LEASE, chain, owner: "B", leaseUntil: LEASE + 9 },
        entry: { execution: `${RUN}-${BORN}-${chain}`, epoch, retry },
      }).kind;
    expect(by(2, next.epoch, 0)).toBe("granted");
    expect(by(1, 0, 5)).toBe("superseded");
    expect(by(1, next.epoch, 0)).toBe("superseded");
  });

  test("schedule 39: with a lost response refuses its own copy with the row that shows the successor", () => {
    const outcome = decideHandOver(held(), handOver());
    const next = outcome.kind === "handed" ? outcome.row : row();
    expect(decideHandOver(next, handOver())).toEqual({ kind: "lost", row: next });
    expect(next.chain).toBe(2);
  });

  test("that names an epoch leaves a run that was claimed meanwhile", () => {
    expect(decideHandOver(held(), handOver({ epoch: 0 }))).toEqual({ kind: "lost", row: held() });
    expect(decideHandOver(held(), handOver({ epoch: 1 })).kind).toBe("handed");
  });

  test("of a restore keeps since when a run was paused, and says now for any other", () => {
    const restored = { at: 2, asOf: 1 };
    const paused = held({ owner: null, leaseUntil: null, status: "paused", statusSince: 7 });
    expect(decideHandOver(paused, handOver({ restored }))).toMatchObject({ row: { status: "paused", statusSince: 7 } });
    expect(decideHandOver(held(), handOver({ restored }))).toMatchObject({
      row: { status: "paused", statusSince: LEASE },
    });
  });

  test("schedule 40: does not move a run that a zombie has ended meanwhile", () => {
    const ended = held({ status: "completed", owner: null, leaseUntil: null });
    expect(decideHandOver(ended, handOver())).toEqual({ kind: "lost", row: ended });
  });
});
