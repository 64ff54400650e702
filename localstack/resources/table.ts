/** The table and its items. An existing table stays as it is, since it is lost anyway when LocalStack stops. */
import {
  CreateTableCommand,
  type CreateTableCommandInput,
  DescribeTableCommand,
  PutItemCommand,
  UpdateContinuousBackupsCommand,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import * as z from "zod";
import { type Applying, type Attributes, found, kind } from "../kind.ts";

const index = z.strictObject({
  name: z.string(),
  hashKey: z.string(),
  rangeKey: z.string(),
  projectionType: z.enum(["KEYS_ONLY", "INCLUDE"]),
  nonKeyAttributes: z.array(z.string()).optional(),
});

const inputs = z.strictObject({
  name: z.string(),
  attributes: z.array(z.strictObject({ name: z.string(), type: z.enum(["S", "N"]) })),
  hashKey: z.string(),
  rangeKey: z.string(),
  billingMode: z.literal("PAY_PER_REQUEST"),
  globalSecondaryIndexes: z.array(index),
  localSecondaryIndexes: z.array(z.never()),
  streamEnabled: z.literal(true),
  streamViewType: z.literal("OLD_IMAGE"),
  deletionProtectionEnabled: z.boolean(),
  serverSideEncryption: z.strictObject({ enabled: z.literal(true), kmsKeyArn: z.string() }).optional(),
  pointInTimeRecovery: z.strictObject({ enabled: z.boolean() }),
  ttl: z.strictObject({ attributeName: z.string(), enabled: z.literal(true) }),
});

type Inputs = z.output<typeof inputs>;

export const table = kind(inputs, create);

/** A table for tests that need nothing else: it has the layout of the described one under another name. */
export const createTable = (described: unknown, of: Pick<Applying, "clients"> & { readonly name: string }) =>
  create({ ...inputs.parse(described), name: of.name }, of);

async function create(of: Inputs, { clients: { tables } }: Pick<Applying, "clients">): Promise<Attributes> {
  const TableName = of.name;
  const known = await found(tables.send(new DescribeTableCommand({ TableName })), "ResourceNotFoundException");
  if (known !== null) return { streamArn: known.Table?.LatestStreamArn ?? "", name: TableName };
  const { TableDescription } = await tables.send(new CreateTableCommand(inputOf(of)));
  await waitUntilTableExists({ client: tables, maxWaitTime: 60, minDelay: 0.1, maxDelay: 1 }, { TableName });
  const { attributeName: AttributeName, enabled: Enabled } = of.ttl;
  await tables.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification: { AttributeName, Enabled } }));
  const { enabled: PointInTimeRecoveryEnabled } = of.pointInTimeRecovery;
  const PointInTimeRecoverySpecification = { PointInTimeRecoveryEnabled };
  await tables.send(new UpdateContinuousBackupsCommand({ TableName, PointInTimeRecoverySpecification }));
  return { streamArn: TableDescription?.LatestStreamArn ?? "", name: TableName };
}

function inputOf(of: Inputs): CreateTableCommandInput {
  const keys = (hash: string, range: string): CreateTableCommandInput["KeySchema"] => [
    { AttributeName: hash, KeyType: "HASH" },
    { AttributeName: range, KeyType: "RANGE" },
  ];
  return {
    TableName: of.name,
    BillingMode: of.billingMode,
    ...(of.serverSideEncryption && {
      SSESpecification: { Enabled: true, SSEType: "KMS", KMSMasterKeyId: of.serverSideEncryption.kmsKeyArn },
    }),
    AttributeDefinitions: of.attributes.map(({ name, type }) => ({ AttributeName: name, AttributeType: type })),
    KeySchema: keys(of.hashKey, of.rangeKey),
    GlobalSecondaryIndexes: of.globalSecondaryIndexes.map((each) => ({
      IndexName: each.name,
      KeySchema: keys(each.hashKey, each.rangeKey),
      Projection: {
        ProjectionType: each.projectionType,
        ...(each.nonKeyAttributes === undefined ? {} : { NonKeyAttributes: each.nonKeyAttributes }),
      },
    })),
    StreamSpecification: { StreamEnabled: of.streamEnabled, StreamViewType: of.streamViewType },
    DeletionProtectionEnabled: of.deletionProtectionEnabled,
  };
}

const value = z.strictObject({ S: z.string() });

export const tableItem = kind(
  z.strictObject({ tableName: z.string(), hashKey: z.string(), rangeKey: z.string(), item: z.string() }),
  async ({ tableName: TableName, item, hashKey }, { clients: { tables } }) => {
    const Item = z.record(z.string(), value).parse(JSON.parse(item));
    const absent = { ConditionExpression: "attribute_not_exists(#key)", ExpressionAttributeNames: { "#key": hashKey } };
    const put = tables.send(new PutItemCommand({ TableName, Item, ...absent }));
    await found(put, "ConditionalCheckFailedException");
    return {};
  },
);
