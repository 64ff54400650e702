/** The worlds whose requests a measurement of cost counts: a table in memory, or LocalStack. */
import { awsClients } from "../src/adapters/aws/clients.ts";
import { meter } from "../src/adapters/aws/meter.ts";
import { withKernel } from "../src/features/compose.ts";
import { awsWorld } from "../src/adapters/aws/world.ts";
import { limitsFor } from "../src/protocol/limits.ts";
import type { World } from "../src/ports/world.ts";
import { systemClock } from "../src/adapters/local/clock.ts";
import { FEW_REQUESTS } from "../src/ports/stored-sizes.ts";
import { memoryStore } from "../src/adapters/memory/tables.ts";
import { memoryWorld } from "../src/adapters/memory/world.ts";
import { dynamoTable } from "../test/support/aws/dynamo-table.ts";
import { type Counts, count } from "./cost-counts.ts";
import type { Deployed } from "./on-localstack.ts";

/** Where the requests go, and how a process begins there: its world, whose requests are added to `counts`. */
export type Process = (of: {
  readonly beatsPerInvocation: number;
  readonly counts: Counts;
  /** How long a park keeps its execution open; absent: as long as it lasts. */
  readonly openParkMs?: number;
}) => World;

/** The parts of a world that are the same everywhere. Its chain starts nothing: this script drives the beats itself. */
function partsFor({ beatsPerInvocation, counts, openParkMs }: Parameters<Process>[0]) {
  const limits = limitsFor(60_000, { beatsPerInvocation, ...(openParkMs === undefined ? {} : { openParkMs }) });
  // Powertools adds about 400 bytes to a record: the function's name, memory, ARN and request, level, service and time.
  const telemetry = { record: (record: object) => void (counts.logBytes += JSON.stringify(record).length + 400) };
  const chain = { start: async () => ({ kind: "started" as const }), wake: async () => ({ kind: "awake" as const }) };
  return { limits, telemetry, chain };
}

export function emulatedWorld(deployment: Deployed, of: Parameters<Process>[0]): World {
  const { chain, ...parts } = partsFor(of);
  const clients = awsClients({ requestMs: 30_000 });
  meter(clients, (call) => count(of.counts, call));
  return { ...withKernel(awsWorld({ ...deployment, clients, ...parts })), chain };
}

/** The adapter of DynamoDB over a table in memory, which computes the capacity, and objects in memory. */
export function inMemory(): Process {
  const tables = dynamoTable();
  const store = memoryStore();
  return (of) => {
    const { counts } = of;
    const { chain, ...parts } = partsFor(of);
    const world = withKernel(memoryWorld({ store, clock: systemClock, ...parts }));
    const { objects } = world;
    const ports = tables.process((sent) => count(counts, { service: "table", ...sent }));
    return {
      ...{ ...world, chain, table: ports, inbox: ports, sizes: FEW_REQUESTS },
      deltas: tables.deltaLog((sent) => count(counts, { service: "table", ...sent })),
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
        removeUnder: (prefix) => {
          count(counts, { service: "bucket", operation: "ListObjectsV2", units: null });
          return objects.removeUnder(prefix);
        },
      },
    };
  };
}
