/**
 * Shared fixtures of the RunTable cases: a run in a tenant of its own, and complete requests that a case can change.
 */
import { NOTHING_SPENT } from "../../core/policy/budget.ts";
import { LEVEL } from "../../core/levels.ts";
import type { HandOver } from "../../protocol/row-hand-over.ts";
import type { Commit, Creation, RunRef, Request, Row } from "../../protocol/row.ts";
import type { Park } from "../../protocol/row-park.ts";
import { type Claim, CLAIM } from "../../protocol/row-claim.ts";
import { COMMIT } from "../../protocol/row-commit.ts";
import type { Delivery, Inbox, InboxMessage } from "../../ports/inbox.ts";
import type { MutexLeases } from "../../ports/mutex-leases.ts";
import type { Page, RunTable } from "../../ports/run-table.ts";
import { rowOf } from "./case.ts";

/** What the run table cases need of a world. */
export interface RunTableWorld {
  readonly table: RunTable;
  readonly inbox: Inbox;
  readonly leases: MutexLeases;
  /**
   * `[a-z0-9]`, at most 23 characters. No other case and no earlier round may use this tenant, or this tenant followed
   * by `z`, because a store may outlive many rounds.
   */
  readonly tenant: string;
  /** Writes another format number to that row, bypassing the port, as a newer version of cairn would. */
  readonly setFormat: (run: string, format: number) => Promise<void>;
  /** Adds an unknown field to that row, bypassing the port. */
  readonly addField: (run: string) => Promise<void>;
  /** Whether that row still has the field of `addField`. */
  readonly hasField: (run: string) => Promise<boolean>;
  /** Damages that row, bypassing the port, so that it cannot be decoded. */
  readonly damage: (run: string) => Promise<void>;
  /**
   * Removes rows that are expired at `now`, as the world does by itself. They are removed when the promise resolves.
   */
  readonly expire: (now: number) => Promise<void>;
  /** The incarnations of that run whose removal the world has announced. A world that announces late waits here. */
  readonly removedOf: (run: string) => Promise<readonly string[]>;
}

export const NOW = 1_700_000_000_000;
export const LEASE_MS = 5_000;
export const BORN = "aaaaaaaaaa";
export const HOUR_MS = 3_600_000;

/** The fixtures of one run. `letter` distinguishes several runs of a case. */
export function subject({ table, tenant }: Pick<RunTableWorld, "table" | "tenant">, letter = "a") {
  const run = `${tenant}-${letter.repeat(26)}`;
  const of = { run, born: BORN, now: NOW, limit: 1_000 };
  const execution = (chain: number): string => `${run}-${BORN}-${chain}`;
  const creation = (change: Partial<Creation> = {}): Creation => ({
    ...of,
    parent: null,
    tenant,
    agent: "travel",
    agentVersion: "1",
    inputDigest: "digest of the input",
    snapshot: { version: 0, key: "snapshots/0", digest: "digest of snapshot 0" },
    deadline: NOW + 1_000_000,
    ...change,
  });
  /** By default attempt 0 of the beat after epoch 0. */
  const claim = (change: Partial<Claim> & { readonly epoch?: number; readonly retry?: number } = {}): Claim => {
    const { epoch = 0, retry = 0, ...rest } = change;
    const chain = change.chain ?? 1;
    const entry = { execution: execution(chain), epoch, retry };
    return { ...of, chain, entry, owner: "owner", leaseUntil: NOW + LEASE_MS, level: LEVEL, ...rest };
  };
  /** By default a commit that keeps the lease, under the epoch of `row` and after its version. */
  const commit = (row: Row, change: Partial<Commit> = {}): Commit => ({
    ...of,
    epoch: row.epoch,
    version: row.version,
    commitId: `commit ${row.version + 1}`,
    agentVersion: "1",
    journal: Uint8Array.of(1, 2, 3),
    snapshot: row.snapshot,
    spent: NOTHING_SPENT,
    status: "running",
    phase: "AwaitingLLM",
    wakeCountSeen: row.wakeCount,
    wakeAt: null,
    deadline: row.deadline,
    unaccountedModelCalls: 0,
    marksAtClaim: 0,
    isProgress: false,
    storeOutage: null,
    lastCheckpointAt: NOW,
    release: false,
    raiseEffectsSettleAt: false,
    unlessWoken: false,
    nextChain: false,
    expiresAtSec: null,
    ...change,
  });
  const park = (row: Row, change: Partial<Park> & { readonly retry?: number } = {}): Park => {
    const { retry = 0, ...rest } = change;
    const entry = { execution: execution(row.chain), epoch: row.epoch, retry };
    return { ...of, chain: row.chain, epoch: row.epoch, entry, token: "token", ...rest };
  };
  const handOver = (change: Partial<HandOver> = {}): HandOver => ({ ...of, chain: 1, ...change });
  const request = (want: Request["want"], change: Partial<RunRef> = {}): Request => ({ ...of, want, ...change });
  const delivery = (message: InboxMessage, change: Partial<Delivery> = {}): Delivery => ({
    ...of,
    message,
    deadline: NOW + 1_000_000,
    ...change,
  });

  const created = (): Promise<Row> => rowOf(() => table.create(creation()), "created");
  const granted = async (): Promise<Row> => {
    await created();
    return rowOf(() => table.decide(claim(), CLAIM), "granted");
  };
  const released = async (): Promise<Row> => {
    const held = await granted();
    return rowOf(() => table.decide(commit(held, { release: true }), COMMIT), "committed");
  };
  const ended = async (): Promise<Row> => {
    const held = await granted();
    return rowOf(() => table.decide(commit(held, { ...ENDED, release: true, unlessWoken: true }), COMMIT), "committed");
  };
  const stored = (now = NOW): Promise<Row | null> => table.read(run, now);
  return {
    run,
    of,
    creation,
    claim,
    commit,
    park,
    handOver,
    request,
    delivery,
    execution,
    created,
    granted,
    released,
    ended,
    stored,
  };
}

type Subject = ReturnType<typeof subject>;

interface OnRun {
  readonly world: RunTableWorld;
  readonly table: RunTable;
  readonly inbox: Inbox;
  readonly leases: MutexLeases;
  readonly mine: Subject;
}

/** The steps of a case about one run of its world. */
export const onRun =
  (steps: (on: OnRun) => Promise<void>) =>
  (world: RunTableWorld): Promise<void> =>
    steps({ world, table: world.table, inbox: world.inbox, leases: world.leases, mine: subject(world) });

export const ENDED = { status: "completed", phase: "Completed" } as const;

export const words = (id: string, sentAt = NOW, text = `words of ${id}`): InboxMessage => ({
  id,
  sentAt,
  body: { kind: "user", text, by: "conformance" },
});

export const times = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** The runs of all pages: those with readable rows, and those with damaged ones. */
export async function allOf(page: (after: string | null) => Promise<Page>) {
  const rows: string[] = [];
  const damaged: string[] = [];
  let after: string | null = null;
  do {
    const found: Page = await page(after);
    rows.push(...found.rows.map(({ run }) => run));
    damaged.push(...found.damaged.map(({ run }) => run));
    after = found.next;
  } while (after !== null);
  return { rows, damaged: damaged.toSorted().toReversed() };
}
