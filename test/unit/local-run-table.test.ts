import { fork } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { sqliteRunTable } from "../../src/adapters/local/run-table.ts";
import type { Row } from "../../src/core/row.ts";
import type { RunTable } from "../../src/ports/run-table.ts";
import { StoreUnreachable } from "../../src/ports/world.ts";
import {
  BORN,
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
  temporaryStore,
} from "../process/fixtures/store.ts";

const of = { run: RUN, born: BORN, now: NOW };

function freshTable(): RunTable {
  return sqliteRunTable(temporaryStore());
}

/** The row of an outcome of that kind. */
function row(outcome: { readonly kind: string; readonly row?: Row }, kind: string): Row {
  expect(outcome.kind).toBe(kind);
  if (outcome.row === undefined) throw new Error(`${kind} carries no row`);
  return outcome.row;
}

async function createdTable(): Promise<RunTable> {
  const table = freshTable();
  row(await table.create(creation()), "created");
  return table;
}

const ENDED = { status: "completed", phase: "Completed" } as const;

async function endedTable(): Promise<RunTable> {
  const table = await createdTable();
  const granted = row(await table.claim(claim()), "granted");
  row(await table.commit(commit(granted, ENDED)), "committed");
  return table;
}

describe("create", () => {
  it("makes a queued row that is read back as it was returned", async () => {
    const table = freshTable();
    const made = row(await table.create(creation()), "created");
    expect(made).toMatchObject({ run: RUN, status: "queued", version: 0, epoch: 0, journal: null });
    expect(await table.read(RUN, NOW)).toEqual(made);
    expect(await table.read("local-other", NOW)).toBeNull();
  });

  it("finds the same run again, and refuses another input or agent under its name", async () => {
    const table = await createdTable();
    const before = await table.read(RUN, NOW);
    expect(await table.create(creation({ born: "bbbbbbbbbb" }))).toEqual({ kind: "exists", row: before });
    expect((await table.create(creation({ inputDigest: "another" }))).kind).toBe("conflict");
    expect((await table.create(creation({ agent: "another" }))).kind).toBe("conflict");
    expect(await table.read(RUN, NOW)).toEqual(before);
  });

  it("replaces an expired row, and forgets what that incarnation was sent (schedules 19 and 32)", async () => {
    const table = await createdTable();
    row(await table.deliver(delivery(message("m1"))), "delivered");
    const granted = row(await table.claim(claim()), "granted");
    row(await table.commit(commit(granted, { ...ENDED, stirsSeen: 1 })), "committed");
    row(await table.tell({ ...of, expiresAtSec: NOW / 1_000 + 3_600 }), "told");
    const later = NOW + 3_600_000;

    expect((await table.create(creation({ now: later - 1, inputDigest: "another" }))).kind).toBe("conflict");
    const made = row(await table.create(creation({ now: later, born: "bbbbbbbbbb" })), "created");
    expect(made.born).toBe("bbbbbbbbbb");
    // The old incarnation gets no answer, the new one has seen nothing.
    expect(await table.claim(claim({ now: later }))).toEqual({ kind: "missing" });
    expect(await table.inbox({ ...of, now: later })).toEqual([]);
    row(await table.deliver(delivery(message("m1"), { now: later, born: "bbbbbbbbbb" })), "delivered");
  });
});

describe("claim", () => {
  it("gives the run to the epoch of the payload, once", async () => {
    const table = await createdTable();
    const granted = row(await table.claim(claim()), "granted");
    expect(granted).toMatchObject({ epoch: 1, owner: "owner", leaseUntil: NOW + 5_000, claims: 1, takeovers: 0 });
    expect(await table.claim(claim({ owner: "other" }))).toEqual({ kind: "superseded", row: granted });
    expect(await table.read(RUN, NOW)).toEqual(granted);
  });

  it("refuses an attempt that was frozen before its claim (schedule 1)", async () => {
    const table = await createdTable();
    const retry = claim({ entry: { execution: "execution 1", epoch: 0, retry: 1 } });
    const granted = row(await table.claim(retry), "granted");
    row(await table.commit(commit(granted)), "committed");
    expect((await table.claim(claim({ owner: "frozen" }))).kind).toBe("superseded");
  });

  it("lets a retry of the same entry take over at once, and keeps quiet for the lease it took (schedule 3)", async () => {
    const table = await createdTable();
    row(await table.claim(claim()), "granted");
    const outcome = await table.claim(
      claim({ owner: "second", leaseUntil: NOW + 9_000, entry: { execution: "execution 1", epoch: 0, retry: 1 } }),
    );
    expect(outcome).toMatchObject({ kind: "granted", overtook: "owner" });
    expect(row(outcome, "granted")).toMatchObject({ epoch: 2, quietUntil: NOW + 5_000, takeovers: 1, claims: 2 });
  });

  it("refuses another execution with the same stale epoch (schedule 2)", async () => {
    const table = await createdTable();
    row(await table.claim(claim()), "granted");
    const duplicate = claim({ entry: { execution: "execution 2", epoch: 0, retry: 3 } });
    expect((await table.claim(duplicate)).kind).toBe("superseded");
    expect((await table.claim(claim({ chain: 2 }))).kind).toBe("superseded");
  });

  it("says so when the run has ended", async () => {
    const table = await endedTable();
    const again = claim({ entry: { execution: "execution 1", epoch: 1, retry: 0 } });
    expect((await table.claim(again)).kind).toBe("terminal");
  });

  it("has one winner of fifty, from several processes and connections", async () => {
    const dir = temporaryDir();
    const table = sqliteRunTable(open(dir));
    await table.create(creation());
    const args = [dir, JSON.stringify(claim()), "10"];
    const children = Array.from({ length: 5 }, () =>
      fork(new URL("../process/fixtures/claim.ts", import.meta.url), args, { execArgv: [] }),
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
  it("adds a version, keeps the bytes of the journal, and releases", async () => {
    const table = await createdTable();
    const granted = row(await table.claim(claim()), "granted");
    const journal = Uint8Array.from({ length: 256 }, (_, index) => index);
    const committed = row(await table.commit(commit(granted, { journal, now: NOW + 7 })), "committed");
    expect(committed).toMatchObject({ version: 1, owner: null, leaseUntil: null, claims: 0, statusSince: NOW + 7 });
    expect(await table.read(RUN, NOW)).toEqual(committed);
    const sealed = row(await table.commit(commit(committed, { journal: null })), "committed");
    expect((await table.read(RUN, NOW))?.journal).toBeNull();
    expect(sealed.statusSince).toBe(NOW + 7);
  });

  it("is fenced by a later epoch or version, and leaves no trace", async () => {
    const table = await createdTable();
    const first = row(await table.claim(claim()), "granted");
    const entry = { execution: "execution 1", epoch: 0, retry: 1 };
    const second = row(await table.claim(claim({ owner: "second", entry })), "granted");
    expect(await table.commit(commit(first))).toEqual({ kind: "fenced", row: second });
    const committed = row(await table.commit(commit(second)), "committed");
    expect(await table.commit(commit(second))).toEqual({ kind: "fenced", row: committed });
    expect(await table.read(RUN, NOW)).toEqual(committed);
  });

  it("does not end a run that was stirred since it looked (schedule 12)", async () => {
    const table = await createdTable();
    const granted = row(await table.claim(claim()), "granted");
    const stirred = row(await table.deliver(delivery(message("m1"))), "delivered");
    const end = commit(granted, { ...ENDED, unlessStirred: true });
    expect(await table.commit(end)).toEqual({ kind: "stirred", row: stirred });
    expect((await table.commit({ ...end, stirsSeen: 1 })).kind).toBe("committed");
  });
});

describe("park", () => {
  async function releasedTable(): Promise<{ readonly table: RunTable; readonly released: Row }> {
    const table = await createdTable();
    const granted = row(await table.claim(claim()), "granted");
    return { table, released: row(await table.commit(commit(granted)), "committed") };
  }

  it("stores the token, and the next claim clears it", async () => {
    const { table, released } = await releasedTable();
    const parked = row(await table.park(parking(released)), "parked");
    expect(parked.park?.token).toBe("token 1");
    expect(parked.version).toBe(released.version);
    const next = claim({ entry: { execution: "execution 1", epoch: 1, retry: 0 } });
    expect(row(await table.claim(next), "granted").park).toBeNull();
  });

  it("refuses the dead token of an earlier attempt (schedule 15)", async () => {
    const { table, released } = await releasedTable();
    const entry = { execution: "execution 1", epoch: released.epoch, retry: 1 };
    row(await table.park(parking(released, { entry, token: "token 2" })), "parked");
    expect((await table.park(parking(released))).kind).toBe("superseded");
    expect((await table.read(RUN, NOW))?.park?.token).toBe("token 2");
  });

  it("goes round when the run was stirred, and is superseded while someone owns the run", async () => {
    const { table, released } = await releasedTable();
    row(await table.deliver(delivery(message("m1"))), "delivered");
    expect((await table.park(parking(released))).kind).toBe("stirred");
    row(await table.claim(claim({ entry: { execution: "execution 1", epoch: 1, retry: 0 } })), "granted");
    expect((await table.park(parking(released))).kind).toBe("superseded");
  });
});

describe("deliver", () => {
  it("counts a message once, for as long as the run exists (schedules 10 and 27)", async () => {
    const table = await createdTable();
    const delivered = row(await table.deliver(delivery(message("m1"))), "delivered");
    expect(delivered).toMatchObject({ stirs: 1, deadline: NOW + 2_000_000 });
    expect(await table.deliver(delivery(message("m1")))).toEqual({ kind: "duplicate", row: delivered });
    await table.clearInbox({ ...of, ids: ["m1"] });
    expect((await table.deliver(delivery(message("m1")))).kind).toBe("duplicate");
    expect(await table.inbox(of)).toEqual([]);
  });

  it("comes too late for a run that has ended, unless it was counted before", async () => {
    const table = await createdTable();
    row(await table.deliver(delivery(message("m1"))), "delivered");
    const granted = row(await table.claim(claim()), "granted");
    row(await table.commit(commit(granted, { ...ENDED, stirsSeen: 1 })), "committed");
    expect((await table.deliver(delivery(message("m1")))).kind).toBe("duplicate");
    expect((await table.deliver(delivery(message("m2")))).kind).toBe("late");
    expect(await table.inbox(of)).toEqual([message("m1")]);
    expect(await table.deliver(delivery(message("m3"), { run: "local-other" }))).toEqual({ kind: "missing" });
  });

  it("gives the inbox in order of sending, then of ids, and clears what it is told", async () => {
    const table = await createdTable();
    const sent = [message("b", NOW + 2), message("c", NOW + 1), message("a", NOW + 2), message("d", NOW)];
    for (const one of sent) row(await table.deliver(delivery(one)), "delivered");
    expect((await table.inbox(of)).map(({ id }) => id)).toEqual(["d", "c", "a", "b"]);
    await table.clearInbox({ ...of, ids: ["c", "a", "unknown"] });
    expect((await table.inbox(of)).map(({ id }) => id)).toEqual(["d", "b"]);
  });

  it("takes hostile ids and texts as they are", async () => {
    const table = await createdTable();
    const hostile = [
      "'; DROP TABLE runs; --",
      '"',
      "%_\\",
      "",
      "\u0000 in the middle\u0000",
      "日本語 🪨",
      "x".repeat(100_000),
    ];
    for (const id of hostile) row(await table.deliver(delivery(message(id))), "delivered");
    for (const id of hostile) expect((await table.deliver(delivery(message(id)))).kind).toBe("duplicate");
    expect((await table.inbox(of)).toSorted(byId)).toEqual(hostile.map((id) => message(id)).toSorted(byId));
    for (const run of hostile) row(await table.create(creation({ run, now: NOW + 1 })), "created");
    for (const run of hostile) expect((await table.read(run, NOW))?.run).toBe(run);
  });
});

describe("handOver", () => {
  it("is held while the lease lives, then raises quiet to it (schedule 33)", async () => {
    const table = await createdTable();
    row(await table.claim(claim()), "granted");
    expect(await table.handOver(handOver({ now: NOW + 4_999 }))).toMatchObject({ kind: "held", until: NOW + 5_000 });
    const handed = row(await table.handOver(handOver({ now: NOW + 5_000 })), "handed");
    expect(handed).toMatchObject({ chain: 2, epoch: 2, owner: null, quietUntil: NOW + 5_000, takeovers: 1 });
    expect((await table.handOver(handOver({ now: NOW + 5_000 }))).kind).toBe("lost");
    expect(await table.read(RUN, NOW)).toEqual(handed);
  });

  it("does not move a run that has ended (schedule 40)", async () => {
    const table = await endedTable();
    expect((await table.handOver(handOver())).kind).toBe("lost");
  });
});

describe("tell", () => {
  it("starts the time to live, once, and only for a run that has ended (schedule 41)", async () => {
    const table = await endedTable();
    expect(await table.read(RUN, NOW + 1e12)).toMatchObject({ told: false, expiresAtSec: null });
    const told = row(await table.tell({ ...of, expiresAtSec: NOW / 1_000 + 60 }), "told");
    expect(told).toMatchObject({ told: true, expiresAtSec: NOW / 1_000 + 60 });
    expect(row(await table.tell({ ...of, expiresAtSec: NOW / 1_000 + 99 }), "told")).toEqual(told);
    expect(await table.read(RUN, NOW + 60_000)).toBeNull();

    const going = await createdTable();
    expect(row(await going.tell({ ...of, expiresAtSec: 1 }), "told").told).toBe(false);
  });
});

describe("conditions of every operation", () => {
  const operations: readonly ((table: RunTable, row: Row, now: number) => Promise<{ readonly kind: string }>)[] = [
    (table, _, now) => table.claim(claim({ now })),
    (table, current, now) => table.commit({ ...commit(current), now }),
    (table, current, now) => table.park({ ...parking(current), now }),
    (table, _, now) => table.deliver(delivery(message("m1"), { now })),
    (table, _, now) => table.handOver(handOver({ now })),
    (table, _, now) => table.tell({ ...of, now, expiresAtSec: 1 }),
  ];

  it("a row past its expiry is absent for all of them, deleted or not", async () => {
    const table = await endedTable();
    const told = row(await table.tell({ ...of, expiresAtSec: NOW / 1_000 + 60 }), "told");
    for (const operation of operations) {
      expect(await operation(table, told, NOW + 60_000)).toEqual({ kind: "missing" });
    }
    const query = { tenant: "local", status: null, limit: 10, after: null, now: NOW + 60_000 };
    expect(await table.list(query)).toEqual({ rows: [], next: null });
    expect((await table.list({ ...query, now: NOW })).rows).toHaveLength(1);
  });

  it("another incarnation is missing", async () => {
    const table = await createdTable();
    const outcome = await table.claim(claim({ born: "bbbbbbbbbb" }));
    expect(outcome).toEqual({ kind: "missing" });
    expect(await table.inbox({ ...of, born: "bbbbbbbbbb" })).toEqual([]);
  });

  it("a row of a format that this code does not know is unreadable and stays as it is (schedule 31)", async () => {
    const store = temporaryStore();
    const table = sqliteRunTable(store);
    const made = row(await table.create(creation()), "created");
    store.rows.exec("UPDATE runs SET row = json_set(row, '$.format', 99)");
    for (const operation of operations) {
      expect(await operation(table, made, NOW)).toEqual({ kind: "unreadable", row: { ...made, format: 99 } });
    }
    expect(await table.read(RUN, NOW)).toEqual({ ...made, format: 99 });
  });
});

describe("list and alive", () => {
  async function tableOfMany(): Promise<RunTable> {
    const table = freshTable();
    for (let index = 0; index < 25; index += 1) {
      // Groups of five have the same time, so that the order within a time counts too.
      const run = `local-${String(index).padStart(2, "0")}`;
      row(await table.create(creation({ run, now: NOW + Math.floor(index / 5) })), "created");
    }
    row(await table.create(creation({ run: "other-00", tenant: "other" })), "created");
    return table;
  }

  async function pages(turn: (after: string | null) => ReturnType<RunTable["alive"]>): Promise<readonly string[][]> {
    const seen: string[][] = [];
    let after: string | null = null;
    do {
      const page = await turn(after);
      seen.push(page.rows.map(({ run }) => run));
      after = page.next;
    } while (after !== null);
    return seen;
  }

  it("pages one tenant from the newest to the oldest, each run once", async () => {
    const table = await tableOfMany();
    const query = { tenant: "local", status: null, limit: 10, now: NOW };
    const seen = await pages((after) => table.list({ ...query, after }));
    expect(seen.map((page) => page.length)).toEqual([10, 10, 5]);
    const names = Array.from({ length: 25 }, (_, index) => `local-${String(index).padStart(2, "0")}`);
    expect(seen.flat()).toEqual(names.toReversed());
    expect((await pages((after) => table.list({ ...query, limit: 25, after }))).length).toBe(1);
  });

  it("filters by status, as it is now", async () => {
    const table = await tableOfMany();
    row(await table.claim(claim({ run: "local-07" })), "granted");
    const granted = await table.read("local-07", NOW);
    if (granted === null) throw new Error("local-07 is gone");
    row(await table.commit(commit(granted, { now: NOW + 50 })), "committed");
    const query = { tenant: "local", limit: 100, after: null, now: NOW } as const;
    const running = await table.list({ ...query, status: "running" });
    expect(running.rows).toEqual([await table.read("local-07", NOW)]);
    expect((await table.list({ ...query, status: "queued" })).rows).toHaveLength(24);
    expect((await table.list({ ...query, status: null })).rows[0]?.run).toBe("local-07");
  });

  it("keeps a run alive until its end is told", async () => {
    const table = await endedTable();
    const alive = async () => (await table.alive({ limit: 10, after: null, now: NOW })).rows.map(({ run }) => run);
    expect(await alive()).toEqual([RUN]);
    row(await table.tell({ ...of, expiresAtSec: NOW / 1_000 + 60 }), "told");
    expect(await alive()).toEqual([]);
    const many = await tableOfMany();
    expect((await pages((after) => many.alive({ limit: 10, after, now: NOW }))).flat()).toHaveLength(26);
  });

  it("has nothing behind a cursor that it did not give", async () => {
    const table = await tableOfMany();
    for (const after of ["", "rubbish", "'; --", Buffer.from('{"a":1}').toString("base64url"), "x".repeat(10_000)]) {
      const page = await table.list({ tenant: "local", status: null, limit: 10, after, now: NOW });
      expect(page).toEqual({ rows: [], next: null });
    }
  });
});

it("a store that cannot be written rejects with StoreUnreachable, and decides nothing", async () => {
  const store = temporaryStore();
  const table = sqliteRunTable(store);
  const made = row(await table.create(creation()), "created");
  for (const [trouble, words] of [
    ["PRAGMA query_only = 1", /read-only.*make the directory/],
    ["PRAGMA max_page_count = 1", /disk is full.*free some space/],
  ] as const) {
    store.rows.exec(trouble);
    const big = delivery(message("m".repeat(200_000)));
    const failure = await table.deliver(big).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StoreUnreachable);
    expect((failure as Error).message).toMatch(words);
    expect((failure as Error).message).toContain(store.dir);
    expect(await table.read(RUN, NOW)).toEqual(made);
    store.rows.exec("PRAGMA query_only = 0; PRAGMA max_page_count = 4294967294");
    expect(await table.inbox(of)).toEqual([]);
  }
  expect((await table.claim(claim())).kind).toBe("granted");
});

const byId = (one: { readonly id: string }, other: { readonly id: string }): number => (one.id < other.id ? -1 : 1);
