/**
 * Unavailable stores and functions that cannot start, under runs of the real state machine: no run fails or counts
 * a death, and each continues by itself after the outage. An outage lasts until every run has met it; `OUTAGE_RUNS` and
 * `OUTAGE_SECONDS` make the test larger and longer, for experiments by hand.
 */
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from "vitest";
import { seededRandom } from "../../src/adapters/memory/clock.ts";
import { unitFrom } from "../../src/history/resolve-ambiguous-write.ts";
import { decide } from "../../src/operations/decide.ts";
import { ledger } from "../../src/operations/views.ts";
import { LIMITS } from "../support/gate/limits.ts";
import { clerk } from "./fixtures/clerk.ts";
import {
  type Lane,
  callsOf,
  ended,
  failuresIn,
  keysOf,
  laneAt,
  nameOf,
  parked,
  rowOf,
  shown,
  started,
  statesOf,
  sweep,
  until,
} from "./lane.ts";
import { FaultProxy } from "./proxy.ts";
import { AGENTS, deployStacks } from "./stacks.ts";
import { seedFor } from "../support/gate/draws.ts";

const isByHand = process.env["OUTAGE_RUNS"] !== undefined;
const RUNS = Number(process.env["OUTAGE_RUNS"] ?? 5);
const SECONDS = Number(process.env["OUTAGE_SECONDS"] ?? 0);
/** The share of row writes. */
const THROTTLED_SHARE = 0.85;
const ORDERS = 8;
const SCENE = { timeout: SECONDS * 1_000 + 3 * LIMITS.sceneMs };

const BROKEN = { beat: join(import.meta.dirname, "fixtures", "broken.ts") };
const STEPS = [{ do: "ask", wrong: 0 }, ...Array.from({ length: ORDERS }, () => ({ do: "order", wrong: 0 }))];

let proxy: FaultProxy;
let lane: Lane;

/** Its functions reach table and bucket through the proxy; the test reaches them directly. */
async function deploy(instead = {}): Promise<Lane> {
  const { endpoint } = proxy;
  const env = { AWS_ENDPOINT_URL_S3: endpoint, AWS_ENDPOINT_URL_DYNAMODB: endpoint };
  const { away } = await deployStacks(inject("stacks"), { agents: AGENTS, names: ["away"], env, instead });
  return laneAt(away);
}

beforeAll(async () => {
  proxy = await new FaultProxy(inject("stacks").url).open();
  lane = await deploy();
});
afterEach(() => proxy.calm());
afterAll(() => proxy.close());

async function approve(run: string): Promise<void> {
  const [gate] = (await shown(lane, run)).gates;
  const decision = { run, gate: gate?.gate ?? "", as: "approve", args: null, by: "a test", note: null } as const;
  expect(await decide(lane.world, decision)).toMatchObject({ kind: "accepted" });
}

/** Runs that wait for approval. */
async function waiting(count: number): Promise<readonly string[]> {
  const rows = await Promise.all(
    Array.from({ length: count }, () => started(lane, { agent: clerk, input: { steps: STEPS } })),
  );
  for (const { run } of rows) await parked(lane, run);
  return rows.map(({ run }) => run);
}

const rowsOf = (runs: readonly string[]) => Promise.all(runs.map((run) => rowOf(lane, run)));

/** Runs that are in the middle of their work. */
async function atWork(count: number): Promise<readonly string[]> {
  const runs = await waiting(count);
  await Promise.all(runs.map(approve));
  await until(async () => expect(Math.max(...(await rowsOf(runs)).map(({ epoch }) => epoch))).toBeGreaterThan(3));
  return runs;
}

/** What failed in the executions of a run stands in the message of a failed expectation. */
async function expectNoDeath(runs: readonly string[]): Promise<void> {
  for (const row of await rowsOf(runs)) {
    const failures = row.deaths === 0 ? [] : await failuresIn(lane, nameOf(row, row.chain));
    const { phase, deaths } = row;
    expect({ isFailed: phase === "Failed", deaths, failures }).toEqual({ isFailed: false, deaths: 0, failures: [] });
  }
}

/** By hand, an outage lasts for so long at least. */
async function lastsByHand(since: number): Promise<void> {
  const endsAt = since + SECONDS * 1_000;
  if (isByHand) await until(() => expect(Date.now()).toBeGreaterThan(endsAt), SECONDS * 1_000 + LIMITS.eventMs);
}

/** Waits until the run reports the outage of a store, and returns that store. */
const outageOf = (run: string): Promise<string | undefined> =>
  until(async () => {
    const { storeOutage } = await rowOf(lane, run);
    expect(storeOutage).not.toBeNull();
    return storeOutage?.store;
  });

/** Every run completes by itself, and each of its steps ran under one key. */
async function expectDone(runs: readonly string[], since: number): Promise<void> {
  const calls: number[] = [];
  for (const run of runs) {
    expect(await ended(lane, run)).toMatchObject({ status: "completed" });
    expect(await rowOf(lane, run)).toMatchObject({ deaths: 0, storeOutage: null });
    const keys = await keysOf(lane, run);
    expect({ keys: keys.length, differentKeys: new Set(keys).size }).toEqual({
      keys: STEPS.length,
      differentKeys: STEPS.length,
    });
    const all = (await ledger(lane.world, run)) ?? [];
    expect(all.map(({ status }) => status)).toEqual(STEPS.map(() => "succeeded"));
    calls.push(...keys.map(callsOf));
  }
  if (isByHand) console.log(await figuresOf(runs, { since, calls }));
}

async function figuresOf(runs: readonly string[], of: { readonly since: number; readonly calls: readonly number[] }) {
  const rows = await rowsOf(runs);
  const total = (field: "epoch" | "takeovers" | "deaths" | "chain") => rows.reduce((sum, row) => sum + row[field], 0);
  return {
    ...{ runs: runs.length, seconds: SECONDS, requestsThatMetIt: proxy.met },
    ...{ secondsToTheLastEnd: (Date.now() - of.since) / 1_000, claims: total("epoch"), takeovers: total("takeovers") },
    ...{ deaths: total("deaths"), executions: total("chain"), effects: of.calls.length },
    callsOfTools: of.calls.reduce((sum, each) => sum + each, 0),
  };
}

describe("during an outage of", () => {
  test("the bucket, runs report that they wait for it, and no call is made twice", SCENE, async () => {
    const runs = await atWork(RUNS);
    const since = Date.now();
    proxy.meet("throttled", (name) => name.endsWith(" object"), Infinity);
    for (const run of runs) {
      // A failed read has the adapter's name of the store, an unanswered write the runner's name.
      expect([`the bucket ${lane.stack.bucket}`, "the objects"]).toContain(await outageOf(run));
      expect((await shown(lane, run)).label).toMatch(/^waiting: store unavailable \(the (bucket .+|objects)\)$/);
    }
    await lastsByHand(since);
    await expectNoDeath(runs);
    await proxy.calm();
    const back = Date.now();
    await expectDone(runs, back);
    for (const run of runs) expect((await keysOf(lane, run)).map(callsOf)).toEqual(STEPS.map(() => 1));
  });

  test("the bucket, which answers nothing at all, no invocation is killed", SCENE, async () => {
    const runs = await atWork(RUNS);
    const since = Date.now();
    proxy.meet("silent", (name) => name.endsWith(" object"), Infinity);
    for (const run of runs) await outageOf(run);
    await lastsByHand(since);
    await expectNoDeath(runs);
    await proxy.calm();
    await expectDone(runs, Date.now());
  });

  test("85 % of the table's writes, by throttling, runs continue slowly or wait", SCENE, async () => {
    const runs = await atWork(RUNS);
    const since = Date.now();
    const random = seededRandom(seedFor("throttles"));
    const isWrite = (name: string) => /^(UpdateItem|PutItem|TransactWriteItems)$/.test(name);
    proxy.meet("throttled", (name) => isWrite(name) && unitFrom(random.hex()) < THROTTLED_SHARE, Infinity);
    await until(() => expect(proxy.met).toBeGreaterThan(2 * RUNS));
    await lastsByHand(since);
    await expectNoDeath(runs);
    await proxy.calm();
    await expectDone(runs, Date.now());
  });

  test("the whole table, no attempt can claim, and none counts as a death", SCENE, async () => {
    const [run = ""] = await waiting(1);
    const row = await rowOf(lane, run);
    proxy.meet("throttled", (name) => name === "UpdateItem", Infinity);
    await approve(run);
    const execution = nameOf(row, 1);
    await until(async () => expect(await statesOf(lane, execution)).toContain("Unanswered"));
    expect(new Set(await failuresIn(lane, execution))).toEqual(new Set(["Undecided"]));
    expect(await rowOf(lane, run)).toMatchObject({ epoch: row.epoch, deaths: 0, takeovers: 0, owner: null });
    await proxy.calm();
    await expectDone([run], Date.now());
    expect(await statesOf(lane, execution)).not.toContain("Died");
  });
});

test("the beat function, which cannot start, no run fails", SCENE, async () => {
  const [run = ""] = await waiting(1);
  const row = await rowOf(lane, run);
  const execution = nameOf(row, 1);
  lane = await deploy(BROKEN);
  await approve(run);
  await until(async () => {
    const states = await statesOf(lane, execution);
    expect(states.filter((state) => state === "Died").length).toBeGreaterThan(2);
  });
  expect(await rowOf(lane, run)).toMatchObject({ epoch: row.epoch, deaths: 0, takeovers: 0, owner: null });
  lane = await deploy();
  // It may pause for long by now, but the sweeper detects the new code.
  await sweep(lane);
  await expectDone([run], Date.now());
});
