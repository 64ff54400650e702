/**
 * `npm run cost [-- BEATS] [--localstack]`: measures what 1,000 beats cost on AWS, for several numbers of beats per
 * invocation. It does so where one process makes all invocations of the run, and where each invocation is a new process,
 * which knows nothing.
 *
 * It counts every request with the capacity that DynamoDB charges, and multiplies by list prices. The requests are those
 * of the real adapter, which sends them to a table in memory; with `--localstack` the SDK sends them to LocalStack. The
 * model's cost, and the time that a function waits for it, are not included. Exits 1 if a cost exceeds its bound in
 * `cost-bounds.ts`.
 */
import { parseArgs } from "node:util";
import { newRunner, performBeats } from "../bench/perform-beats.ts";
import { workload } from "../bench/workload.ts";
import { definitionOf } from "../src/adapters/aws/machine/asl.ts";
import type { MachineState } from "../src/adapters/aws/machine/asl-states.ts";
import { machineTimesOf, planOf } from "../infra/plan.ts";
import { awsClients } from "../src/adapters/aws/clients.ts";
import { type MeteredCall, meter } from "../src/adapters/aws/meter.ts";
import { routeErrorName } from "../src/adapters/aws/machine/machine-input.ts";
import { awsWorld } from "../src/adapters/aws/world.ts";
import { AFTER_BEAT, type Route } from "../src/protocol/chain.ts";
import { limitsFor } from "../src/protocol/limits.ts";
import type { World } from "../src/ports/world.ts";
import { startRun } from "../src/operations/start.ts";
import type { Runner } from "../src/engine/context/runner.ts";
import { systemClock } from "../src/adapters/local/clock.ts";
import { FEW_REQUESTS } from "../src/ports/stored-sizes.ts";
import { memoryStore } from "../src/adapters/memory/tables.ts";
import { memoryWorld } from "../src/adapters/memory/world.ts";
import { dynamoTable } from "../test/support/aws/dynamo-table.ts";
import { BOUNDS, tooDear } from "./cost-bounds.ts";
import { type Deployed, onLocalStack } from "./on-localstack.ts";
import { MEMORY_GB, OWN_MS, PRICES, WAIT_MS } from "./prices.ts";

/** The billed state transitions of a route: from a beat to the next beat, or to the end of the execution. */
function transitionsOf(route: Route): number {
  const { States } = definitionOf({
    functions: { beat: "beat", park: "park", sweep: "sweep" },
    ...machineTimesOf(planOf({}, [])),
  });
  if (AFTER_BEAT[route] === "Beat") return 1;
  const { Beat } = States;
  const catchers = Beat.Type === "Task" ? Beat.Catch : [];
  let next = catchers.find(({ ErrorEquals }) => ErrorEquals.includes(routeErrorName(AFTER_BEAT[route])))?.Next;
  let entered = 1;
  while (next !== undefined && next !== "Beat") {
    const state: MachineState | undefined = States[next];
    entered += 1;
    next = state !== undefined && "Next" in state ? state.Next : undefined;
  }
  return entered;
}

interface Counts {
  invocations: number;
  transitions: number;
  writes: number;
  writeUnits: number;
  reads: number;
  readUnits: number;
  puts: number;
  gets: number;
  logBytes: number;
}

const nothing = (): Counts => ({
  ...{ invocations: 0, transitions: 0, logBytes: 0 },
  ...{ writes: 0, writeUnits: 0, reads: 0, readUnits: 0, puts: 0, gets: 0 },
});

/** Where the requests go, and how a process begins there: its world, whose requests are added to `counts`. */
type Process = (of: { readonly beatsPerInvocation: number; readonly counts: Counts }) => World;

async function measure(process_: Process, beats: number): Promise<void> {
  const rows: Record<string, string | number>[] = [];
  for (const [beatsPerInvocation, bound] of BOUNDS) {
    for (const kind of ["same", "new"] as const) {
      const counts = nothing();
      const begin = () => process_({ beatsPerInvocation, counts });
      const one = begin();
      await drive(() => (kind === "same" ? one : begin()), { beats, counts });
      const row = priced(counts, beats / 1_000);
      rows.push({ B: beatsPerInvocation, process: kind, ...row, "at most $": bound[kind].toFixed(5) });
    }
  }
  console.table(rows);
  const wrong = rows.flatMap(
    ({ B, process, "sum $": sum }) => tooDear(Number(B), process as "same" | "new", Number(sum)) ?? [],
  );
  for (const each of wrong) console.error(each);
  if (wrong.length > 0) process.exitCode = 1;
  console.log(
    `Of 1,000 beats, from ${beats}. Function time is taken as ${JSON.stringify(WAIT_MS)} ms a request and ${OWN_MS} ms.`,
  );
  const more = (["wait", "park", "renew"] as const).map((route) => `${route} ${transitionsOf(route)}`);
  console.log(`State transitions of a beat by its route: beat ${transitionsOf("beat")}, ${more.join(", ")}.`);
  console.log("Logs are beside the sum: they cost what is kept of them.");
}

/** The parts of a world that are the same everywhere. Its chain starts nothing: this script drives the beats itself. */
function partsFor({ beatsPerInvocation, counts }: Parameters<Process>[0]) {
  const limits = limitsFor(60_000, { beatsPerInvocation });
  // Powertools adds about 400 bytes to a record: the function's name, memory, ARN and request, level, service and time.
  const telemetry = { record: (record: object) => void (counts.logBytes += JSON.stringify(record).length + 400) };
  const chain = { start: async () => ({ kind: "started" as const }), wake: async () => ({ kind: "awake" as const }) };
  return { limits, telemetry, chain };
}

function emulatedWorld(deployment: Deployed, of: Parameters<Process>[0]): World {
  const { chain, ...parts } = partsFor(of);
  const clients = awsClients({ requestMs: 30_000 });
  meter(clients, (call) => count(of.counts, call));
  return { ...awsWorld({ ...deployment, clients, ...parts }), chain };
}

/** The adapter of DynamoDB over a table in memory, which computes the capacity, and objects in memory. */
function inMemory(): Process {
  const tables = dynamoTable();
  const store = memoryStore();
  return (of) => {
    const { counts } = of;
    const { chain, ...parts } = partsFor(of);
    const world = memoryWorld({ store, clock: systemClock, ...parts });
    const { objects } = world;
    const ports = tables.process((sent) => count(counts, { service: "table", ...sent }));
    return {
      ...{ ...world, chain, table: ports, inbox: ports, sizes: FEW_REQUESTS },
      objects: {
        ...objects,
        get: (key) => {
          counts.gets += 1;
          return objects.get(key);
        },
        put: (key, bytes) => {
          counts.puts += 1;
          return objects.put(key, bytes);
        },
      },
    };
  };
}

function count(counts: Counts, { service, operation, units }: Omit<MeteredCall, "input">): void {
  const isRead = /^(Get|Query|Head|List|BatchGet)/.test(operation);
  if (service === "bucket") counts[isRead ? "gets" : "puts"] += 1;
  if (service !== "table") return;
  counts[isRead ? "reads" : "writes"] += 1;
  counts[isRead ? "readUnits" : "writeUnits"] += units ?? 1;
}

/** Drives a run to its end. Each invocation gets its world from `worldAt`, and a new world begins with empty caches. */
async function drive(
  worldAt: () => World,
  { beats, counts }: { readonly beats: number; readonly counts: Counts },
): Promise<void> {
  const { agent } = workload(beats - 1);
  let runner = newRunner(worldAt(), agent);
  const { world } = runner;
  const started = await startRun(world, { agent, input: { beats }, tenant: "cost", idempotencyKey: null });
  if (started.kind !== "started") throw new Error(`cannot start: ${started.kind}`);
  const runnerNow = (): Runner => {
    const now = worldAt();
    if (now !== runner.world) runner = newRunner(now, agent);
    return runner;
  };
  for await (const route of performBeats(started.row, runnerNow)) {
    counts.invocations += 1;
    counts.transitions += transitionsOf(route);
  }
  const row = await world.table.read(started.row.run, Date.now());
  if (row?.status !== "completed" || row.spent.beats !== beats)
    throw new Error(`${row?.status} after ${row?.spent.beats} beats`);
}

function priced(counts: Counts, thousands: number): Record<string, string | number> {
  const per = (n: number): number => n / thousands;
  const { invocations, transitions, writes, writeUnits, reads, readUnits, puts, gets, logBytes } = counts;
  const ms = (writes + reads) * WAIT_MS.table + puts * WAIT_MS.put + gets * WAIT_MS.get + invocations * OWN_MS;
  const dollars = {
    machine: per(transitions) * PRICES.transition,
    functions: per(invocations) * PRICES.invocation + (per(ms) / 1_000) * MEMORY_GB * PRICES.gigabyteSecond,
    table: per(writeUnits) * PRICES.writeUnit + per(readUnits) * PRICES.readUnit,
    bucket: per(puts) * PRICES.put + per(gets) * PRICES.get,
  };
  const sum = Object.values(dollars).reduce((all, each) => all + each, 0);
  return {
    ...Object.fromEntries(
      Object.entries({ invocations, transitions, writes, writeUnits, reads, readUnits, puts, gets }).map(
        ([name, n]) => [name, Math.round(per(n))],
      ),
    ),
    ...Object.fromEntries(Object.entries(dollars).map(([name, each]) => [`${name} $`, each.toFixed(5)])),
    "sum $": sum.toFixed(5),
    "logs $": ((per(logBytes) / 1e9) * PRICES.logGigabyte).toFixed(5),
  };
}

const { values, positionals } = parseArgs({ allowPositionals: true, options: { localstack: { type: "boolean" } } });
const beats = Number(positionals[0] ?? 200);
if (values.localstack === true) {
  await onLocalStack("cost", (deployment) => measure((of) => emulatedWorld(deployment, of), beats));
} else await measure(inMemory(), beats);
