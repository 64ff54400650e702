/** The run table on SQLite: creation, claims, commits, parking, hand-over and ends. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { type Ports, sqlitePorts } from "../../support/harness/ports.ts";
import type { Row } from "../../../src/protocol/row.ts";
import { CLAIM } from "../../../src/protocol/row-claim.ts";
import { COMMIT } from "../../../src/protocol/row-commit.ts";
import { PARK } from "../../../src/protocol/row-park.ts";
import { END_NOTIFICATION } from "../../../src/protocol/row-end-notification.ts";
import { HAND_OVER } from "../../../src/protocol/row-hand-over.ts";
import {
  NOW,
  RUN,
  claim,
  commit,
  creation,
  delivery,
  handOver,
  message,
  open,
  parking,
  temporaryDir,
} from "../../process/fixtures/store.ts";
import { ENDED, createdTable, endedTable, freshTable, of, row } from "../../process/fixtures/table.ts";

describe("create", () => {
  it("writes a queued row that reads back as it was returned", async () => {
    const table = freshTable();
    const made = row(await table.create(creation()), "created");
    expect(made).toMatchObject({ run: RUN, status: "queued", version: 0, epoch: 0, journal: null });
    expect(await table.read(RUN, NOW)).toEqual(made);
    expect(await table.read("local-other", NOW)).toBeNull();
  });

  it("finds the existing run, and refuses another input or agent under its ID", async () => {
    const table = await createdTable();
    const before = await table.read(RUN, NOW);
    expect(await table.create(creation({ born: "bbbbbbbbbb" }))).toEqual({ kind: "exists", row: before });
    expect((await table.create(creation({ inputDigest: "another" }))).kind).toBe("conflict");
    expect((await table.create(creation({ agent: "another" }))).kind).toBe("conflict");
    expect(await table.read(RUN, NOW)).toEqual(before);
  });

  it("replaces an expired row and does not inherit its messages (schedules 19 and 32)", async () => {
    const table = await createdTable();
    row(await table.deliver(delivery(message("m1"))), "delivered");
    const granted = row(await table.decide(claim(), CLAIM), "granted");
    row(await table.decide(commit(granted, { ...ENDED, wakeCountSeen: 1 }), COMMIT), "committed");
    row(await table.decide({ ...of, expiresAtSec: NOW / 1_000 + 3_600 }, END_NOTIFICATION), "notified");
    const later = NOW + 3_600_000;

    expect((await table.create(creation({ now: later - 1, inputDigest: "another" }))).kind).toBe("conflict");
    const made = row(await table.create(creation({ now: later, born: "bbbbbbbbbb" })), "created");
    expect(made.born).toBe("bbbbbbbbbb");
    // The old incarnation is missing, and the new one has seen no message.
    expect(await table.decide(claim({ now: later }), CLAIM)).toEqual({ kind: "missing" });
    expect(await table.unread({ ...of, now: later })).toEqual([]);
    row(await table.deliver(delivery(message("m1"), { now: later, born: "bbbbbbbbbb" })), "delivered");
  });
});

describe("claim", () => {
  it("grants the epoch of the payload once", async () => {
    const table = await createdTable();
    const granted = row(await table.decide(claim(), CLAIM), "granted");
    expect(granted).toMatchObject({ epoch: 1, owner: "owner", leaseUntil: NOW + 5_000, claims: 1, takeovers: 0 });
    expect(await table.decide(claim({ owner: "other" }), CLAIM)).toEqual({ kind: "superseded", row: granted });
    expect(await table.read(RUN, NOW)).toEqual(granted);
  });

  it("refuses an attempt that was frozen before its claim (schedule 1)", async () => {
    const table = await createdTable();
    const retry = claim({ entry: { execution: "execution 1", epoch: 0, retry: 1 } });
    const granted = row(await table.decide(retry, CLAIM), "granted");
    row(await table.decide(commit(granted), COMMIT), "committed");
    expect((await table.decide(claim({ owner: "frozen" }), CLAIM)).kind).toBe("superseded");
  });

  it("lets a retry of the same entry take over at once, and raises effectsSettleAt to the old lease (schedule 3)", async () => {
    const table = await createdTable();
    row(await table.decide(claim(), CLAIM), "granted");
    const outcome = await table.decide(
      claim({ owner: "second", leaseUntil: NOW + 9_000, entry: { execution: "execution 1", epoch: 0, retry: 1 } }),
      CLAIM,
    );
    expect(outcome).toMatchObject({ kind: "granted", overtook: "owner" });
    expect(row(outcome, "granted")).toMatchObject({ epoch: 2, effectsSettleAt: NOW + 5_000, takeovers: 1, claims: 2 });
  });

  it("refuses another execution with the same stale epoch (schedule 2)", async () => {
    const table = await createdTable();
    row(await table.decide(claim(), CLAIM), "granted");
    const duplicate = claim({ entry: { execution: "execution 2", epoch: 0, retry: 3 } });
    expect((await table.decide(duplicate, CLAIM)).kind).toBe("superseded");
    expect((await table.decide(claim({ chain: 2 }), CLAIM)).kind).toBe("superseded");
  });

  it("answers `terminal` when the run has ended", async () => {
    const table = await endedTable();
    const again = claim({ entry: { execution: "execution 1", epoch: 1, retry: 0 } });
    expect((await table.decide(again, CLAIM)).kind).toBe("terminal");
  });

  it("grants one of fifty claims from several processes and connections", async () => {
    const dir = temporaryDir();
    const table = sqlitePorts(open(dir));
    await table.create(creation());
    const args = [dir, JSON.stringify(claim()), "10"];
    const children = Array.from({ length: 5 }, () =>
      fork(new URL("../../process/fixtures/claim.ts", import.meta.url), args, { execArgv: [] }),
    );
    await Promise.all(children.map((child) => once(child, "message")));
    const answers = children.map((child) => once(child, "message"));
    for (const child of children) child.send("go");
    const kinds = (await Promise.all(answers)).flatMap(([answer]) => answer as readonly string[]);
    expect(kinds.toSorted()).toEqual(["granted", ...Array.from({ length: 49 }, () => "superseded")]);
    expect(await table.read(RUN, NOW)).toMatchObject({ epoch: 1, claims: 1 });
  });
});

describe("commit", () => {
  it("adds a version, stores the journal, and releases the run", async () => {
    const table = await createdTable();
    const granted = row(await table.decide(claim(), CLAIM), "granted");
    const journal = Uint8Array.from({ length: 256 }, (_, index) => index);
    const committed = row(
      await table.decide(commit(granted, { journal, now: NOW + 7, lastCheckpointAt: NOW + 7 }), COMMIT),
      "committed",
    );
    expect(committed).toMatchObject({
      version: 1,
      owner: null,
      leaseUntil: null,
      claims: 0,
      statusSince: NOW,
      lastCheckpointAt: NOW + 7,
    });
    expect(await table.read(RUN, NOW)).toEqual(committed);
    const sealed = row(await table.decide(commit(committed, { journal: null }), COMMIT), "committed");
    expect((await table.read(RUN, NOW))?.journal).toBeNull();
    expect(sealed.statusSince).toBe(NOW);
  });

  it("is fenced by a later epoch or version and changes nothing", async () => {
    const table = await createdTable();
    const first = row(await table.decide(claim(), CLAIM), "granted");
    const entry = { execution: "execution 1", epoch: 0, retry: 1 };
    const second = row(await table.decide(claim({ owner: "second", entry }), CLAIM), "granted");
    expect(await table.decide(commit(first), COMMIT)).toEqual({ kind: "fenced", row: second });
    const committed = row(await table.decide(commit(second), COMMIT), "committed");
    expect(await table.decide(commit(second), COMMIT)).toEqual({ kind: "fenced", row: committed });
    expect(await table.read(RUN, NOW)).toEqual(committed);
  });

  it("does not end a run whose wake counter rose since the run was read (schedule 12)", async () => {
    const table = await createdTable();
    const granted = row(await table.decide(claim(), CLAIM), "granted");
    const stirred = row(await table.deliver(delivery(message("m1"))), "delivered");
    const end = commit(granted, { ...ENDED, unlessWoken: true });
    expect(await table.decide(end, COMMIT)).toEqual({ kind: "woken", row: stirred });
    expect((await table.decide({ ...end, wakeCountSeen: 1 }, COMMIT)).kind).toBe("committed");
  });
});

describe("park", () => {
  async function releasedTable(): Promise<{ readonly table: Ports; readonly released: Row }> {
    const table = await createdTable();
    const granted = row(await table.decide(claim(), CLAIM), "granted");
    return { table, released: row(await table.decide(commit(granted), COMMIT), "committed") };
  }

  it("stores the token, which the next claim clears", async () => {
    const { table, released } = await releasedTable();
    const parked = row(await table.decide(parking(released), PARK), "parked");
    expect(parked.park?.token).toBe("token 1");
    expect(parked.version).toBe(released.version);
    const next = claim({ entry: { execution: "execution 1", epoch: 1, retry: 0 } });
    expect(row(await table.decide(next, CLAIM), "granted").park).toBeNull();
  });

  it("refuses the dead token of an earlier attempt (schedule 15)", async () => {
    const { table, released } = await releasedTable();
    const entry = { execution: "execution 1", epoch: released.epoch, retry: 1 };
    row(await table.decide(parking(released, { entry, token: "token 2" }), PARK), "parked");
    expect((await table.decide(parking(released), PARK)).kind).toBe("superseded");
    expect((await table.read(RUN, NOW))?.park?.token).toBe("token 2");
  });

  it("is refused when the wake counter rose, and superseded while a process owns the run", async () => {
    const { table, released } = await releasedTable();
    row(await table.deliver(delivery(message("m1"))), "delivered");
    expect((await table.decide(parking(released), PARK)).kind).toBe("woken");
    row(await table.decide(claim({ entry: { execution: "execution 1", epoch: 1, retry: 0 } }), CLAIM), "granted");
    expect((await table.decide(parking(released), PARK)).kind).toBe("superseded");
  });
});

describe("handOver", () => {
  it("is refused until the lease expires, then raises effectsSettleAt to it (schedule 33)", async () => {
    const table = await createdTable();
    row(await table.decide(claim(), CLAIM), "granted");
    expect(await table.decide(handOver({ now: NOW + 4_999 }), HAND_OVER)).toMatchObject({
      kind: "held",
      until: NOW + 5_000,
    });
    const handed = row(await table.decide(handOver({ now: NOW + 5_000 }), HAND_OVER), "handed");
    expect(handed).toMatchObject({ chain: 2, epoch: 2, owner: null, effectsSettleAt: NOW + 5_000, takeovers: 1 });
    expect((await table.decide(handOver({ now: NOW + 5_000 }), HAND_OVER)).kind).toBe("lost");
    expect(await table.read(RUN, NOW)).toEqual(handed);
  });

  it("refuses an ended run (schedule 40)", async () => {
    const table = await endedTable();
    expect((await table.decide(handOver(), HAND_OVER)).kind).toBe("lost");
  });
});

describe("endNotified", () => {
  it("starts the time to live once, and only for an ended run (schedule 41)", async () => {
    const table = await endedTable();
    expect(await table.read(RUN, NOW + 1e12)).toMatchObject({ endNotified: false, expiresAtSec: null });
    const told = row(await table.decide({ ...of, expiresAtSec: NOW / 1_000 + 60 }, END_NOTIFICATION), "notified");
    expect(told).toMatchObject({ endNotified: true, expiresAtSec: NOW / 1_000 + 60 });
    expect(row(await table.decide({ ...of, expiresAtSec: NOW / 1_000 + 99 }, END_NOTIFICATION), "notified")).toEqual(
      told,
    );
    expect(await table.read(RUN, NOW + 60_000)).toBeNull();

    const going = await createdTable();
    expect(row(await going.decide({ ...of, expiresAtSec: 1 }, END_NOTIFICATION), "notified").endNotified).toBe(false);
  });
});
