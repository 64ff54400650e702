/** Table and bucket: durable data is private, encrypted, written once, and protected from deletion. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { TABLE } from "../../src/adapters/aws/table/schema.ts";
import { STORE } from "../../src/adapters/aws/table/keys.ts";
import { identityText } from "../../src/adapters/aws/table/store-identity.ts";
import { FINGERPRINT } from "../../src/protocol/fingerprint.ts";
import { ARCHIVES, ARCHIVE_TIERS } from "../../src/core/policy/retention.ts";
import { type PolicyStatement, policyOf } from "../support/aws/iam-policies.ts";
import { type Inputs, STAGES, deployed } from "./deployed.ts";

interface Attribute {
  readonly name: string;
  readonly type: string;
}

interface Index {
  readonly name: string;
  readonly hashKey: string;
  readonly rangeKey: string;
  readonly projectionType: string;
  readonly nonKeyAttributes?: readonly string[];
}

interface Table extends Inputs {
  readonly name: string;
  readonly hashKey: string;
  readonly rangeKey: string;
  readonly attributes: readonly Attribute[];
  readonly globalSecondaryIndexes: readonly Index[];
  readonly localSecondaryIndexes: readonly unknown[];
}

interface LifecycleRule {
  readonly id: string;
  readonly status: string;
  readonly filter: { readonly prefix?: string; readonly and?: { readonly prefix: string } };
}

describe.each(STAGES)("in %s", (stage) => {
  const deployment = deployed(stage);
  const table = deployment.one("dynamodb/table:Table") as Table;
  const isProduction = stage === "production";

  test("the table has the layout that the adapter writes", () => {
    const { keys, indexes, timeToLive, stream } = TABLE;
    expect(table).toMatchObject({
      ...{ name: deployment.names.prefix, hashKey: keys.partition, rangeKey: keys.sort, localSecondaryIndexes: [] },
      ...{ ttl: { attributeName: timeToLive, enabled: true }, billingMode: "PAY_PER_REQUEST" },
      ...{ streamEnabled: true, streamViewType: stream.view },
    });
    expect(table.globalSecondaryIndexes).toEqual(
      indexes.map(({ name, partition, sort, projected }) => ({
        ...{ name, hashKey: partition.name, rangeKey: sort.name },
        ...(projected.length === 0
          ? { projectionType: "KEYS_ONLY" }
          : { projectionType: "INCLUDE", nonKeyAttributes: [...projected] }),
      })),
    );
    const types = new Map<string, string>([
      [keys.partition, "S"],
      [keys.sort, "S"],
      ...indexes.flatMap(({ partition, sort }) => [
        [partition.name, partition.type] as const,
        [sort.name, sort.type] as const,
      ]),
    ]);
    expect(new Map(table.attributes.map(({ name, type }) => [name, type]))).toEqual(types);
    expect(table.attributes).toHaveLength(types.size);
  });

  test("the table can be restored, is encrypted, and has deletion protection in production", () => {
    expect(table).toMatchObject({
      ...{ pointInTimeRecovery: { enabled: true } },
      deletionProtectionEnabled: isProduction,
    });
  });

  test("removing a deployment keeps only table and bucket, and only in production", () => {
    const kept = deployment.resources.filter(({ isRetained }) => isRetained).map(({ type }) => type);
    // Resources that SST creates once per account and region do not belong to this deployment.
    const ofAccount = ["aws:iam/role:Role", "aws:apigateway/account:Account"];
    const ofRuns = isProduction ? ["aws:dynamodb/table:Table", "aws:s3/bucket:Bucket"] : [];
    expect(new Set(kept)).toEqual(new Set([...ofAccount, ...ofRuns]));
    expect(deployment.all("iam/role:Role").filter(({ isRetained }) => isRetained)).toHaveLength(1);
  });

  test("the bucket is private and encrypted, is not emptied by a removal, and has no CORS, ACL or website", () => {
    const { bucket } = deployment.names;
    expect(deployment.one("s3/bucket:Bucket")).toEqual({ bucket, forceDestroy: false });
    expect(deployment.one("s3/bucketPublicAccessBlock:BucketPublicAccessBlock")).toEqual({
      ...{ bucket, blockPublicAcls: true, blockPublicPolicy: true },
      ...{ ignorePublicAcls: true, restrictPublicBuckets: true },
    });
    expect(
      deployment.one("s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"),
    ).toEqual({
      bucket,
      rules: [{ applyServerSideEncryptionByDefault: { sseAlgorithm: "AES256" } }],
    });
    expect(deployment.resources.filter(({ type }) => /cors|acl:|website/i.test(type))).toEqual([]);
  });

  test("the bucket policy denies requests without TLS and overwrites, and allows nothing", () => {
    const { bucketArn, bucket } = deployment.names;
    const { policy } = deployment.one("s3/bucketPolicy:BucketPolicy", { bucket }) as { readonly policy: string };
    const denied = (of: Partial<PolicyStatement>) => ({ Effect: "Deny", Principal: "*", ...of });
    expect(policyOf(policy).Statement).toEqual([
      denied({
        Action: ["s3:*"],
        Resource: [bucketArn, `${bucketArn}/*`],
        Condition: { Bool: { "aws:SecureTransport": "false" } },
      }),
      denied({
        Action: ["s3:PutObject"],
        Resource: [`${bucketArn}/runs/*`, `${bucketArn}/archive/*`],
        Condition: { Null: { "s3:if-none-match": "true" }, Bool: { "s3:ObjectCreationOperation": "true" } },
      }),
    ]);
  });

  test("no lifecycle rule removes objects that a run may still need", () => {
    const { rules } = deployment.one("s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration") as {
      readonly rules: readonly LifecycleRule[];
    };
    expect(rules.every(({ status }) => status === "Enabled")).toBe(true);
    const prefixOf = ({ filter }: LifecycleRule): string => filter.and?.prefix ?? filter.prefix ?? "";
    // The store's ID is below none of their prefixes.
    const current = rules.filter(({ id }) => id !== "deleted-expires");
    // Nothing expires by age below runs/: a chat may live longer than any number of days.
    expect(new Set(current.map(prefixOf))).toEqual(new Set([ARCHIVES.warm.prefix, ARCHIVES.cold.prefix]));
  });

  test("a deleted object can be restored for a week; then it is removed with its delete marker", () => {
    const { bucket } = deployment.names;
    expect(deployment.one("s3/bucketVersioning:BucketVersioning")).toEqual({
      ...{ bucket, versioningConfiguration: { status: "Enabled" } },
    });
    const { rules } = deployment.one("s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration");
    expect(rules).toContainEqual({
      ...{ id: "deleted-expires", status: "Enabled", filter: { prefix: "" } },
      ...{ noncurrentVersionExpiration: { noncurrentDays: 7 }, expiration: { expiredObjectDeleteMarker: true } },
    });
    // Roles that may delete an object may not delete its versions.
    const actions = deployment.all("iam/role:Role").map(({ inputs }) => JSON.stringify(inputs));
    expect(actions.filter((each) => /DeleteObjectVersion|PutBucketVersioning/.test(each))).toEqual([]);
  });

  test("archives move to cheaper storage classes and expire with their tier", () => {
    const { rules } = deployment.one("s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration");
    for (const tier of ARCHIVE_TIERS) {
      const { prefix, days } = ARCHIVES[tier];
      expect(rules).toContainEqual(expect.objectContaining({ filter: { prefix }, expiration: { days } }));
    }
    const moves = (storageClass: string) =>
      expect.objectContaining({ transitions: [expect.objectContaining({ storageClass })] });
    expect(rules).toEqual(expect.arrayContaining([moves("STANDARD_IA"), moves("GLACIER_IR")]));
  });

  test("table and bucket contain the same store ID and fingerprint", () => {
    const { store } = deployment.names;
    const { item } = deployment.one("dynamodb/tableItem:TableItem") as { readonly item: string };
    expect(Object.values(JSON.parse(item) as object)).toEqual(
      expect.arrayContaining([{ S: store }, { S: FINGERPRINT }]),
    );
    expect(deployment.one("s3/bucketObjectv2:BucketObjectv2", { key: STORE.key })).toMatchObject({
      ...{ bucket: deployment.names.bucket, content: identityText(store) },
    });
  });
});

/** What `sst deploy` reads of the stage that it is given. */
interface SstConfig {
  readonly app: (input: { readonly stage?: string }) => object;
}

test("a stage named production is protected from its removal; others leave nothing behind", async () => {
  Object.assign(globalThis, { $config: (config: SstConfig) => config });
  // It is typed by globals that only SST's own program has.
  const file = pathToFileURL(join(import.meta.dirname, "..", "..", "sst.config.ts"));
  const { default: config } = (await import(file.href)) as { readonly default: SstConfig };
  expect(config.app({ stage: "production" })).toMatchObject({ removal: "retain", protect: true });
  expect(config.app({ stage: "dev" })).toMatchObject({ removal: "remove", protect: false });
  expect(config.app({})).toMatchObject({ removal: "remove", protect: false });
});
