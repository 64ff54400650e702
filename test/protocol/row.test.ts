/**
 * The row: who may write it, and what each write leaves. The schedules are those that broke earlier drafts; each is
 * played here as decisions over one row, step by step.
 */
import { describe, expect, test } from "vitest";
import { type Commit, type Row, decideCommit, wokenRow, recordsRedrive } from "../../src/protocol/row.ts";
import { type Park, decidePark } from "../../src/protocol/row-park.ts";
import type { Entry } from "../../src/protocol/entry.ts";
import { type Claim, decideClaim } from "../../src/protocol/row-claim.ts";
import { markEndNotified } from "../../src/protocol/row-end-notification.ts";
import { decideRedrive } from "../../src/protocol/row-redrive.ts";
import { RESTORED_EPOCHS } from "../../src/protocol/restored.ts";
import { AT, BORN, RUN, SHA, row } from "../support/states/states-and-events.ts";

const OF = { run: RUN, born: BORN, now: AT };
const EXECUTION = `${RUN}-${BORN}-1`;
const LEASE = AT + 60_000;

const entry = (epoch: number, retry = 0, execution = EXECUTION): Entry => ({ execution, epoch, retry });

const CLAIM: Claim = { ...OF, chain: 1, entry: entry(0), owner: "A", leaseUntil: LEASE };
const claim = (change: Partial<Claim> = {}): Claim => ({ ...CLAIM, ...change });

const commit = (change: Partial<Commit> = {}): Commit => ({
  ...{
    ...OF,
    epoch: 1,
    version: 0,
    commitId: "x1",
    nextChain: false,
    expiresAtSec: null,
    agentVersion: "1",
    journal: null,
    spent: row().spent,
    wakeAt: null,
  },
  ...{ snapshot: { version: 1, key: "s1", digest: SHA }, status: "running", phase: "AwaitingLLM", wakeCountSeen: 0 },
  ...{
    deadline: AT + 9,
    unaccountedModelCalls: 0,
    marksAtClaim: 0,
    isProgress: false,
    storeOutage: null,
    lastCheckpointAt: OF.now,
    release: false,
    raiseEffectsSettleAt: false,
    unlessWoken: false,
  },
  ...change,
});

const PARK: Park = { ...OF, chain: 1, epoch: 1, entry: entry(1), token: "t1" };
const park = (change: Partial<Park> = {}): Park => ({ ...PARK, ...change });

/** The row that an operation left; the test is over if it was refused. */
function rowOf(outcome: { readonly kind: string; readonly row?: Row }, kind: string): Row {
  expect(outcome.kind).toBe(kind);
  return outcome.row as Row;
}

const owned = (): Row => rowOf(decideClaim(row(), claim()), "granted");
const released = (change: Partial<Commit> = {}): Row =>
  rowOf(decideCommit(owned(), commit({ release: true, ...change })), "committed");

describe("a claim", () => {
  test("under the payload's epoch raises the epoch, takes the lease and counts", () => {
    expect(decideClaim(row(), claim())).toEqual({
      kind: "granted",
      overtook: null,
      row: row({
        ...{
          epoch: 1,
          owner: "A",
          leaseUntil: LEASE,
          entry: entry(0),
          claims: 1,
          chainClaims: 1,
          unaccountedModelCalls: 1,
        },
        ...{ status: "running", statusSince: claim().now, claimedAt: claim().now },
      }),
    });
  });

  test("makes a queued run a running one, and leaves any other status", () => {
    const blocked = { ...row(), status: "blocked", statusSince: 3 } as const;
    expect(decideClaim(blocked, claim())).toMatchObject({ row: { status: "blocked", statusSince: 3 } });
  });

  test("from an owner raises effectsSettleAt to its lease, expired or not, and counts a takeover", () => {
    const outcome = decideClaim(
      owned(),
      claim({ entry: entry(0, 1), owner: "B", now: LEASE + 5, leaseUntil: LEASE + 90_000 }),
    );
    expect(outcome).toMatchObject({ kind: "granted", overtook: "A" });
    expect(outcome).toMatchObject({ row: { epoch: 2, owner: "B", effectsSettleAt: LEASE, takeovers: 1, claims: 2 } });
  });

  test("never lowers effectsSettleAt, and one without an owner does not raise it", () => {
    const later = { ...owned(), effectsSettleAt: LEASE + 1 };
    expect(decideClaim(later, claim({ entry: entry(0, 1) }))).toMatchObject({ row: { effectsSettleAt: LEASE + 1 } });
    expect(decideClaim({ ...row(), effectsSettleAt: 7 }, claim())).toMatchObject({
      row: { effectsSettleAt: 7, takeovers: 0 },
    });
  });

  test("clears the token of a parked run", () => {
    const waiting = rowOf(decidePark(released(), park()), "parked");
    expect(decideClaim(waiting, claim({ entry: entry(1) }))).toMatchObject({ kind: "granted", row: { park: null } });
  });

  test("of an ended run, or by another chain, changes nothing", () => {
    const ended = row({ status: "completed", phase: "Completed" });
    expect(decideClaim(ended, claim())).toEqual({ kind: "terminal", row: ended });
    expect(decideClaim(row(), claim({ chain: 2 }))).toEqual({ kind: "superseded", row: row() });
  });

  test("schedule 102: by a process that is too old is refused as such, unless the run is not its own", () => {
    const newer = row({ level: 3, epoch: 0, lastCheckpointAt: 77 });
    expect(decideClaim(newer, claim({ level: 2 }))).toEqual({
      kind: "newer",
      why: "it has level 3, and this version of cairn knows level 2",
      at: { epoch: 0, since: 77 },
    });
    expect(decideClaim(newer, claim({ level: 2, chain: 2 }))).toEqual({ kind: "superseded", row: newer });
    expect(decideClaim(newer, claim({ level: 3 })).kind).toBe("granted");
  });

  test("counts a death only with evidence about the owner's own attempt", () => {
    const retry = { entry: entry(0, 1), owner: "B" };
    expect(decideClaim(owned(), claim(retry))).toMatchObject({ row: { deaths: 0 } });
    expect(decideClaim(owned(), claim({ ...retry, died: 0 }))).toMatchObject({ row: { deaths: 1 } });
    expect(decideClaim({ ...owned(), owner: null }, claim({ ...retry, died: 0 }))).toMatchObject({
      row: { deaths: 0 },
    });
  });

  test("schedule 1: is refused for an attempt that was frozen before it and thaws", () => {
    const byRetry = rowOf(decideClaim(row(), claim({ entry: entry(0, 1), owner: "B" })), "granted");
    const done = rowOf(decideCommit(byRetry, commit({ release: true })), "committed");
    expect(decideClaim(done, claim({ entry: entry(0, 0), owner: "A" }))).toEqual({ kind: "superseded", row: done });
    // So is a late copy of the attempt that did it, and the next beat is granted.
    expect(decideClaim(done, claim({ entry: entry(0, 1), owner: "B" })).kind).toBe("superseded");
    expect(decideClaim(done, claim({ entry: entry(1), owner: "C" })).kind).toBe("granted");
  });

  test("schedule 2: is refused for a duplicate execution beside the healthy one", () => {
    const healthy = owned();
    const twin = claim({ entry: entry(0, 0, "twin"), owner: "T" });
    expect(decideClaim(healthy, twin)).toEqual({ kind: "superseded", row: healthy });
    expect(decideClaim(healthy, { ...twin, entry: entry(0, 5, "twin") }).kind).toBe("superseded");
    expect(decideClaim(released(), twin).kind).toBe("superseded");
  });
});

describe("a commit", () => {
  test("adds one version, replaces the given fields and leaves the rest", () => {
    const journal = new Uint8Array([1]);
    const spent = { ...row().spent, beats: 1 };
    const outcome = decideCommit(
      owned(),
      commit({ now: AT + 7, lastCheckpointAt: AT + 7, journal, spent, wakeCountSeen: 0, wakeAt: AT + 99 }),
    );
    expect(outcome).toEqual({
      kind: "committed",
      row: {
        ...owned(),
        ...{
          version: 1,
          commitId: "x1",
          journal,
          spent,
          claims: 1,
          unaccountedModelCalls: 0,
          marksAtClaim: 0,
          status: "running",
          phase: "AwaitingLLM",
        },
        ...{ snapshot: { version: 1, key: "s1", digest: SHA }, wakeAt: AT + 99, deadline: AT + 9 },
        ...{ lastCheckpointAt: AT + 7 },
      },
    });
  });

  test("that releases leaves no owner and no lease, and keeps the epoch", () => {
    expect(released()).toMatchObject({ owner: null, leaseUntil: null, epoch: 1, effectsSettleAt: 0 });
  });

  test("keeps the start time of an unchanged status", () => {
    const waiting = rowOf(decideCommit(owned(), commit({ now: AT + 5, status: "blocked" })), "committed");
    const again = commit({ now: AT + 9, version: 1, status: "blocked" });
    expect(decideCommit(waiting, again)).toMatchObject({ row: { statusSince: AT + 5 } });
  });

  test("keeps model calls unaccounted that it does not debit, and marks where the next claim may make one", () => {
    expect(decideCommit(owned(), commit({ unaccountedModelCalls: 2, marksAtClaim: 1 }))).toMatchObject({
      row: { unaccountedModelCalls: 2, marksAtClaim: 1 },
    });
  });

  test("counts its own invocation as working until it releases the run", () => {
    expect(decideCommit(owned(), commit())).toMatchObject({ row: { claims: 1 } });
    expect(decideCommit(owned(), commit({ release: true }))).toMatchObject({ row: { claims: 0 } });
  });

  test("of another epoch or another version is fenced and changes nothing", () => {
    const now = owned();
    expect(decideCommit(now, commit({ epoch: 0 }))).toEqual({ kind: "fenced", row: now });
    expect(decideCommit(now, commit({ epoch: 2 }))).toEqual({ kind: "fenced", row: now });
    expect(decideCommit(now, commit({ version: 1 }))).toEqual({ kind: "fenced", row: now });
  });

  test("that moves the run on gives the next execution its epoch and no claims", () => {
    const moved = commit({ release: true, nextChain: true, now: AT + 3 });
    expect(decideCommit(owned(), moved)).toMatchObject({
      row: { chain: 2, epoch: 2, chainClaims: 0, claimedAt: AT + 3 },
    });
    expect(decideCommit(owned(), commit())).toMatchObject({ row: { chain: 1, epoch: 1, chainClaims: 1 } });
  });

  test("of an end that nobody waits for is its delivery, too", () => {
    expect(decideCommit(owned(), commit({ expiresAtSec: 99 }))).toMatchObject({
      row: { endNotified: true, expiresAtSec: 99 },
    });
    expect(decideCommit(owned(), commit())).toMatchObject({ row: { endNotified: false, expiresAtSec: null } });
  });

  test("writes what lists tell and the level it needs, and leaves both without them", () => {
    const brief = { limits: { beats: 3 }, cracks: [], isScheduled: false };
    const told = rowOf(decideCommit(owned(), commit({ brief, level: 2 })), "committed");
    expect(told).toMatchObject({ brief, level: 2 });
    expect(decideCommit(told, commit({ version: 1 }))).toMatchObject({ row: { brief, level: 2 } });
    const plain = rowOf(decideCommit(owned(), commit({ level: 1 })), "committed");
    expect({ brief: "brief" in plain, level: "level" in plain }).toEqual({ brief: false, level: false });
  });

  test("drops the note of a redrive that it records, and keeps it while it only releases the run", () => {
    const redrive = { id: "r1", by: "ana", why: "w" };
    const redriven = { ...owned(), redrive };
    expect(rowOf(decideCommit(redriven, commit()), "committed")).not.toHaveProperty("redrive");
    expect(decideCommit(redriven, commit({ phase: "Failed", status: "running" }))).toMatchObject({ row: { redrive } });
    expect(rowOf(decideCommit(owned(), commit()), "committed")).not.toHaveProperty("redrive");
  });

  test("schedule 5: of a zombie is refused, and its successor knows until when the zombie may act", () => {
    const zombie = owned();
    const taken = rowOf(
      decideClaim(zombie, claim({ entry: entry(0, 1), owner: "B", leaseUntil: LEASE + 10 })),
      "granted",
    );
    expect(decideCommit(taken, commit({ epoch: 1, status: "failed", phase: "Failed" })).kind).toBe("fenced");
    expect(taken.effectsSettleAt).toBe(LEASE);
  });

  test("schedule 34: after a call that outlived its timeout raises effectsSettleAt to its own lease", () => {
    const outcome = decideCommit(owned(), commit({ release: true, raiseEffectsSettleAt: true }));
    expect(outcome).toMatchObject({ kind: "committed", row: { owner: null, effectsSettleAt: LEASE } });
    expect(decideClaim(rowOf(outcome, "committed"), claim({ entry: entry(0, 1) }))).toMatchObject({
      ...{ kind: "granted", overtook: null },
      row: { effectsSettleAt: LEASE, takeovers: 0 },
    });
  });

  test("schedule 12: to end the run is refused after a message since the claim, and absorbs it on the next try", () => {
    const end = { status: "completed", phase: "Completed", unlessWoken: true, release: true } as const;
    const stirredRow = wokenRow(owned(), 0);
    expect(decideCommit(stirredRow, commit(end))).toEqual({ kind: "woken", row: stirredRow });
    expect(decideCommit(stirredRow, commit({ ...end, wakeCountSeen: 1 })).kind).toBe("committed");
  });

  test("schedule 13: of a timer's decision is refused when an answer was acknowledged first; others succeed", () => {
    const stirredRow = wokenRow(wokenRow(owned(), 0), 0);
    expect(decideCommit(stirredRow, commit({ unlessWoken: true, wakeCountSeen: 1 })).kind).toBe("woken");
    expect(decideCommit(stirredRow, commit({ wakeCountSeen: 1 })).kind).toBe("committed");
  });

  test("is fenced before it is refused because of a wake-up: a zombie is not asked to decide again", () => {
    expect(decideCommit(wokenRow(owned(), 0), commit({ epoch: 0, unlessWoken: true })).kind).toBe("fenced");
  });
});

describe("a park", () => {
  test("stores the token and its entry, and adds no version", () => {
    const before = released();
    expect(decidePark(before, park())).toEqual({
      kind: "parked",
      row: { ...before, park: { token: "t1", entry: entry(1) } },
    });
  });

  test("schedule 15: of a zombie's dead token does not replace the present one", () => {
    const waiting = rowOf(decidePark(released(), park({ entry: entry(1, 1), token: "t2" })), "parked");
    expect(decidePark(waiting, park({ entry: entry(1, 0), token: "t1" }))).toEqual({
      kind: "superseded",
      row: waiting,
    });
    expect(decidePark(waiting, park({ entry: entry(1, 1), token: "t2b" })).kind).toBe("superseded");
    expect(decidePark(waiting, park({ entry: entry(1, 2), token: "t3" }))).toMatchObject({
      row: { park: { token: "t3" } },
    });
  });

  test("is refused to another chain or epoch, while a process owns the run, and after its end", () => {
    const free = released();
    const refused = (from: Row, change: Partial<Park> = {}) => decidePark(from, park(change)).kind;
    expect(refused(free, { chain: 2 })).toBe("superseded");
    expect(refused(free, { epoch: 0 })).toBe("superseded");
    expect(refused({ ...free, owner: "B", leaseUntil: LEASE })).toBe("superseded");
    expect(refused({ ...free, status: "failed" })).toBe("superseded");
  });

  test("is refused when a message arrived since the inbox was read", () => {
    const woken = wokenRow(released(), 0);
    expect(decidePark(woken, park())).toEqual({ kind: "woken", row: woken });
    expect(decidePark({ ...woken, wakeCountSeen: 1 }, park()).kind).toBe("parked");
  });
});

describe("a message", () => {
  test("raises wakeCount once, and extends the deadline without ever shortening it", () => {
    const before = row({ deadline: AT + 100 });
    expect(wokenRow(before, AT + 500)).toEqual({ ...before, wakeCount: 1, deadline: AT + 500 });
    expect(wokenRow(before, AT + 50).deadline).toBe(AT + 100);
  });
});

describe("notifying an end", () => {
  test("starts the time to live of an ended run, once", () => {
    const ended = row({ status: "completed" });
    expect(markEndNotified(ended, { expiresAtSec: 99 })).toEqual({ ...ended, endNotified: true, expiresAtSec: 99 });
    expect(markEndNotified(markEndNotified(ended, { expiresAtSec: 99 }), { expiresAtSec: 500 })).toMatchObject({
      expiresAtSec: 99,
    });
  });

  test("does not apply to the end of another epoch", () => {
    const ended = row({ status: "failed", epoch: 4 });
    expect(markEndNotified(ended, { epoch: 3, expiresAtSec: 99 })).toBe(ended);
    expect(markEndNotified(ended, { epoch: 4, expiresAtSec: 99 })).toMatchObject({ endNotified: true });
  });

  test("does nothing to a live run", () => {
    expect(markEndNotified(row(), { expiresAtSec: 99 })).toEqual(row());
  });
});

describe("a redrive", () => {
  const ended = row({ status: "failed", phase: "Failed", epoch: 4, version: 6, chain: 2, endNotified: true });
  const redrive = { ...OF, epoch: 4, version: 6, note: { id: "r1", by: "ana", why: "w" }, deadline: AT + 9 };

  test("gives the row the next epoch and execution, and its end is to be delivered again", () => {
    expect(decideRedrive(ended, redrive)).toMatchObject({
      kind: "redriven",
      row: { status: "running", epoch: 5, chain: 3, endNotified: false, redrive: redrive.note, deadline: AT + 9 },
    });
    expect(rowOf(decideRedrive(ended, redrive), "redriven")).not.toHaveProperty("restored");
  });

  test("after a restore skips the epochs that the row does not know (schedule 219)", () => {
    const restored = { at: 5, asOf: 4 };
    expect(decideRedrive(ended, { ...redrive, restored })).toMatchObject({
      row: { epoch: 4 + RESTORED_EPOCHS, restored: { ...restored, version: 6, epoch: 4 + RESTORED_EPOCHS } },
    });
  });

  test("is late for another epoch or version than was judged, and for a run that has not failed", () => {
    const others = [
      { from: ended, asked: { ...redrive, epoch: 3 } },
      { from: ended, asked: { ...redrive, version: 5 } },
      { from: { ...ended, status: "running" } as const, asked: redrive },
    ];
    for (const { from, asked } of others) expect(decideRedrive(from, asked)).toEqual({ kind: "late", row: from });
  });
});

describe("a checksum", () => {
  test("is that of its write, and the checksum of an older write is dropped", () => {
    const old = { ...owned(), checksum: "old" };
    expect(decideCommit(old, commit({ checksum: "new" }))).toMatchObject({ row: { checksum: "new" } });
    expect(rowOf(decideCommit(old, commit()), "committed")).not.toHaveProperty("checksum");
    const failed = row({ status: "failed", epoch: 1, version: 0, checksum: "old" });
    const redrive = { ...OF, epoch: 1, version: 0, note: { id: "r1", by: "ana", why: "w" }, deadline: AT + 9 };
    expect(decideRedrive(failed, { ...redrive, checksum: "new" })).toMatchObject({ row: { checksum: "new" } });
    expect(rowOf(decideRedrive(failed, redrive), "redriven")).not.toHaveProperty("checksum");
  });
});

test("a commit records a redrive unless it keeps the phase of an end although the run continues", () => {
  expect(recordsRedrive({ phase: "AwaitingLLM", status: "running" })).toBe(true);
  expect(recordsRedrive({ phase: "Failed", status: "failed" })).toBe(true);
  expect(recordsRedrive({ phase: "Failed", status: "running" })).toBe(false);
});
