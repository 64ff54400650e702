/**
 * One AWS account with many runs at once: clients start them, executions run them, processes die and freeze, answers are
 * lost, and a sweeper starts what no client could start. At the end, each run must have taken each of its steps once.
 */
import { bornFrom } from "../../../src/protocol/ids.ts";
import type { ListedRow, Row } from "../../../src/protocol/row.ts";
import { seededRandom } from "../../../src/adapters/memory/clock.ts";
import { resolveAmbiguousWrite, patient } from "../../../src/history/resolve-ambiguous-write.ts";
import type { CreateOutcome, RunTable } from "../../../src/ports/run-table.ts";
import { type DynamoTable, type Network, dynamoTable } from "../../support/aws/dynamo-table.ts";
import { performInLanes } from "../../../src/maintenance/lanes.ts";
import { SWEEP_LANES } from "../../../src/maintenance/sweep-page.ts";
import { seededChoices } from "../seeded-choices.ts";
import { type Machine, runExecution } from "./execution.ts";
import { type Fault, newRun } from "./invocation.ts";
import { DEFAULT_QUOTAS, LATENCY_MS, type Quotas } from "./quotas.ts";
import { Bucket, Lambda, type Site, Tally, around, tableNetwork } from "./services.ts";
import { virtualTime } from "./virtual-time.ts";

export interface AccountOptions {
  readonly runs: number;
  readonly beats: number;
  /** How many runs the clients start in a second. */
  readonly startsPerSecond: number;
  readonly seed: string;
  readonly quotas?: Partial<Quotas>;
  /** One invocation in so many meets that fault. */
  readonly faults?: Faults;
  /** How many shards the index of statuses has; default 1. */
  readonly statusShards?: number;
  /** Replaces the way to the table, for a test that breaks it. */
  readonly network?: (network: Network) => Network;
}

export interface Faults {
  readonly deathOneIn: number;
  readonly freezeOneIn: number;
}

export interface AccountReport {
  readonly seconds: number;
  readonly beatsPerSecond: number;
  /** In the ten seconds with the most beats. */
  readonly beatsPerSecondAtPeak: number;
  /** Virtual milliseconds from the creation of a run to its end. */
  readonly runMs: Spread;
  /** Virtual milliseconds that an entry of Beat waited for Lambda. */
  readonly waitMs: Spread;
  readonly counts: Readonly<Record<string, number>>;
  /** Each sentence is a violation; empty for a correct protocol. */
  readonly violations: readonly string[];
}

export interface Spread {
  readonly median: number;
  readonly p99: number;
  readonly max: number;
}

const STARTED_AT = Date.UTC(2026, 10, 23);
const PART_MS = 10_000;
const SWEEP_MS = 300_000;
const SWEEP_PAGE = 100;
/** Tries of a start, as the client of Step Functions makes them. */
const START_TRIES = 4;
const FAULTS: Faults = { deathOneIn: 500, freezeOneIn: 2_000 };
/** Requests before which a fault may strike: claim, commit A, tool, commit B. */
const FAULT_POINTS = 4;

export async function simulateAccount(options: AccountOptions): Promise<AccountReport> {
  const account = accountOf(options);
  const { time } = account.site;
  const ids = Array.from({ length: options.runs }, (_, index) => `scale-${runSuffix(index)}`);
  for (const [index, run] of ids.entries()) {
    time.after((index * 1_000) / options.startsPerSecond, () => account.watch(start(account, run)));
  }
  account.watch(sweeps(account, ids.length));
  await time.runUntilIdle();
  if (account.failures.length > 0) throw new AggregateError(account.failures, "the simulation itself failed");
  return reportOf(account, { ids, beats: options.beats });
}

interface Account {
  readonly site: Site;
  readonly machine: Machine;
  readonly dynamo: DynamoTable;
  readonly table: RunTable;
  readonly starts: Bucket;
  readonly executions: Set<string>;
  readonly createdAt: Map<string, number>;
  readonly endedAt: Map<string, number>;
  readonly waits: number[];
  /** Beats by the ten seconds in which they ended. */
  readonly beaten: Map<number, number>;
  readonly applied: Map<string, number>;
  readonly actions: Map<string, number>;
  readonly failures: unknown[];
  readonly watch: (process: Promise<unknown>) => void;
}

function accountOf(options: AccountOptions): Account {
  const { seed, beats, faults = FAULTS, quotas: changed = {}, network: replaced = (each) => each } = options;
  const { statusShards = 1 } = options;
  const [time, choices, tally] = [virtualTime(STARTED_AT), seededChoices(seed), new Tally()];
  const quotas = { ...DEFAULT_QUOTAS, ...changed };
  const site: Site = { time, choices, quotas, tally };
  const applied = new Map<string, number>();
  const dynamo = dynamoTable(observed(replaced(tableNetwork(site)), applied));
  const beaten = new Map<number, number>();
  const [actions, waits, failures] = [new Map<string, number>(), new Array<number>(), new Array<unknown>()];
  const watch = (process: Promise<unknown>): void => void process.catch((error: unknown) => failures.push(error));
  const machine: Machine = {
    ...{
      site,
      beats,
      lambda: new Lambda(site, () => dynamo.process(undefined, statusShards)),
      random: seededRandom(seed),
    },
    transitions: new Bucket(quotas.stateTransition, time),
    fault: () => faultFrom(site, faults),
    act: (key) => void actions.set(key, (actions.get(key) ?? 0) + 1),
    waited: (ms) => void waits.push(ms),
    beaten: () => {
      const part = Math.floor((time.now() - STARTED_AT) / PART_MS);
      beaten.set(part, (beaten.get(part) ?? 0) + 1);
    },
    zombie: watch,
  };
  return {
    ...{
      site,
      machine,
      dynamo,
      table: dynamo.process(undefined, statusShards),
      starts: new Bucket(quotas.startExecution, time),
    },
    ...{ executions: new Set(), createdAt: new Map(), endedAt: new Map() },
    ...{ waits, beaten, applied, actions, failures, watch },
  };
}

/** Counts each version that a write really gave a run, at the moment at which the table applies it. */
const observed = (network: Network, applied: Map<string, number>): Network => ({
  ...network,
  send: (sent, apply) =>
    network.send(sent, () => {
      const answer = apply();
      const version = sent.input.ExpressionAttributeValues?.[":new_version"]?.N;
      const key = `${sent.input.Key?.["run"]?.S} ${version}`;
      if (version !== undefined) applied.set(key, (applied.get(key) ?? 0) + 1);
      return answer;
    }),
});

function faultFrom({ choices }: Site, { deathOneIn, freezeOneIn }: Faults): Fault {
  const beforeRequest = 1 + choices.below(FAULT_POINTS);
  if (choices.oneIn(deathOneIn)) return { kind: "dies", beforeRequest };
  return choices.oneIn(freezeOneIn) ? { kind: "frozen", beforeRequest } : null;
}

/** A client: the row first, then its execution. If no execution could be started, the sweeper starts it. */
async function start(account: Account, run: string): Promise<void> {
  const { site, table, machine } = account;
  const { time } = site;
  account.createdAt.set(run, time.now());
  const creation = newRun(run, { born: bornFrom(machine.random.hex()), now: time.now() });
  const created = await resolveAmbiguousWrite<CreateOutcome & { readonly row?: Row }>(
    () => table.create(creation) as Promise<CreateOutcome & { readonly row?: Row }>,
    () => null,
    patient({ clock: time, random: machine.random, until: time.now() + 60_000 }),
  );
  if (created.row === undefined) throw new Error(`${run} was not created: ${created.kind}`);
  if (!(await startInTries(account, created.row))) site.tally.add("starts left to the sweeper");
}

async function startInTries(account: Account, row: ListedRow): Promise<boolean> {
  const { site } = account;
  for (let tries = 1; tries <= START_TRIES; tries += 1) {
    if (await startExecution(account, row)) return true;
    await site.time.wait(around(site, 100 * 2 ** tries));
  }
  return false;
}

/** False: Step Functions throttles. A name that was used starts nothing. */
async function startExecution(account: Account, row: ListedRow): Promise<boolean> {
  const { site, starts, executions, machine } = account;
  await site.time.wait(around(site, LATENCY_MS.startExecution));
  if (executions.has(row.run)) return true;
  if (!starts.hasAny()) {
    site.tally.add("throttled: StartExecution");
    return false;
  }
  starts.take(1);
  executions.add(row.run);
  const { run, born, chain, epoch, agent } = row;
  account.watch(
    runExecution(machine, { run, born, chain, epoch, agent }).then(
      () => void account.endedAt.set(run, site.time.now()),
    ),
  );
  return true;
}

/** Every five minutes, one run after the other, the queued runs of all pages. */
async function sweeps(account: Account, runs: number): Promise<void> {
  const { site, table, executions } = account;
  while (executions.size < runs) {
    await site.time.wait(SWEEP_MS);
    const from = site.time.now();
    let after: string | null = null;
    do {
      const page = await table.alive({ limit: SWEEP_PAGE, after, now: site.time.now() });
      site.tally.add("rows that a sweep read", page.rows.length);
      await performInLanes({
        ...{ items: page.rows, lanes: SWEEP_LANES, mayBegin: () => true, oldest: () => undefined },
        perform: async (row) => row.status !== "queued" || startInTries(account, row),
        finished: (isDone) => {
          if (!isDone) site.tally.add("starts left to the next sweep");
        },
      });
      after = page.next;
    } while (after !== null);
    site.tally.add("sweeps");
    site.tally.add("seconds of sweeps", Math.round((site.time.now() - from) / 1_000));
  }
}

function reportOf(account: Account, of: { readonly ids: readonly string[]; readonly beats: number }): AccountReport {
  const { site, waits, beaten, createdAt, endedAt, dynamo, applied, actions } = account;
  const last = Math.max(...endedAt.values());
  const seconds = (last - STARTED_AT) / 1_000;
  const runMs = of.ids.map((run) => (endedAt.get(run) ?? Infinity) - (createdAt.get(run) ?? 0));
  const repeated = [...actions.values()].filter((times) => times > 1).length;
  return {
    ...{ seconds, beatsPerSecond: (of.ids.length * of.beats) / seconds },
    beatsPerSecondAtPeak: Math.max(...beaten.values()) / (PART_MS / 1_000),
    ...{ runMs: spreadOf(runMs), waitMs: spreadOf(waits) },
    counts: { ...site.tally.counts, "tool calls repeated under the same key": repeated },
    violations: of.ids.flatMap((run) => violationsOf(run, { item: dynamo.item(run), beats: of.beats, applied })),
  };
}

/** A beat is two versions, so a run of n beats has the versions from 1 to 2n, each written once. */
function violationsOf(
  run: string,
  of: { readonly item: ReturnType<DynamoTable["item"]>; readonly beats: number; readonly applied: Map<string, number> },
): readonly string[] {
  const [status, version] = [of.item?.["ts"]?.S, Number(of.item?.["v"]?.N)];
  const versions = Array.from({ length: 2 * of.beats }, (_, index) => index + 1);
  return [
    ...(status?.startsWith("scale#completed") === true ? [] : [`${run} was lost: it is ${status ?? "absent"}`]),
    ...(version === 2 * of.beats ? [] : [`${run} ended at version ${version}, not at ${2 * of.beats}`]),
    ...versions.flatMap((each) => {
      const times = of.applied.get(`${run} ${each}`) ?? 0;
      return times === 1 ? [] : [`${run} took step ${each} ${times} times`];
    }),
  ];
}

function spreadOf(values: readonly number[]): Spread {
  const sorted = Float64Array.from(values).toSorted();
  const at = (part: number): number => sorted[Math.floor(part * (sorted.length - 1))] ?? 0;
  return { median: at(0.5), p99: at(0.99), max: at(1) };
}

const BASE32 = "abcdefghijklmnopqrstuvwxyz234567";

/** A run ID's 26 digits, from a number. */
function runSuffix(index: number): string {
  const digits = Array.from({ length: 26 }, (_, digit) => BASE32[Math.floor(index / 32 ** digit) % 32] ?? "a");
  return digits.toReversed().join("");
}
