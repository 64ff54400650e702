/**
 * Creates the table and the bucket, which hold all durable data. The adapter defines the layout of the table. The
 * bucket's policy refuses what the protocol never does.
 */
import { STORE } from "../src/adapters/aws/table/keys.ts";
import { identityText } from "../src/adapters/aws/table/store-identity.ts";
import { TABLE } from "../src/adapters/aws/table/schema.ts";
import { ATTRIBUTES } from "../src/adapters/aws/table/attributes.ts";
import { FINGERPRINT } from "../src/protocol/fingerprint.ts";
import { DELETED_DAYS, LIFECYCLE_RULES } from "./retention.ts";
import type { Site } from "./site.ts";

/** Creates the stores that do not exist yet. Returns the ARN of the table's stream. */
export function createStorage(site: Site): $util.Output<string> {
  const { names, options, plan, called } = site;
  const bucket = options.bucket === undefined ? createBucket(site).name : names.bucket;
  // Table and bucket both record their store's ID. With the table of another store, every object would look like an
  // orphan.
  // Neither is written again, so that a deployment of other stored forms does not take this store for its own.
  new aws.s3.BucketObjectv2(
    called("StoreOfBucket"),
    { bucket, key: STORE.key, content: identityText(names.store) },
    { ignoreChanges: ["content"] },
  );
  const isNew = options.table === undefined && plan.options.tableName === null;
  const table = isNew ? createTable(site) : sst.aws.Dynamo.get(called("Runs"), names.table);
  // A table that was restored from a backup contains its store's ID. AWS refuses to write a second one, so no two
  // components can share a table.
  if (isNew || options.table !== undefined) recordStore(site, table.name);
  return table.nodes.table.streamArn;
}

function createTable({ names, options, called, isProduction }: Site): sst.aws.Dynamo {
  const { keys, indexes, timeToLive } = TABLE;
  const fields = Object.fromEntries([
    ...[keys.partition, keys.sort].map((name) => [name, "string"] as const),
    ...indexes.flatMap(({ partition, sort }) =>
      [partition, sort].map(({ name, type }) => [name, type === "N" ? "number" : "string"] as const),
    ),
  ]);
  const { kmsKey } = options;
  return new sst.aws.Dynamo(called("Runs"), {
    fields,
    primaryIndex: { hashKey: keys.partition, rangeKey: keys.sort },
    globalIndexes: Object.fromEntries(
      indexes.map(({ name, partition, sort, projected }) => [
        name,
        {
          hashKey: partition.name,
          rangeKey: sort.name,
          projection: projected.length === 0 ? ("keys-only" as const) : [...projected],
        },
      ]),
    ),
    stream: "old-image",
    ttl: timeToLive,
    deletionProtection: isProduction,
    // AWS's own key encrypts every table. A key of the account costs money for each request.
    transform: {
      table: {
        name: names.prefix,
        ...(kmsKey === undefined ? {} : { serverSideEncryption: { enabled: true, kmsKeyArn: kmsKey } }),
      },
    },
  });
}

function recordStore({ names, called }: Site, tableName: $util.Output<string>): void {
  const { keys } = TABLE;
  new aws.dynamodb.TableItem(
    called("StoreOfTable"),
    {
      tableName,
      hashKey: keys.partition,
      rangeKey: keys.sort,
      item: JSON.stringify({
        [keys.partition]: { S: STORE.item },
        [keys.sort]: { S: STORE.item },
        [ATTRIBUTES.store]: { S: names.store },
        [ATTRIBUTES.forms]: { S: FINGERPRINT },
      }),
    },
    { ignoreChanges: ["item"] },
  );
}

function createBucket({ names, options, called }: Site): sst.aws.Bucket {
  const bucket = new sst.aws.Bucket(called("Objects"), {
    cors: false,
    enforceHttps: true,
    versioning: true,
    // Refuses to overwrite objects, whatever process writes. The second condition exempts parts of multipart uploads,
    // which cannot have an `If-None-Match` condition.
    policy: [
      {
        effect: "deny",
        principals: "*",
        actions: ["s3:PutObject"],
        paths: ["runs/*", "archive/*"],
        conditions: [
          { test: "Null", variable: "s3:if-none-match", values: ["true"] },
          { test: "Bool", variable: "s3:ObjectCreationOperation", values: ["true"] },
        ],
      },
    ],
    transform: { bucket: { bucket: names.bucket, forceDestroy: false } },
  });
  // SST's own lifecycle rules support neither sizes nor storage classes.
  new aws.s3.BucketLifecycleConfiguration(called("ObjectsLifecycle"), {
    bucket: bucket.name,
    rules: [
      ...LIFECYCLE_RULES.map(({ id, prefix, objectSizeGreaterThan, transition, expirationDays }) => ({
        id,
        status: "Enabled",
        filter: objectSizeGreaterThan === undefined ? { prefix } : { and: { prefix, objectSizeGreaterThan } },
        ...(transition === undefined ? {} : { transitions: [transition] }),
        ...(expirationDays === undefined ? {} : { expiration: { days: expirationDays } }),
      })),
      {
        ...{ id: "deleted-expires", status: "Enabled", filter: { prefix: "" } },
        noncurrentVersionExpiration: { noncurrentDays: DELETED_DAYS },
        // Also deletes delete markers that hide no version any more.
        expiration: { expiredObjectDeleteMarker: true },
      },
    ],
  });
  new aws.s3.BucketServerSideEncryptionConfiguration(called("ObjectsEncryption"), {
    bucket: bucket.name,
    rules: [
      options.kmsKey === undefined
        ? { applyServerSideEncryptionByDefault: { sseAlgorithm: "AES256" } }
        : {
            applyServerSideEncryptionByDefault: { sseAlgorithm: "aws:kms", kmsMasterKeyId: options.kmsKey },
            // One data key for many objects, instead of a request to KMS for each.
            bucketKeyEnabled: true,
          },
    ],
  });
  return bucket;
}
