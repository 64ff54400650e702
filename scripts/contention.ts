/**
 * `npm run cost:contention [-- ROUNDS]`: counts the table writes that are refused when 50 messages are sent to a run at
 * once while it runs beats, and prints how long a claim and its commit take, as the median of several rounds. It runs
 * against LocalStack; the times only compare two versions of cairn on one machine.
 */
import { withKernel } from "../src/features/compose.ts";
import { newRunner, performBeats } from "../bench/perform-beats.ts";
import { median, sorted } from "../bench/statistics.ts";
import { workload } from "../bench/workload.ts";
import { type AwsClients, awsClients } from "../src/adapters/aws/clients.ts";
import { type MeteredCall, meter } from "../src/adapters/aws/meter.ts";
import { awsWorld } from "../src/adapters/aws/world.ts";
import { deliver } from "../src/engine/context/inbox.ts";
import { startRun } from "../src/operations/start.ts";
import { executionName } from "../src/protocol/ids.ts";
import { limitsFor } from "../src/protocol/limits.ts";
import type { Commit, Row } from "../src/protocol/row.ts";
import { COMMIT } from "../src/protocol/row-commit.ts";
import { CLAIM } from "../src/protocol/row-claim.ts";
import type { World } from "../src/ports/world.ts";
import { type Deployed, onLocalStack } from "./on-localstack.ts";

const MESSAGES = 50;
const BEATS = 30;
/** Claims and commits of one round, which is one sample. */
const PAIRS = 20;

/** A world, and the table requests that it sends. */
function metered(deployment: Deployed): { readonly world: World; readonly calls: MeteredCall[] } {
  const calls: MeteredCall[] = [];
  const clients = awsClients({ requestMs: 60_000 });
  meter(clients, (call) => void (call.service === "table" && calls.push(call)));
  return { calls, world: worldOf(deployment, clients) };
}

/** A world whose chain starts nothing, because this script drives the beats itself. */
function worldOf(deployment: Deployed, clients: AwsClients): World {
  const telemetry = { record: () => undefined };
  const chain = { start: async () => ({ kind: "started" as const }), wake: async () => ({ kind: "awake" as const }) };
  return { ...withKernel(awsWorld({ ...deployment, clients, limits: limitsFor(60_000), telemetry })), chain };
}

const isWrite = ({ operation }: MeteredCall): boolean => /^(Update|Put|Delete|Transact)/.test(operation);

/** The table gives no capacity for a write that it refuses. */
const summed = (calls: readonly MeteredCall[]) => ({
  writes: calls.filter(isWrite).length,
  refused: calls.filter((call) => isWrite(call) && call.units === null).length,
  reads: calls.filter((call) => !isWrite(call)).length,
});

async function begun(world: World, beats: number, key: string): Promise<Row> {
  const { agent } = workload(beats - 1);
  const started = await startRun(world, { agent, input: { beats }, tenant: "storm", idempotencyKey: key });
  if (started.kind !== "started") throw new Error(`cannot start: ${started.kind}`);
  return started.row;
}

async function storm(deployment: Deployed): Promise<void> {
  const [runs, sends] = [metered(deployment), metered(deployment)];
  const row = await begun(runs.world, BEATS, `${Date.now()} storm`);
  const { run, born } = row;
  const runner = newRunner(runs.world, workload(BEATS - 1).agent);
  let sending: Promise<unknown> | null = null;
  let invocations = 0;
  for await (const route of performBeats(row, () => runner)) {
    invocations += 1;
    if (invocations === 2 && route === "beat") {
      const sent = Array.from({ length: MESSAGES }, (_, index) => ({
        ...{ id: `m${index}`, sentAt: Date.now() + index },
        body: { kind: "user" as const, text: `message ${index}`, by: "anna" },
      }));
      sending = Promise.all(sent.map((message) => deliver(sends.world, { run, born, message })));
    }
  }
  await sending;
  console.table({ [`${invocations} beats`]: summed(runs.calls), [`${MESSAGES} messages`]: summed(sends.calls) });
}

/** Milliseconds for each claim and commit of a released run; `worldAt` gives the world of each pair. */
async function pairMs(worldAt: () => World): Promise<number> {
  let row = await begun(worldAt(), 1, `${Date.now()} pairs ${Math.random()}`);
  const began = performance.now();
  for (let pair = 0; pair < PAIRS; pair += 1) {
    const { table } = worldAt();
    const of = { run: row.run, born: row.born, now: Date.now() };
    const entry = { execution: executionName(row.run, row.born, 1), epoch: row.epoch, retry: 0 };
    const claim = { ...of, chain: 1, entry, owner: `owner ${pair}`, leaseUntil: of.now + 60_000 };
    const held = await table.decide(claim, CLAIM);
    if (held.kind !== "granted") throw new Error(`the claim was ${held.kind}`);
    const done = await table.decide(releaseOf(held.row, of.now), COMMIT);
    if (done.kind !== "committed") throw new Error(`the commit was ${done.kind}`);
    row = done.row;
  }
  return (performance.now() - began) / PAIRS;
}

function releaseOf(row: Row, now: number): Commit {
  const { run, born, epoch, version, agentVersion, journal, snapshot, spent, phase, wakeCount, deadline } = row;
  return {
    ...{ run, born, epoch, version, agentVersion, journal, snapshot, spent, phase, deadline, now },
    ...{
      commitId: `commit ${version}`,
      status: "running",
      wakeCountSeen: wakeCount,
      wakeAt: null,
      unaccountedModelCalls: 0,
      marksAtClaim: 1,
    },
    ...{ isProgress: true, storeOutage: null, lastCheckpointAt: now, release: true, raiseEffectsSettleAt: false },
    ...{ nextChain: false, expiresAtSec: null, unlessWoken: false },
  };
}

async function latency(deployment: Deployed, rounds: number): Promise<void> {
  const clients = awsClients({ requestMs: 60_000 });
  const world = worldOf(deployment, clients);
  const newWorld = (): World => worldOf(deployment, clients);
  const found: Record<"same" | "new", number[]> = { same: [], new: [] };
  for (let round = 0; round <= rounds; round += 1) {
    const [same, fresh] = [await pairMs(() => world), await pairMs(newWorld)];
    // The first round also compiles code and opens connections.
    if (round > 0) found.same.push(same);
    if (round > 0) found.new.push(fresh);
  }
  console.log(`claim + commit, median of ${rounds} rounds of ${PAIRS}:`);
  console.table({ "one process": shown(found.same), "a new process each": shown(found.new) });
}

function shown(samples: readonly number[]) {
  const ascending = sorted(samples);
  const [least = 0, most = 0] = [ascending[0], ascending.at(-1)];
  return { "median ms": median(samples).toFixed(2), "least ms": least.toFixed(2), "most ms": most.toFixed(2) };
}

const ROUNDS = Number(process.argv[2] ?? 7);

await onLocalStack("contention", async (deployment) => {
  for (let round = 0; round < 3; round += 1) await storm(deployment);
  await latency(deployment, ROUNDS);
});
