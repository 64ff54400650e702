/** What is asked of a run from outside: what each wish leaves in its row, and that nothing goes round for ever for it. */
import { describe, expect, test } from "vitest";
import { type Commit, type Row, decideCommit, decideRequest } from "../../src/protocol/row.ts";
import { decidePark } from "../../src/protocol/row-park.ts";
import { decideClaim } from "../../src/protocol/row-claim.ts";
import { AT, BORN, RUN, row } from "../support/states/states-and-events.ts";

const OF = { run: RUN, born: BORN, now: AT };
const ENTRY = { execution: `${RUN}-${BORN}-1`, epoch: 1, retry: 0 };

const wished = (before: Row, want: "cancel" | "pause" | "resume"): Row => {
  const outcome = decideRequest(before, { ...OF, want });
  expect(outcome.kind).toBe("requested");
  return (outcome as Extract<typeof outcome, { kind: "requested" }>).row;
};

const commitOf = (before: Row, change: Partial<Commit> = {}): Commit => {
  const { epoch, version, agentVersion, journal, snapshot, spent, status, phase, wakeCountSeen, deadline } = before;
  return {
    ...{ ...OF, epoch, version, agentVersion, journal, snapshot, spent, status, phase, wakeCountSeen, deadline },
    ...{
      commitId: "x",
      wakeAt: null,
      nextChain: false,
      expiresAtSec: null,
      unaccountedModelCalls: 0,
      marksAtClaim: 0,
      isProgress: false,
      storeOutage: null,
      lastCheckpointAt: OF.now,
      release: true,
      raiseEffectsSettleAt: false,
      unlessWoken: false,
    },
    ...change,
  };
};

const parkIn = (before: Row) => decidePark(before, { ...OF, chain: 1, epoch: before.epoch, entry: ENTRY, token: "t1" });

describe("a control request", () => {
  test.each([
    ["cancel", {}, { cancel: true, pause: false }],
    ["cancel", { pause: true }, { cancel: true, pause: true }],
    ["pause", {}, { cancel: false, pause: true }],
    ["pause", { cancel: true }, { cancel: true, pause: true }],
    ["resume", { pause: true }, { cancel: false, pause: false }],
    ["resume", { cancel: true, pause: true }, { cancel: true, pause: false }],
  ] as const)("to %s, after %o, leaves %o, raises wakeCount once and changes nothing else", (want, before, left) => {
    expect(decideRequest(row(before), { ...OF, want })).toEqual({
      kind: "requested",
      row: row({ ...left, wakeCount: 1 }),
    });
  });

  test.each(["completed", "failed", "cancelled"] as const)(
    "is too late once the run is %s, and changes nothing",
    (status) => {
      for (const want of ["cancel", "pause", "resume"] as const) {
        expect(decideRequest(row({ status }), { ...OF, want })).toEqual({ kind: "late", row: row({ status }) });
      }
    },
  );

  test("delays an end that was decided before it was read, and joins any other commit", () => {
    const owned = row({ epoch: 1, owner: "A" });
    const asked = wished(owned, "cancel");
    expect(decideCommit(asked, commitOf(owned, { unlessWoken: true }))).toEqual({ kind: "woken", row: asked });
    expect(decideCommit(asked, commitOf(owned))).toMatchObject({ kind: "committed", row: { cancel: true } });
  });

  test("survives the death of an invocation", () => {
    const asked = wished(wished(row(), "pause"), "cancel");
    const outcome = decideClaim(asked, { ...OF, chain: 1, entry: { ...ENTRY, epoch: 0 }, owner: "B", leaseUntil: AT });
    expect(outcome).toMatchObject({ kind: "granted", row: { cancel: true, pause: true } });
  });
});

describe("a parking run", () => {
  test("schedule 11: gets pause and cancel in wakeCount without an item; a commit that read them may park", () => {
    for (const want of ["pause", "cancel"] as const) {
      const asked = wished(row({ epoch: 1 }), want);
      expect(parkIn(asked).kind).toBe("woken");
      const seen = decideCommit(asked, commitOf(asked, { wakeCountSeen: asked.wakeCount }));
      expect(parkIn((seen as { row: Row }).row).kind).toBe("parked");
    }
  });

  test("schedule 14: parks while it is paused; a resume clears the pause and makes it run again", () => {
    const paused = row({ epoch: 1, status: "paused", phase: "Paused", pause: true, wakeCount: 1, wakeCountSeen: 1 });
    expect(parkIn(paused)).toMatchObject({ kind: "parked", row: { park: { token: "t1" } } });
    const resumed = wished(paused, "resume");
    expect(resumed.pause).toBe(false);
    expect(parkIn(resumed)).toEqual({ kind: "woken", row: resumed });
  });
});
