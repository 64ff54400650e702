/** The run table on SQLite: messages, pages, and conditions that all operations share. */
import { describe, expect, it } from "vitest";
import { type Ports, sqlitePorts } from "../../support/harness/ports.ts";
import type { Row } from "../../../src/protocol/row.ts";
import { CLAIM } from "../../../src/protocol/row-claim.ts";
import { COMMIT } from "../../../src/protocol/row-commit.ts";
import { PARK } from "../../../src/protocol/row-park.ts";
import { END_NOTIFICATION } from "../../../src/protocol/row-end-notification.ts";
import { HAND_OVER } from "../../../src/protocol/row-hand-over.ts";
import type { Page } from "../../../src/ports/run-table.ts";
import { StoreUnreachable } from "../../../src/ports/world.ts";
import {
  NOW,
  RUN,
  claim,
  commit,
  creation,
  delivery,
  handOver,
  message,
  parking,
  temporaryStore,
} from "../../process/fixtures/store.ts";
import { ENDED, createdTable, endedTable, freshTable, of, row } from "../../process/fixtures/table.ts";
import { rewriteText } from "../../support/runs/rewrite-text.ts";

describe("deliver", () => {
  it("counts a message once as long as the run exists (schedules 10 and 27)", async () => {
    const table = await createdTable();
    const delivered = row(await table.deliver(delivery(message("m1"))), "delivered");
    expect(delivered).toMatchObject({ wakeCount: 1, deadline: NOW + 2_000_000 });
    expect(await table.deliver(delivery(message("m1")))).toEqual({ kind: "duplicate", row: delivered });
    await table.clear({ ...of, ids: ["m1"] });
    expect((await table.deliver(delivery(message("m1")))).kind).toBe("duplicate");
    expect(await table.unread(of)).toEqual([]);
  });

  it("treats a message under a used ID as a duplicate if either of them has no digest", async () => {
    const table = await createdTable();
    row(await table.deliver(delivery(message("m1"))), "delivered");
    expect((await table.deliver(delivery(message("m1"), { digest: "of it" }))).kind).toBe("duplicate");
    row(await table.deliver(delivery(message("m2"), { digest: "of it" })), "delivered");
    expect((await table.deliver(delivery(message("m2"), { digest: "of another" }))).kind).toBe("conflict");
  });

  it("is too late for an ended run, unless the message was counted before", async () => {
    const table = await createdTable();
    row(await table.deliver(delivery(message("m1"))), "delivered");
    const granted = row(await table.decide(claim(), CLAIM), "granted");
    row(await table.decide(commit(granted, { ...ENDED, wakeCountSeen: 1 }), COMMIT), "committed");
    expect((await table.deliver(delivery(message("m1")))).kind).toBe("duplicate");
    expect((await table.deliver(delivery(message("m2")))).kind).toBe("late");
    expect(await table.unread(of)).toEqual([message("m1")]);
    expect(await table.deliver(delivery(message("m3"), { run: "local-other" }))).toEqual({ kind: "missing" });
  });

  it("orders the inbox by time of sending, then by ID, and clears the named messages", async () => {
    const table = await createdTable();
    const sent = [message("b", NOW + 2), message("c", NOW + 1), message("a", NOW + 2), message("d", NOW)];
    for (const one of sent) row(await table.deliver(delivery(one)), "delivered");
    expect((await table.unread(of)).map(({ id }) => id)).toEqual(["d", "c", "a", "b"]);
    await table.clear({ ...of, ids: ["c", "a", "unknown"] });
    expect((await table.unread(of)).map(({ id }) => id)).toEqual(["d", "b"]);
  });

  it("keeps hostile IDs and texts unchanged", async () => {
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
    expect((await table.unread(of)).toSorted(byId)).toEqual(hostile.map((id) => message(id)).toSorted(byId));
    for (const run of hostile) row(await table.create(creation({ run, now: NOW + 1 })), "created");
    for (const run of hostile) expect((await table.read(run, NOW))?.run).toBe(run);
  });
});

describe("conditions of every operation", () => {
  const operations: readonly ((table: Ports, row: Row, now: number) => Promise<{ readonly kind: string }>)[] = [
    (table, _, now) => table.decide(claim({ now }), CLAIM),
    (table, current, now) => table.decide({ ...commit(current), now }, COMMIT),
    (table, current, now) => table.decide({ ...parking(current), now }, PARK),
    (table, _, now) => table.deliver(delivery(message("m1"), { now })),
    (table, _, now) => table.decide(handOver({ now }), HAND_OVER),
    (table, _, now) => table.decide({ ...of, now, expiresAtSec: 1 }, END_NOTIFICATION),
  ];

  it("an expired row is missing, deleted or not", async () => {
    const table = await endedTable();
    const told = row(await table.decide({ ...of, expiresAtSec: NOW / 1_000 + 60 }, END_NOTIFICATION), "notified");
    for (const operation of operations) {
      expect(await operation(table, told, NOW + 60_000)).toEqual({ kind: "missing" });
    }
    const query = { tenant: "local", status: null, limit: 10, after: null, now: NOW + 60_000 };
    expect(await table.list(query)).toEqual({ rows: [], behind: [], damaged: [], next: null });
    expect((await table.list({ ...query, now: NOW })).rows).toHaveLength(1);
  });

  it("another incarnation is missing", async () => {
    const table = await createdTable();
    const outcome = await table.decide(claim({ born: "bbbbbbbbbb" }), CLAIM);
    expect(outcome).toEqual({ kind: "missing" });
    expect(await table.unread({ ...of, born: "bbbbbbbbbb" })).toEqual([]);
  });

  it("a row of an unknown newer format is `newer` and stays unchanged (schedule 31)", async () => {
    const store = temporaryStore();
    const table = sqlitePorts(store);
    const made = row(await table.create(creation()), "created");
    rewriteText(store, RUN, (fields) => ({ ...fields, format: 99 }));
    for (const operation of operations) {
      expect(await operation(table, made, NOW)).toEqual({
        ...{ kind: "newer", at: null },
        why: "it has format 99, and this version of cairn knows format 2",
      });
    }
    expect(await table.read(RUN, NOW)).toEqual({ ...made, format: 99 });
  });
});

describe("list and alive", () => {
  async function tableOfMany(): Promise<Ports> {
    const table = freshTable();
    for (let index = 0; index < 25; index += 1) {
      // Groups of five have equal times, so that the order within a time is tested too.
      const run = `local-${String(index).padStart(2, "0")}`;
      row(await table.create(creation({ run, now: NOW + Math.floor(index / 5) })), "created");
    }
    row(await table.create(creation({ run: "other-00", tenant: "other" })), "created");
    return table;
  }

  async function pages(turn: (after: string | null) => Promise<Page>): Promise<readonly string[][]> {
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

  it("filters by the current status", async () => {
    const table = await tableOfMany();
    row(await table.decide(claim({ run: "local-07" }), CLAIM), "granted");
    const granted = await table.read("local-07", NOW);
    if (granted === null) throw new Error("local-07 is gone");
    row(await table.decide(commit(granted, { now: NOW + 50, status: "blocked" }), COMMIT), "committed");
    const query = { tenant: "local", limit: 100, after: null, now: NOW } as const;
    const blocked = await table.list({ ...query, status: "blocked" });
    const { journal: _, ...listed } = (await table.read("local-07", NOW)) ?? granted;
    expect(blocked.rows).toEqual([listed]);
    expect((await table.list({ ...query, status: "queued" })).rows).toHaveLength(24);
    expect((await table.list({ ...query, status: null })).rows[0]?.run).toBe("local-07");
  });

  it("lists a run as alive until its end is delivered", async () => {
    const table = await endedTable();
    const alive = async () => (await table.alive({ limit: 10, after: null, now: NOW })).rows.map(({ run }) => run);
    expect(await alive()).toEqual([RUN]);
    row(await table.decide({ ...of, expiresAtSec: NOW / 1_000 + 60 }, END_NOTIFICATION), "notified");
    expect(await alive()).toEqual([]);
    const many = await tableOfMany();
    expect((await pages((after) => many.alive({ limit: 10, after, now: NOW }))).flat()).toHaveLength(26);
  });

  it("returns no rows for an invalid cursor", async () => {
    const table = await tableOfMany();
    for (const after of ["", "rubbish", "'; --", Buffer.from('{"a":1}').toString("base64url"), "x".repeat(10_000)]) {
      const page = await table.list({ tenant: "local", status: null, limit: 10, after, now: NOW });
      expect(page).toEqual({ rows: [], behind: [], damaged: [], next: null });
    }
  });
});

it("a store that is not writable rejects with StoreUnreachable and decides nothing", async () => {
  const store = temporaryStore();
  const table = sqlitePorts(store);
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
    expect(await table.unread(of)).toEqual([]);
  }
  expect((await table.decide(claim(), CLAIM)).kind).toBe("granted");
});

const byId = (one: { readonly id: string }, other: { readonly id: string }): number => (one.id < other.id ? -1 : 1);
