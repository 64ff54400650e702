/** The fence of a child: it ends the epoch of its process, once for each number, and counts nothing as a death. */
import { describe, expect, test } from "vitest";
import { decideClaim } from "../../src/protocol/row-claim.ts";
import { decideCommit } from "../../src/protocol/row.ts";
import type { Row } from "../../src/protocol/row.ts";
import { type ChildFence, decideFence, dispatchIn } from "../../src/protocol/row-fence.ts";
import { AT, BORN, RUN, row } from "../support/states/states-and-events.ts";

const PARENT = { run: "acme-parent", born: "pppppppppp" };
const LEASE = AT + 1_000;
const entry = { execution: `${RUN}-${BORN}-1`, epoch: 0, retry: 0 };

const held = (change: Partial<Row> = {}): Row =>
  row({ parent: PARENT, epoch: 1, owner: "A", leaseUntil: LEASE, entry, chainClaims: 9, claims: 2, ...change });

const fence = (change: Partial<ChildFence> = {}): ChildFence => ({
  ...{ ...PARENT, now: AT, epoch: 7, child: RUN, dispatch: 2 },
  ...change,
});

const fenced = (before = held(), change: Partial<ChildFence> = {}): Row => {
  const answer = decideFence(before, fence(change));
  return answer.kind === "fenced" ? answer.row : row();
};

describe("a fence", () => {
  test("ends the epoch and the execution of a process whose lease lasts, and keeps every count", () => {
    const before = held({ deaths: 2, takeovers: 3, wakeCount: 4, cancel: true, pause: true, unaccountedModelCalls: 1 });
    expect(decideFence(before, fence())).toEqual({
      ...{ kind: "fenced", parked: null },
      row: {
        ...before,
        ...{ dispatch: 2, epoch: 2, chain: 2, chainClaims: 0, claimedAt: AT },
        ...{ owner: null, leaseUntil: null, effectsSettleAt: LEASE },
      },
    });
  });

  test("schedule 251: with a number that the child has leaves it alone, and with the next one does not", () => {
    const once = fenced();
    const working = { ...once, owner: "B", leaseUntil: LEASE + 9, epoch: 3 };
    expect(decideFence(working, fence())).toEqual({ kind: "already", row: working });
    expect(decideFence(working, fence({ dispatch: 1 })).kind).toBe("already");
    expect(decideFence(working, fence({ dispatch: 3 }))).toMatchObject({
      kind: "fenced",
      row: { dispatch: 3, epoch: 4 },
    });
    expect(decideFence(held(), fence({ dispatch: 1 })).kind).toBe("already");
  });

  test("schedule 252: raises effectsSettleAt to the lease that it ends, and never lowers it", () => {
    expect(fenced().effectsSettleAt).toBe(LEASE);
    expect(fenced(held({ effectsSettleAt: LEASE + 9 })).effectsSettleAt).toBe(LEASE + 9);
    expect(fenced(held({ owner: null, leaseUntil: null })).effectsSettleAt).toBe(0);
  });

  test("refuses the commit and the claim of the fenced process, and grants the first claim of the next execution", () => {
    const after = fenced();
    const commit = { epoch: 1, version: after.version } as Parameters<typeof decideCommit>[1];
    expect(decideCommit(after, commit).kind).toBe("fenced");
    const claim = (chain: number, epoch: number, retry: number) =>
      decideClaim(after, {
        ...{ run: RUN, born: BORN, now: AT, chain, owner: "B", leaseUntil: LEASE + 9 },
        entry: { execution: `${RUN}-${BORN}-${chain}`, epoch, retry },
      }).kind;
    expect(claim(1, 0, 1)).toBe("superseded");
    expect(claim(2, 2, 0)).toBe("granted");
  });

  test("leaves a child alone that has ended, is gone, or belongs to another parent or to none", () => {
    const ended = held({ status: "completed", phase: "Completed", owner: null, leaseUntil: null });
    expect(decideFence(ended, fence())).toEqual({ kind: "ended", row: ended });
    expect(decideFence(null, fence())).toEqual({ kind: "gone" });
    for (const parent of [null, { ...PARENT, born: "other" }, { ...PARENT, run: "other" }]) {
      expect(decideFence(held({ parent }), fence())).toEqual({ kind: "gone" });
    }
    expect(decideFence({ ...ended, endNotified: true, expiresAtSec: 1 }, fence())).toEqual({ kind: "gone" });
    expect(decideFence(held({ format: 999 }), fence()).kind).toBe("childUnreadable");
  });

  test("leaves a request to cancel as it is", () => {
    expect(fenced(held({ cancel: true })).cancel).toBe(true);
    expect(fenced().cancel).toBe(false);
  });

  test("names the execution that waited for the child", () => {
    const parked = held({ owner: null, leaseUntil: null, park: { token: "t", entry } });
    expect(decideFence(parked, fence())).toMatchObject({ kind: "fenced", parked: "t", row: { park: null } });
  });
});

test("a run that no parent asked for again was asked for once", () => {
  expect(dispatchIn(row())).toBe(1);
  expect(dispatchIn(row({ dispatch: 4 }))).toBe(4);
});
