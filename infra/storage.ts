/**
 * Creates the table and the bucket, which hold all durable data. The adapter defines the layout of the table. The
 * bucket's policy refuses what the protocol never does.
 */
import { STORE } from "../src/adapters/aws/table/keys.ts";
import { TABLE } from "../src/adapters/aws/table/schema.ts";
import { ATTRIBUTES } from "../src/adapters/aws/table/attributes.ts";
import { DELETED_DAYS, LIFECYCLE_RULES } from "./retention.ts";
import type { Site } from "./site.ts";

export interface Storage {
  readonly table: sst.aws.Dynamo;
  readonly bucket: sst.aws.Bucket;
}

export function createStorage(site: Site): Storage {
  const { names, plan } = site;
  const bucket = createBucket(names.bucket);
  // Table and bucket both record their store's ID. With the table of another store, every object would look like an
  // orphan.
  new aws.s3.BucketObjectv2("StoreOfBucket", { bucket: bucket.name, key: STORE.key, content: names.store });
  // A restored table exists already, and contains its store's ID.
  const { tableName } = plan.options;
  return { bucket, table: tableName === null ? createTable(site) : sst.aws.Dynamo.get("Runs", tableName) };
}

function createTable({ names, isProduction }: Site): sst.aws.Dynamo {
  const { keys, indexes, timeToLive } = TABLE;
  const fields = Object.fromEntries([
    ...[keys.partition, keys.sort].map((name) => [name, "string"] as const),
    ...indexes.flatMap(({ partition, sort }) =>
      [partition, sort].map(({ name, type }) => [name, type === "N" ? "number" : "string"] as const),
    ),
  ]);
  const table = new sst.aws.Dynamo("Runs", {
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
    // Encrypted with AWS's own key, like every table. A key of the account would cost money for each request.
    transform: { table: { name: names.prefix } },
  });
  new aws.dynamodb.TableItem("StoreOfTable", {
    tableName: table.name,
    hashKey: keys.partition,
    rangeKey: keys.sort,
    item: JSON.stringify({
      [keys.partition]: { S: STORE.item },
      [keys.sort]: { S: STORE.item },
      [ATTRIBUTES.store]: { S: names.store },
    }),
  });
  return table;
}

function createBucket(name: string): sst.aws.Bucket {
  const bucket = new sst.aws.Bucket("Objects", {
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
    transform: { bucket: { bucket: name, forceDestroy: false } },
  });
  // SST's own lifecycle rules support neither sizes nor storage classes.
  new aws.s3.BucketLifecycleConfiguration("ObjectsLifecycle", {
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
  new aws.s3.BucketServerSideEncryptionConfiguration("ObjectsEncryption", {
    bucket: bucket.name,
    rules: [{ applyServerSideEncryptionByDefault: { sseAlgorithm: "AES256" } }],
  });
  return bucket;
}
