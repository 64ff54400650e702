/** The suites notice a world that mistakes whose turn it is, which execution is next, who waits for an end, or what is left. */
import { describe, expect, test } from "vitest";
import type { MemoryStore } from "../../src/adapters/memory/tables.ts";
import { runTableCases } from "../../src/testing/conformance/index.ts";
import type { Row } from "../../src/protocol/row.ts";
import { COMMIT } from "../../src/protocol/row-commit.ts";
import { CLAIM } from "../../src/protocol/row-claim.ts";
import { type DecisionCalls, withCalls } from "../../src/testing/decisions.ts";
import { failing } from "./failing.ts";
import { memoryTableWorld } from "./worlds.ts";
import type { Ports } from "../support/harness/ports.ts";

interface Planted {
  readonly breach: string;
  /** How the name of a case that catches it begins. */
  readonly caught: string;
  readonly bend: (table: Ports, store: MemoryStore) => Partial<Ports & DecisionCalls>;
}

const rowIn = (store: MemoryStore, run: string): Row => store.rows.get(run) as Row;

/** Changes the row that a commit of that kind stored. */
const afterCommit =
  (change: (row: Row) => Partial<Row>): Planted["bend"] =>
  (table, store) => ({
    commit: async (commit) => {
      const outcome = await table.decide(commit, COMMIT);
      if (outcome.kind !== "committed" || !(commit.nextChain || commit.expiresAtSec !== null)) return outcome;
      const row = { ...outcome.row, ...change(outcome.row) };
      store.rows.set(commit.run, row);
      return { kind: "committed", row: structuredClone(row) };
    },
  });

const TURNS: readonly Planted[] = [
  {
    breach: "a lease is granted although another owner holds it",
    caught: "grants a mutex lease to one process until it expires, to the millisecond",
    bend: (table, store) => ({
      take: (turn) => {
        store.turns.delete(turn.name);
        return table.take(turn);
      },
    }),
  },
  {
    breach: "a lease never expires",
    caught: "grants a mutex lease to one process until it expires, to the millisecond",
    bend: (table) => ({ take: (turn) => table.take({ ...turn, now: 0 }) }),
  },
  {
    breach: "a lease expires a moment late",
    caught: "grants a mutex lease to one process until it expires, to the millisecond",
    bend: (table) => ({ take: (turn) => table.take({ ...turn, now: turn.now - 1 }) }),
  },
  {
    breach: "an owner is refused its own lease",
    caught: "lets the owner extend its lease, or release it by taking it until now",
    bend: (table, store) => ({
      take: async (turn) => {
        const before = store.turns.get(turn.name);
        const isOwn = before?.owner === turn.owner && turn.now < before.until;
        return isOwn ? { kind: "held", until: before.until } : table.take(turn);
      },
    }),
  },
  {
    breach: "the cursor is forgotten",
    caught: "passes the last owner's cursor to the next owner, and a refused request stores no cursor",
    bend: (table) => ({ take: (turn) => table.take({ ...turn, cursor: null }) }),
  },
  {
    breach: "a refusal omits its cursor",
    caught: "passes the last owner's cursor to the next owner, and a refused request stores no cursor",
    bend: (table, store) => ({
      take: async (turn) => {
        const outcome = await table.take(turn);
        const before = store.turns.get(turn.name);
        if (outcome.kind === "held" && before !== undefined) {
          store.turns.set(turn.name, { ...before, owner: turn.owner, cursor: turn.cursor ?? null });
        }
        return outcome;
      },
    }),
  },
  {
    breach: "a lease request without a cursor removes the stored cursor",
    caught: "keeps a cursor until an owner stores another one, and lets every process read it",
    bend: (table) => ({ take: (turn) => table.take({ cursor: null, ...turn }) }),
  },
  {
    breach: "a stored cursor is read as none",
    caught: "keeps a cursor until an owner stores another one, and lets every process read it",
    bend: () => ({ cursorOf: async () => null }),
  },
  {
    breach: "a renewal succeeds although another owner held the lease since",
    caught: "refuses to continue a lease after another process took it, or after it expired or was released",
    bend: (table) => ({ take: ({ again: _, ...turn }) => table.take(turn) }),
  },
  {
    breach: "a renewal is refused once the lease has expired",
    caught: "refuses to continue a lease after another process took it, or after it expired or was released",
    bend: (table, store) => ({
      take: async (turn) => {
        const before = store.turns.get(turn.name);
        const isLapsed = turn.again === true && before !== undefined && before.until <= turn.now;
        return isLapsed ? { kind: "held", until: before.until } : table.take(turn);
      },
    }),
  },
  {
    breach: "there is one lease for all names",
    caught: "keeps leases with different names apart, and hostile names character by character",
    bend: (table) => ({ take: (turn) => table.take({ ...turn, name: "turn" }) }),
  },
  {
    breach: "a lease is read and written in two steps",
    caught: "grants one lease when 50 processes request it at once",
    bend: (table, store) => ({
      take: async (turn) => {
        const before = store.turns.get(turn.name);
        await Promise.resolve();
        if (before === undefined) store.turns.delete(turn.name);
        return table.take(turn);
      },
    }),
  },
];

const CHAINS: readonly Planted[] = [
  {
    breach: "a commit that names the next chain keeps the epoch",
    caught: "a commit with `nextChain` moves the run to the next chain and epoch, and counts no death",
    bend: afterCommit(({ epoch, chain }) => ({ epoch: chain === 2 ? epoch - 1 : epoch })),
  },
  {
    breach: "a commit that names the next chain keeps the count of claims",
    caught: "a commit with `nextChain` moves the run to the next chain and epoch, and counts no death",
    bend: afterCommit(({ version }) => ({ chainClaims: version })),
  },
  {
    breach: "a commit that names the next chain counts as a death",
    caught: "a commit with `nextChain` moves the run to the next chain and epoch, and counts no death",
    bend: afterCommit(({ takeovers }) => ({ takeovers: takeovers + 1 })),
  },
  {
    breach: "a commit that names the next chain stays in its chain",
    caught: "a commit with `nextChain` moves the run to the next chain and epoch, and counts no death",
    bend: (table) => ({ commit: (commit) => table.decide({ ...commit, nextChain: false }, COMMIT) }),
  },
  {
    breach: "a commit that names the next chain loses effectsSettleAt",
    caught: "a commit with `nextChain` raises `effectsSettleAt` for a call that outlives it",
    bend: afterCommit(() => ({ effectsSettleAt: 0 })),
  },
];

const ENDS: readonly Planted[] = [
  {
    breach: "an end that is notified stays in `alive`",
    caught: "an end without recipients counts as delivered by its own commit: it leaves `alive` and then expires",
    bend: afterCommit(() => ({ endNotified: false })),
  },
  {
    breach: "an end that is notified has no time to live",
    caught: "an end without recipients counts as delivered by its own commit: it leaves `alive` and then expires",
    bend: afterCommit(() => ({ expiresAtSec: null })),
  },
  {
    breach: "an end whose notification was refused counts as notified",
    caught: "an end without recipients counts as delivered by its own commit: it leaves `alive` and then expires",
    bend: (table, store) => ({
      commit: async (commit) => {
        const outcome = await table.decide(commit, COMMIT);
        if (outcome.kind !== "woken" || commit.expiresAtSec === null) return outcome;
        const row = { ...rowIn(store, commit.run), endNotified: true, expiresAtSec: commit.expiresAtSec };
        store.rows.set(commit.run, row);
        return { kind: "woken", row };
      },
    }),
  },
  {
    breach: "an expired run is claimed",
    caught: "an end without recipients counts as delivered by its own commit: it leaves `alive` and then expires",
    bend: (table) => ({ claim: (claim) => table.decide({ ...claim, now: 0 }, CLAIM) }),
  },
  {
    breach: "an expired run is still alive",
    caught: "an end without recipients counts as delivered by its own commit: it leaves `alive` and then expires",
    bend: (table, store) => ({
      alive: async (query) => {
        const page = await table.alive(query);
        const over = [...store.rows.values()].filter(
          ({ expiresAtSec }) => (expiresAtSec ?? Infinity) * 1_000 <= query.now,
        );
        return { ...page, rows: [...page.rows, ...over] };
      },
    }),
  },
  {
    breach: "create loses the parent of the run",
    caught: "create stores the parent, and no later write changes it",
    bend: (table) => ({ create: (creation) => table.create({ ...creation, parent: null }) }),
  },
  {
    breach: "a claim loses the parent of the run",
    caught: "create stores the parent, and no later write changes it",
    bend: (table, store) => ({
      claim: async (claim) => {
        const outcome = await table.decide(claim, CLAIM);
        if (outcome.kind !== "granted") return outcome;
        const row = { ...outcome.row, parent: null };
        store.rows.set(claim.run, row);
        return { ...outcome, row };
      },
    }),
  },
];

const READS: readonly Planted[] = [
  {
    breach: "the inbox returns more than its limit",
    caught: "inbox returns the first messages up to its limit, and the next ones after a removal",
    bend: (table) => ({ unread: (of) => table.unread({ ...of, limit: 1_000 }) }),
  },
  {
    breach: "the inbox returns the first items that arrived",
    caught: "inbox returns the first messages up to its limit, and the next ones after a removal",
    bend: (table, store) => ({
      unread: async (of) => {
        const found = await table.unread({ ...of, limit: 1_000 });
        const arrived = new Set([...store.messages.values()].slice(0, of.limit).map(({ message }) => message?.id));
        return found.filter(({ id }) => arrived.has(id));
      },
    }),
  },
  {
    breach: "a list restarts when the run under its cursor has moved",
    caught: "list continues after a page even if the last run of that page has moved",
    bend: (table) => {
      const ends = new Map<string, string>();
      return {
        list: async (query) => {
          const all = (await table.list({ ...query, after: null, limit: 1_000 })).rows;
          const last = query.after === null ? null : (ends.get(query.after) ?? null);
          const isThere = last === null || all.some((row) => JSON.stringify([row.run, row.statusSince]) === last);
          const page = await table.list(isThere ? query : { ...query, after: null });
          const end = page.rows.at(-1);
          if (page.next !== null && end !== undefined) ends.set(page.next, JSON.stringify([end.run, end.statusSince]));
          return page;
        },
      };
    },
  },
];

describe("a breach of RunTable is caught", () => {
  test.each([...TURNS, ...CHAINS, ...ENDS, ...READS])("$breach", async ({ bend, caught }) => {
    const mine = runTableCases.filter(({ name }) => name.startsWith(caught));
    expect(mine).toHaveLength(1);
    const bent = (): ReturnType<typeof memoryTableWorld> =>
      memoryTableWorld((table, store) => withCalls(table, bend(table, store)));
    expect(await failing(mine, bent)).toHaveLength(1);
  });
});
