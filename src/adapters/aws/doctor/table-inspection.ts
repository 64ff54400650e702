/** Reads the state of the table, in the terms of `schema.ts`. Everything here reads. */
import { LAST_ORPHANS_SEARCH } from "../../../protocol/mutex-lease.ts";
import {
  DescribeContinuousBackupsCommand,
  DescribeTableCommand,
  type DescribeTableCommandOutput,
  DescribeTimeToLiveCommand,
  type DynamoDBClient,
  type GlobalSecondaryIndexDescription,
  type KeySchemaElement,
} from "@aws-sdk/client-dynamodb";
import type { Damaged } from "../../../ports/run-table.ts";
import { ATTRIBUTES } from "../table/attributes.ts";
import type { Pair } from "../clients.ts";
import { systemClock } from "../clock.ts";
import { Dynamo } from "../table/dynamo.ts";
import { type Look, look } from "./looks.ts";
import { alive } from "../table/pages.ts";
import { Rows } from "../table/rows.ts";
import { StatusShards } from "../table/status-shards.ts";
import { identityOfTable } from "../table/store-id.ts";
import type { StoreIdentity } from "../table/store-identity.ts";
import { mutexLeaseKey } from "../table/mutex-leases.ts";

interface Keys {
  readonly partition: string;
  readonly sort: string;
}

export interface IndexSeen extends Keys {
  readonly name: string;
  readonly status: string;
  readonly projection: string;
  /** Projected attributes, without keys. */
  readonly projected: readonly string[];
}

export interface TableSeen extends Keys {
  readonly status: string;
  /** The type of each key attribute: S, N or B. */
  readonly types: Readonly<Record<string, string>>;
  readonly indexes: readonly IndexSeen[];
  readonly stream: { readonly arn: string; readonly view: string; readonly isEnabled: boolean } | null;
  readonly billing: string;
  readonly isProtected: boolean;
}

interface UnnamedStore {
  readonly id: null;
  readonly foreign: null;
}

export interface TableLooks {
  readonly table: Look<TableSeen>;
  readonly timeToLive: Look<{ readonly status: string; readonly attribute: string }>;
  /** Point-in-time recovery. */
  readonly backups: Look<{ readonly isEnabled: boolean }>;
  /** The store that the table records; the ID is null if it records none. */
  readonly tableStore: Look<StoreIdentity | UnnamedStore>;
  /** The last mutex lease of the sweeper: when it ended, or when it will expire. */
  readonly sweepTurn: Look<{ readonly until: number }>;
  /** When the last search for orphans ended; epoch milliseconds. */
  readonly orphansSearched: Look<{ readonly at: number }>;
  readonly liveRows: Look<LiveRowsSeen>;
}

/** The rows of unfinished runs, up to a limit, because each read costs money. */
export interface LiveRowsSeen {
  readonly looked: number;
  readonly damaged: readonly Damaged[];
  /** Whether these are all such rows. */
  readonly isAll: boolean;
}

const ROWS_PAGE = 100;
const ROWS_MAX = 500;

export async function inspectTable({
  clients,
  name: TableName,
}: {
  readonly clients: Pair<DynamoDBClient>;
  readonly name: string;
}): Promise<TableLooks> {
  const client = clients.repeating;
  const dynamo = new Dynamo({ clients, table: TableName, clock: systemClock });
  const [table, timeToLive, backups, tableStore, sweepTurn, orphansSearched, liveRows] = await Promise.all([
    look("dynamodb:DescribeTable", async () => seenOf(await client.send(new DescribeTableCommand({ TableName })))),
    look("dynamodb:DescribeTimeToLive", async () => {
      const { TimeToLiveDescription: found } = await client.send(new DescribeTimeToLiveCommand({ TableName }));
      return { status: found?.TimeToLiveStatus ?? "DISABLED", attribute: found?.AttributeName ?? "" };
    }),
    look("dynamodb:DescribeContinuousBackups", async () => {
      const answer = await client.send(new DescribeContinuousBackupsCommand({ TableName }));
      const { PointInTimeRecoveryDescription: found } = answer.ContinuousBackupsDescription ?? {};
      return { isEnabled: found?.PointInTimeRecoveryStatus === "ENABLED" };
    }),
    look("dynamodb:GetItem", async () => (await identityOfTable(dynamo)) ?? { id: null, foreign: null }),
    look("dynamodb:GetItem", async () => {
      const until = (await dynamo.get(mutexLeaseKey("sweep")))?.[ATTRIBUTES.leaseUntil]?.N;
      return until === undefined ? null : { until: Number(until) };
    }),
    look("dynamodb:GetItem", async () => {
      const at = (await dynamo.get(mutexLeaseKey(LAST_ORPHANS_SEARCH)))?.[ATTRIBUTES.cursor]?.S;
      return at === undefined ? null : { at: Number(at) };
    }),
    look("dynamodb:Query and dynamodb:BatchGetItem", () => lookAtLiveRows(dynamo)),
  ]);
  return { table, timeToLive, backups, tableStore, sweepTurn, orphansSearched, liveRows };
}

async function lookAtLiveRows(dynamo: Dynamo): Promise<LiveRowsSeen> {
  const damaged: Damaged[] = [];
  const rows = new Rows(dynamo, new StatusShards(dynamo));
  let looked = 0;
  let after: string | null = null;
  do {
    const page = await alive({ dynamo, rows }, { limit: ROWS_PAGE, after, now: systemClock.now() });
    damaged.push(...page.damaged.map(({ run, why }) => ({ run, why })));
    looked += page.rows.length + page.damaged.length;
    after = page.next;
  } while (after !== null && looked < ROWS_MAX);
  return { looked, damaged, isAll: after === null };
}

function seenOf({ Table: table }: DescribeTableCommandOutput): TableSeen | null {
  if (table === undefined) return null;
  const { StreamSpecification: stream, LatestStreamArn: arn } = table;
  return {
    ...keysOf(table.KeySchema),
    status: table.TableStatus ?? "unknown",
    types: Object.fromEntries(
      (table.AttributeDefinitions ?? []).map((each) => [each.AttributeName, each.AttributeType]),
    ),
    indexes: (table.GlobalSecondaryIndexes ?? []).map(indexSeen),
    stream:
      arn === undefined
        ? null
        : { arn, view: stream?.StreamViewType ?? "none", isEnabled: stream?.StreamEnabled ?? false },
    // A table that was created with provisioned capacity has no billing summary.
    billing: table.BillingModeSummary?.BillingMode ?? "PROVISIONED",
    isProtected: table.DeletionProtectionEnabled ?? false,
  };
}

const indexSeen = (index: GlobalSecondaryIndexDescription): IndexSeen => ({
  ...keysOf(index.KeySchema),
  name: index.IndexName ?? "",
  status: index.IndexStatus ?? "unknown",
  projection: index.Projection?.ProjectionType ?? "none",
  projected: index.Projection?.NonKeyAttributes ?? [],
});

const keysOf = (schema: readonly KeySchemaElement[] = []): Keys => {
  const named = (type: string): string => schema.find(({ KeyType }) => KeyType === type)?.AttributeName ?? "";
  return { partition: named("HASH"), sort: named("RANGE") };
};
