/** The suites can fail: each breach of a contract, planted in a world that keeps it otherwise, fails the case named. */
import { describe, expect, test } from "vitest";
import { chainCases, objectStoreCases, runTableCases } from "../../src/testing/conformance/index.ts";
import { virtualClock } from "../../src/adapters/memory/clock.ts";
import { type MemoryStore, memoryObjectStore, memoryStore } from "../../src/adapters/memory/tables.ts";
import type { ChangingField } from "../../src/protocol/row-decision.ts";
import type { Row } from "../../src/protocol/row.ts";
import { CLAIM } from "../../src/protocol/row-claim.ts";
import { COMMIT } from "../../src/protocol/row-commit.ts";
import { PARK } from "../../src/protocol/row-park.ts";
import { END_NOTIFICATION } from "../../src/protocol/row-end-notification.ts";
import { HAND_OVER } from "../../src/protocol/row-hand-over.ts";
import type { Chain } from "../../src/ports/chain.ts";
import { type DecisionCalls, withCalls, decisionCalls } from "../../src/testing/decisions.ts";
import { failing } from "./failing.ts";
import { memory, memoryTableWorld } from "./worlds.ts";
import type { Ports } from "../support/harness/ports.ts";

interface Planted {
  readonly breach: string;
  /** How the name of a case that catches it begins. */
  readonly caught: string;
  readonly bend: (table: Ports, store: MemoryStore) => Partial<Ports & DecisionCalls>;
}

const rowIn = (store: MemoryStore, run: string): Row => store.rows.get(run) as Row;

/** Changes the row that an operation stored. */
const afterwards =
  <O extends { readonly kind: string }, R extends { readonly run: string }>(
    store: MemoryStore,
    write: (request: R) => Promise<O>,
    change: (row: Row, before: Row) => Partial<Row>,
  ) =>
  async (request: R): Promise<O> => {
    const before = store.rows.get(request.run);
    const outcome = await write(request);
    const row = store.rows.get(request.run);
    if (before === undefined || row === undefined || before === row) return outcome;
    const bent = { ...row, ...change(row, before) };
    store.rows.set(request.run, bent);
    return "row" in outcome ? { ...outcome, row: structuredClone(bent) } : outcome;
  };

const CHANGING: readonly ChangingField[] = ["wakeCount", "deadline", "cancel", "pause"];

const DECISIONS: readonly Planted[] = [
  {
    breach: "a decision may change any field of messages",
    caught: "decide rejects a decision that changes a field of messages without naming it",
    bend: (table) => ({ decide: (asked, decision) => table.decide(asked, { ...decision, replaces: () => CHANGING }) }),
  },
  {
    breach: "a decision is made on the row from before a message",
    caught: "decide makes a decision again when a field that it names as read has changed",
    bend: (table, store) => ({
      decide: async (asked, decision) => {
        const row = rowIn(store, asked.run);
        store.rows.set(asked.run, { ...row, wakeCount: row.wakeCountSeen });
        const outcome = await table.decide(asked, decision);
        store.rows.set(asked.run, { ...rowIn(store, asked.run), wakeCount: row.wakeCount });
        return outcome;
      },
    }),
  },
  {
    breach: "a decision writes the fields of messages as it read them",
    caught: "decide keeps what a message wrote after the row was read",
    bend: (table, store) => ({
      decide: async (asked, decision) => {
        const outcome = await table.decide(asked, decision);
        const row = rowIn(store, asked.run);
        store.rows.set(asked.run, { ...row, wakeCount: row.wakeCountSeen });
        return outcome;
      },
    }),
  },
  {
    breach: "a decision replaces no field of messages",
    caught: "decide replaces a field of messages that the decision names",
    bend: (table, store) => ({
      decide: async (asked, decision) => {
        const { deadline } = rowIn(store, asked.run) ?? {};
        const outcome = await table.decide(asked, decision);
        if (deadline !== undefined) store.rows.set(asked.run, { ...rowIn(store, asked.run), deadline });
        return outcome;
      },
    }),
  },
  {
    breach: "a decision that keeps the row writes it",
    caught: "decide writes nothing when a decision returns the row as it is",
    bend: (table, store) => ({
      decide: async (asked, decision) => {
        const outcome = await table.decide(asked, decision);
        const row = rowIn(store, asked.run);
        if ("row" in outcome && outcome.row !== undefined)
          store.rows.set(asked.run, { ...row, lastCheckpointAt: row.lastCheckpointAt + 1 });
        return outcome;
      },
    }),
  },
];

const CLAIMS: readonly Planted[] = [
  {
    breach: "create overwrites a run",
    caught: "a second create finds the existing run and changes nothing",
    bend: (table, store) => ({
      create: (creation) => {
        store.rows.delete(creation.run);
        return table.create(creation);
      },
    }),
  },
  {
    breach: "claim ignores the epoch of the payload",
    caught: "refuses an attempt that was frozen before its claim",
    bend: (table, store) => ({
      claim: (claim) => {
        const { epoch } = rowIn(store, claim.run) ?? claim.entry;
        return table.decide({ ...claim, entry: { ...claim.entry, epoch } }, CLAIM);
      },
    }),
  },
  {
    breach: "claim does not raise effectsSettleAt",
    caught: "a retry of the same entry takes over at once",
    bend: (table, store) => ({
      claim: afterwards(store, decisionCalls(table).claim, (_, before) => ({
        effectsSettleAt: before.effectsSettleAt,
      })),
    }),
  },
  {
    breach: "claim waits for the lease",
    caught: "a retry of the same entry takes over at once",
    bend: (table, store) => ({
      claim: async (claim) => {
        const row = rowIn(store, claim.run);
        return (row?.leaseUntil ?? 0) > claim.now ? { kind: "superseded", row } : table.decide(claim, CLAIM);
      },
    }),
  },
  {
    breach: "claim reads and writes in two steps",
    caught: "grants one claim when 50 claims run at once",
    bend: (table, store) => ({
      claim: async (claim) => {
        const before = rowIn(store, claim.run);
        await Promise.resolve();
        const after = rowIn(store, claim.run);
        store.rows.set(claim.run, before);
        const outcome = await table.decide(claim, CLAIM);
        if (outcome.kind !== "granted") store.rows.set(claim.run, after);
        return outcome;
      },
    }),
  },
  {
    breach: "an expired row is read",
    caught: "an expired row is gone",
    bend: (_, store) => ({ read: async (run) => store.rows.get(run) ?? null }),
  },
  {
    breach: "the incarnation is not compared",
    caught: "another incarnation or an unknown run is missing for every operation",
    bend: (table, store) => ({
      request: (request) => table.request({ ...request, born: rowIn(store, request.run)?.born ?? "" }),
    }),
  },
  {
    breach: "the format is not checked",
    caught: "every operation answers `newer` for a row of a newer format and leaves it unchanged",
    bend: (table, store) => ({
      deliver: (delivery) => {
        const row = rowIn(store, delivery.run);
        if (row !== undefined) store.rows.set(delivery.run, { ...row, format: 1 });
        return table.deliver(delivery);
      },
    }),
  },
];

const WRITES: readonly Planted[] = [
  {
    breach: "commit ignores the epoch",
    caught: "refuses a commit from a stale epoch and changes nothing",
    bend: (table, store) => ({
      commit: (commit) => table.decide({ ...commit, epoch: rowIn(store, commit.run)?.epoch ?? 0 }, COMMIT),
    }),
  },
  {
    breach: "the last writer wins",
    caught: "applies a repeated commit once, and the refusal shows its ID",
    bend: (table, store) => ({
      commit: (commit) => table.decide({ ...commit, version: rowIn(store, commit.run)?.version ?? 0 }, COMMIT),
    }),
  },
  {
    breach: "an end ignores the wake counter",
    caught: "refuses an end while a message is unread, and accepts it once the message is read",
    bend: (table) => ({ commit: (commit) => table.decide({ ...commit, unlessWoken: false }, COMMIT) }),
  },
  {
    breach: "a commit sets the wake counter to the value that it has read",
    caught: "counts each of 50 deliveries once and loses no commit when commits run at the same time",
    bend: (table, store) => ({
      commit: afterwards(store, decisionCalls(table).commit, (row) => ({ wakeCount: row.wakeCountSeen })),
    }),
  },
  {
    breach: "deliver takes another message under a used id for a duplicate",
    caught: "deliver refuses another message under a used ID, as long as the run exists",
    bend: (table) => ({ deliver: ({ digest: _, ...delivery }) => table.deliver(delivery) }),
  },
  {
    breach: "used IDs are forgotten",
    caught: "deliver counts a message once",
    bend: (_, store) => ({
      clear: async (of) => {
        for (const id of of.ids) store.messages.delete(JSON.stringify([of.run, of.born, id]));
      },
    }),
  },
  {
    breach: "a message is stored without a wake-up",
    caught: "deliver counts a message once",
    bend: (table, store) => ({
      deliver: afterwards(store, table.deliver, (_, before) => ({ wakeCount: before.wakeCount })),
    }),
  },
  {
    breach: "the inbox has another order",
    caught: "inbox returns messages by time of sending, then by ID, and keeps those that were not removed",
    bend: (table) => ({ unread: async (of) => (await table.unread(of)).toReversed() }),
  },
  {
    breach: "resume does not clear a pause",
    caught: "request raises the wake counter, and a commit returns it without reverting it",
    bend: (table, store) => ({
      request: afterwards(store, table.request, (row, before) => ({ pause: row.pause || before.pause })),
    }),
  },
  {
    breach: "notifying an end again moves its expiry",
    caught: "tell starts the time to live once, and only for an ended run",
    bend: (table, store) => ({
      recordEndNotified: async (of) => {
        const outcome = await table.decide(of, END_NOTIFICATION);
        const row = rowIn(store, of.run);
        if (row?.endNotified) store.rows.set(of.run, { ...row, expiresAtSec: of.expiresAtSec });
        return outcome;
      },
    }),
  },
];

const WAITS: readonly Planted[] = [
  {
    breach: "park ignores the retry",
    caught: "a zombie's token does not replace a newer one",
    bend: (table, store) => ({
      park: (park) => {
        const row = rowIn(store, park.run);
        store.rows.set(park.run, { ...row, park: null });
        return table.decide(park, PARK);
      },
    }),
  },
  {
    breach: "park ignores the wake counter",
    caught: "a run with a new wake-up does not park; a paused run that has seen the wake-up does",
    bend: (table, store) => ({
      park: (park) => {
        const row = rowIn(store, park.run);
        store.rows.set(park.run, { ...row, wakeCountSeen: row.wakeCount });
        return table.decide(park, PARK);
      },
    }),
  },
  {
    breach: "handOver does not wait for the lease",
    caught: "handOver is refused until the lease expires, and then raises `effectsSettleAt` to that lease",
    bend: (table) => ({
      handOver: (handOver) => table.decide({ ...handOver, now: Number.MAX_SAFE_INTEGER }, HAND_OVER),
    }),
  },
  {
    breach: "handOver does not raise effectsSettleAt",
    caught: "handOver is refused until the lease expires, and then raises `effectsSettleAt` to that lease",
    bend: (table, store) => ({
      handOver: afterwards(store, decisionCalls(table).handOver, (_, before) => ({
        effectsSettleAt: before.effectsSettleAt,
      })),
    }),
  },
  {
    breach: "handOver keeps a dead token",
    caught: "handOver clears the token, and a repeated handOver gets `lost` with the successor's row",
    bend: (table, store) => ({
      handOver: afterwards(store, decisionCalls(table).handOver, (_, { park }) => ({ park })),
    }),
  },
  {
    breach: "a page begins with the last row of the one before",
    caught: "list returns the runs of one tenant from newest to oldest, page by page, each once",
    bend: (table) => ({
      list: async (query) => {
        const page = await table.list(query);
        const all = (await table.list({ ...query, limit: 1_000, after: null })).rows;
        const before = all.findIndex(({ run }) => run === page.rows[0]?.run) - 1;
        return query.after === null || before < 0 ? page : { ...page, rows: [all[before] as Row, ...page.rows] };
      },
    }),
  },
  {
    breach: "an ended run leaves `alive` before it is notified",
    caught: "alive contains a run until its end is delivered",
    bend: (table) => ({
      alive: async (query) => {
        const page = await table.alive(query);
        return { ...page, rows: page.rows.filter(({ status }) => status !== "completed") };
      },
    }),
  },
];

describe("a breach of RunTable is caught", () => {
  test.each([...DECISIONS, ...CLAIMS, ...WRITES, ...WAITS])("$breach", async ({ bend, caught }) => {
    const bent = (): ReturnType<typeof memoryTableWorld> =>
      memoryTableWorld((table, store) => withCalls(table, bend(table, store)));
    const failed = await failing(runTableCases, bent);
    expect(failed.filter((name) => name.startsWith(caught))).toHaveLength(1);
  });

  test("and no other case fails", async () => {
    expect(await failing(runTableCases, memory.table)).toEqual([]);
  });
});

test("an object store that replaces an existing object is caught", async () => {
  const failed = await failing(objectStoreCases, () => {
    const store = memoryStore();
    const objects = memoryObjectStore(store, virtualClock(0));
    const put: typeof objects.put = (key, bytes) => {
      store.objects.delete(key);
      return objects.put(key, bytes);
    };
    return { objects: { ...objects, put }, prefix: "runs", now: () => 0 };
  });
  expect(failed).toContain("put creates an object and never replaces it, whatever the bytes");
  expect(await failing(objectStoreCases, memory.objects)).toEqual([]);
});

test("a chain is caught when it restarts a used name, abandons an execution, or wakes a token twice", async () => {
  const bent = (bend: (chain: Chain) => Partial<Chain>) =>
    failing(chainCases, () => {
      const world = memory.chain();
      return { ...world, chain: { ...world.chain, ...bend(world.chain) } };
    });
  const again = await bent(({ start }) => ({ start: (...of) => start(...of).then(() => ({ kind: "started" })) }));
  expect(again).toEqual(["never starts an ended execution again"]);
  const givenUp = await bent(({ start }) => ({
    start: (...of) => start(...of).then((outcome) => ({ ...outcome, running: false })),
  }));
  expect(givenUp).toContain("starts an execution once, and answers a second start that it is running");
  const woken = await bent(() => ({ wake: async () => ({ kind: "woken" }) }));
  expect(woken).toEqual(["a token wakes an execution once, and a used or unknown token wakes none"]);
  expect(await bent((chain) => chain)).toEqual([]);
});
