/** The cost of a beat, counted from the clients' requests, and the size of a row as DynamoDB counts it. */
import { type AttributeValue, GetItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ATTRIBUTES } from "../../src/adapters/aws/table/attributes.ts";
import { awsClients } from "../../src/adapters/aws/clients.ts";
import { type MeteredCall, meter } from "../../src/adapters/aws/meter.ts";
import { withKernel } from "../../src/features/compose.ts";
import { awsWorld } from "../../src/adapters/aws/world.ts";
import { SIZES } from "../../src/codec/limits.ts";
import { FEW_REQUESTS } from "../../src/ports/stored-sizes.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import type { World } from "../../src/ports/world.ts";
import type { Reply } from "../../src/protocol/chain.ts";
import type { Commit, Row } from "../../src/protocol/row.ts";
import { COMMIT } from "../../src/protocol/row-commit.ts";
import { PARK } from "../../src/protocol/row-park.ts";
import { CLAIM } from "../../src/protocol/row-claim.ts";
import { snapshotKey } from "../../src/history/object-keys.ts";
import { LIMITS } from "../support/gate/limits.ts";
import { attemptBeat, runnerOf } from "../support/harness/drive.ts";
import { type Deployment, deploy, undeploy } from "./deployment.ts";
import { caller, started } from "../support/aws/scene.ts";

/** The row of a run with the longest IDs, without journal and token. */
const ROW_BYTES_MAX = 900;

let deployment: Deployment;
beforeAll(async () => {
  deployment = await deploy();
});
afterAll(() => undeploy(deployment));

const worldOf = (clients: Deployment["clients"]) =>
  withKernel(awsWorld({ ...deployment, clients, limits: limitsFor(60_000), telemetry: { record: () => undefined } }));

/** A model call waits 100 ms for the log of deltas. On a loaded machine the answer, and so its cost, would come later. */
const patient = (world: World): World => ({
  ...world,
  clock: { ...world.clock, after: (ms, act) => world.clock.after(Math.max(ms, LIMITS.eventMs), act) },
});

test("a beat makes one put and three row writes, each at the price of a small item, and its process reads a run once", async () => {
  const calls: MeteredCall[] = [];
  const clients = awsClients({ requestMs: LIMITS.eventMs });
  meter(clients, (call) => calls.push(call));
  const world = patient(worldOf(clients));
  const agent = caller(3);
  const runner = runnerOf(world, agent);
  let payload: Awaited<ReturnType<typeof started>> = await started(world, {
    agent,
    tenant: "calls",
    key: deployment.round,
  });
  for (let beat = 1; beat <= 3; beat += 1) {
    calls.length = 0;
    const result = await attemptBeat(runner, payload);
    expect(result).toMatchObject({ kind: "beat", reply: { route: "beat" } });
    payload = (result as { readonly reply: Reply }).reply;
    expect(calls.map(({ operation }) => operation)).toEqual([
      ...["UpdateItem", ...(beat === 1 ? ["GetObject"] : []), "GetItem", "UpdateItem", "PutObject", "UpdateItem"],
    ]);
    const unitsOf = (name: string): readonly number[] =>
      calls.flatMap(({ operation, units }) => (operation === name ? [units ?? 0] : []));
    // One unit per 1 KB; the first claim changes the status and so two index entries.
    expect(unitsOf("UpdateItem")).toEqual([beat === 1 ? 3 : 1, 1, 1]);
    // Whether a reader wants to see what the model says: an answer that may lag costs half.
    expect(unitsOf("GetItem")).toEqual([0.5]);
    const item = await itemOf(payload.run);
    expect(item[ATTRIBUTES.journal]?.B?.length ?? 0).toBeLessThanOrEqual(FEW_REQUESTS.journalBytesMax);
  }
});

test("a process reads a row that it does not know once, and then each write of the run is one request", async () => {
  const calls: MeteredCall[] = [];
  const clients = awsClients({ requestMs: LIMITS.eventMs });
  meter(clients, (call) => calls.push(call));
  const { table } = worldOf(clients);
  const payload = await started(worldOf(deployment.clients), { agent: caller(1), tenant: "guess", key: "one" });
  const of = { run: payload.run, born: payload.born, now: Date.now() };
  const entry = { execution: `${payload.run}-${payload.born}-1`, epoch: 0, retry: 0 };
  const claim = { ...of, chain: 1, owner: "one", leaseUntil: of.now + 60_000 };
  const sent = async (act: () => Promise<{ readonly kind: string }>): Promise<readonly string[]> => {
    calls.length = 0;
    return [(await act()).kind, ...calls.map(({ operation }) => operation)];
  };
  expect(await sent(() => table.decide({ ...claim, entry }, CLAIM))).toEqual(["granted", "GetItem", "UpdateItem"]);
  // Another process, which does not know the owner.
  const other = worldOf(clients).table;
  const second = { ...claim, owner: "two", entry: { ...entry, retry: 1 } };
  expect(await sent(() => other.decide(second, CLAIM))).toEqual(["granted", "GetItem", "UpdateItem"]);
  expect(await sent(() => other.decide({ ...second, owner: "three", entry: { ...entry, retry: 2 } }, CLAIM))).toEqual([
    ...["granted", "UpdateItem"],
  ]);
  // The first process relies on its old view, is refused, and learns so at once.
  const stale = await sent(() => table.decide({ ...claim, entry: { ...entry, retry: 1 } }, CLAIM));
  expect(stale).toEqual(["superseded", "UpdateItem"]);
});

test("a row stays small, whatever happens to its run", async () => {
  const { table } = worldOf(deployment.clients);
  const tenant = "t".repeat(SIZES.tenantCharactersMax);
  const digest = "d".repeat(64);
  const [now, run, born] = [1_790_000_000_123, `${tenant}-${"a".repeat(26)}`, "bbbbbbbbbb"];
  const of = { run, born, now };
  const snapshot = { version: 12_345, key: snapshotKey(of, { version: 12_345, epoch: 23_456, put: 2 }), digest };
  const named = { agent: "literature-reviewer", agentVersion: "2026-11-20.1", inputDigest: digest };
  const parent = { run: `${tenant}-${"p".repeat(26)}`, born };
  const sizes: number[] = [];
  const measured = async (outcome: Promise<{ readonly kind: string; readonly row?: Row }>): Promise<Row> => {
    const { kind, row } = await outcome;
    if (row === undefined) throw new Error(`the outcome was ${kind}`);
    sizes.push(sizeOf(await itemOf(run)));
    return row;
  };
  await measured(table.create({ ...of, ...named, tenant, parent, snapshot, deadline: now + 1_000 }));
  const entry = { execution: `${run}-${born}-1`, epoch: 0, retry: 1 };
  const claim = { ...of, chain: 1, owner: "0123456789abcdef", leaseUntil: now + 60_000 };
  const held = await measured(table.decide({ ...claim, entry }, CLAIM));
  const over = await measured(
    table.decide({ ...claim, entry: { ...entry, retry: 2 }, owner: "fedcba9876543210" }, CLAIM),
  );
  expect({ held: held.takeovers, over: over.takeovers }).toEqual({ held: 0, over: 1 });
  const commit: Commit = {
    ...{ ...of, ...named, snapshot, epoch: over.epoch, version: 0, commitId: "0123456789abcdef", journal: null },
    ...{
      spent: { tokensIn: 12_345_678, tokensOut: 1_234_567, microUsd: 123_456_789, beats: 1_234, toolCalls: 12_345 },
    },
    ...{ status: "blocked", phase: "AwaitingReconcile", wakeCountSeen: 2, wakeAt: now + 5, deadline: now + 1_000 },
    ...{
      unaccountedModelCalls: 0,
      marksAtClaim: 0,
      isProgress: false,
      storeOutage: { store: "the bucket cairn-production-objects", since: now },
      lastCheckpointAt: now,
      release: true,
      raiseEffectsSettleAt: true,
      nextChain: false,
      expiresAtSec: null,
      unlessWoken: false,
    },
  };
  for (const want of ["pause", "cancel"] as const) await measured(table.request({ ...of, want }));
  const free = await measured(table.decide(commit, COMMIT));
  const parked = { ...of, chain: 1, epoch: free.epoch, entry: { ...entry, epoch: free.epoch }, token: "t".repeat(800) };
  await measured(table.decide(parked, PARK));
  const last = { execution: `${run}-${born}-1`, epoch: free.epoch, retry: 0 };
  const holder = await measured(table.decide({ ...claim, entry: last }, CLAIM));
  const end = { ...commit, epoch: holder.epoch, version: 1, status: "cancelled", phase: "Cancelled" } as const;
  await measured(table.decide({ ...end, expiresAtSec: 1_790_086_400 }, COMMIT));
  expect(sizes).toHaveLength(9);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(ROW_BYTES_MAX);
  expect(Math.min(...sizes)).toBeGreaterThan(ROW_BYTES_MAX / 3);
});

async function itemOf(run: string): Promise<Record<string, AttributeValue>> {
  const Key = { run: { S: run }, item: { S: "row" } };
  const { table, clients } = deployment;
  const found = await clients.table.repeating.send(new GetItemCommand({ TableName: table, Key, ConsistentRead: true }));
  return found.Item ?? {};
}

const SET_APART: ReadonlySet<string> = new Set([ATTRIBUTES.journal, ATTRIBUTES.parkToken]);

function sizeOf(item: Record<string, AttributeValue>): number {
  const counted = Object.entries(item).filter(([name]) => !SET_APART.has(name));
  return counted.reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + valueBytes(value), 0);
}

/** DynamoDB's sizes: a byte per two digits plus one; three bytes per list plus one per element. */
function valueBytes(value: AttributeValue): number {
  if (value.S !== undefined) return Buffer.byteLength(value.S);
  if (value.N !== undefined) return Math.ceil(value.N.length / 2) + 1;
  if (value.L !== undefined) return value.L.reduce((sum, each) => sum + 1 + valueBytes(each), 3);
  return value.BOOL === undefined ? (value.B?.length ?? 0) : 1;
}
