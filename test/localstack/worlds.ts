/** The AWS world for the conformance suites, with shards and on a separate deployment; each case has its own names. */
import { DeleteItemCommand, GetItemCommand, ScanCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { DescribeExecutionCommand, StopExecutionCommand } from "@aws-sdk/client-sfn";
import { ATTRIBUTES } from "../../src/adapters/aws/table/attributes.ts";
import { recordItem, recordPartition } from "../../src/adapters/aws/table/keys.ts";
import { withKernel } from "../../src/features/compose.ts";
import { awsWorld } from "../../src/adapters/aws/world.ts";
import { memoryOf } from "../../src/features/memory/stored.ts";
import type { RecordKey } from "../../src/ports/records.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import type {
  ChainWorld,
  DeltasWorld,
  MemoriesWorld,
  ObjectStoreWorld,
  RecordsWorld,
  RunTableWorld,
} from "../../src/testing/conformance/index.ts";
import type { World } from "../../src/ports/world.ts";
import { eventually } from "./eventually.ts";
import type { Deployment } from "./deployment.ts";

export interface Worlds {
  readonly table: () => RunTableWorld;
  readonly objects: () => ObjectStoreWorld;
  readonly records: () => RecordsWorld;
  readonly memories: () => MemoriesWorld;
  readonly deltas: () => DeltasWorld;
  readonly chain: () => ChainWorld;
}

export function worldsOf(deployment: () => Deployment): Worlds {
  let cases = 0;
  const fresh = () => {
    cases += 1;
    const of = deployment();
    const world = withKernel(
      awsWorld({
        ...of,
        limits: limitsFor(60_000),
        telemetry: { record: () => undefined },
        statusShards: 4,
      }),
    );
    return { of, world, tenant: `c${of.round}${cases}` };
  };
  return {
    table: () => {
      const { of, world, tenant } = fresh();
      return {
        ...{ table: world.table, inbox: world.inbox, leases: world.leases },
        tenant,
        setFormat: (run, format) => setFormat(of, run, format),
        addField: (run) => addField(of, run),
        hasField: (run) => hasField(of, run),
        damage: (run) => damage(of, run),
        expire: (now) => expire(of, tenant, now),
        removedOf: (run) => of.stream.removedOf(run),
      };
    },
    records: () => {
      const { of, world, tenant } = fresh();
      return { records: world.records, tenant, damage: (key) => damageRecord(of, key) };
    },
    memories: () => {
      const { world, tenant } = fresh();
      return { memoryOf: (scope) => memoryOf(world, scope), tenants: [tenant, `${tenant}z`] };
    },
    deltas: () => {
      const { world, tenant } = fresh();
      return { deltas: world.deltas, tenant };
    },
    objects: () => {
      const { world, tenant } = fresh();
      return { objects: world.objects, prefix: `conformance/${tenant}`, now: () => Date.now() };
    },
    chain: () => {
      const { of, world, tenant } = fresh();
      const run = `${tenant}-${"a".repeat(26)}`;
      let parked = "";
      const park = (name: string): Promise<string> => {
        parked = name;
        return tokenOf(of, name);
      };
      // The emulator accepts a token again until the woken execution continues; this machine then ends.
      const wake: World["chain"]["wake"] = async (token) => {
        const outcome = await world.chain.wake(token);
        if (outcome.kind === "woken") await ended(of, parked);
        return outcome;
      };
      return { chain: { ...world.chain, wake }, run, park, end: (name) => end(of, name) };
    },
  };
}

async function setFormat({ clients, table }: Deployment, run: string, format: number): Promise<void> {
  await clients.table.repeating.send(
    new UpdateItemCommand({
      TableName: table,
      Key: { run: { S: run }, item: { S: "row" } },
      UpdateExpression: "SET #format = :format",
      ExpressionAttributeNames: { "#format": ATTRIBUTES.format },
      ExpressionAttributeValues: { ":format": { N: String(format) } },
    }),
  );
}

async function addField({ clients, table }: Deployment, run: string): Promise<void> {
  await clients.table.repeating.send(
    new UpdateItemCommand({
      TableName: table,
      Key: { run: { S: run }, item: { S: "row" } },
      UpdateExpression: "SET future = :future",
      ExpressionAttributeValues: { ":future": { S: "kept" } },
    }),
  );
}

async function hasField({ clients, table }: Deployment, run: string): Promise<boolean> {
  const Key = { run: { S: run }, item: { S: "row" } };
  const { Item } = await clients.table.repeating.send(
    new GetItemCommand({ TableName: table, Key, ConsistentRead: true }),
  );
  return Item?.["future"]?.S === "kept";
}

/** Removes an attribute that no operation's condition names. */
async function damage({ clients, table }: Deployment, run: string): Promise<void> {
  await clients.table.repeating.send(
    new UpdateItemCommand({
      TableName: table,
      Key: { run: { S: run }, item: { S: "row" } },
      UpdateExpression: "REMOVE #agent",
      ExpressionAttributeNames: { "#agent": ATTRIBUTES.agent },
    }),
  );
}

/** Removes the body. */
async function damageRecord({ clients, table }: Deployment, key: RecordKey): Promise<void> {
  await clients.table.repeating.send(
    new UpdateItemCommand({
      TableName: table,
      Key: { run: { S: recordPartition(key) }, item: { S: recordItem(key.id) } },
      UpdateExpression: "REMOVE #body",
      ExpressionAttributeNames: { "#body": ATTRIBUTES.body },
    }),
  );
}

/** Removes expired items like DynamoDB, but at the time of the case instead of by its own clock. */
async function expire({ clients, table }: Deployment, tenant: string, now: number): Promise<void> {
  const client = clients.table.repeating;
  const found = await client.send(
    new ScanCommand({
      TableName: table,
      ConsistentRead: true,
      FilterExpression: "begins_with(#run, :tenant) AND #expires <= :now",
      ExpressionAttributeNames: { "#run": ATTRIBUTES.run, "#expires": ATTRIBUTES.expiresAtSec },
      ExpressionAttributeValues: { ":tenant": { S: `${tenant}-` }, ":now": { N: String(Math.floor(now / 1_000)) } },
    }),
  );
  for (const { run = { S: "" }, item = { S: "" } } of found.Items ?? []) {
    await client.send(new DeleteItemCommand({ TableName: table, Key: { run, item } }));
  }
}

/** The test machine stores its token in the table. */
export function tokenOf({ clients, table }: Deployment, execution: string): Promise<string> {
  const Key = { run: { S: execution }, item: { S: "token" } };
  return eventually(async () => {
    const { Item } = await clients.table.repeating.send(
      new GetItemCommand({ TableName: table, Key, ConsistentRead: true }),
    );
    return Item?.["token"]?.S ?? null;
  });
}

const arnOf = ({ machine }: Deployment, name: string): string =>
  `${machine.replace(":stateMachine:", ":execution:")}:${name}`;

async function end(of: Deployment, name: string): Promise<void> {
  await of.clients.machine.send(new StopExecutionCommand({ executionArn: arnOf(of, name) }));
  await ended(of, name);
}

async function ended(of: Deployment, name: string): Promise<void> {
  const executionArn = arnOf(of, name);
  await eventually(async () => {
    const { status } = await of.clients.machine.send(new DescribeExecutionCommand({ executionArn }));
    return status === "RUNNING" ? null : status;
  });
}
