/** The bucket, its settings, and the objects that a deployment puts into it. */
import { readFileSync } from "node:fs";
import {
  CreateBucketCommand,
  HeadObjectCommand,
  type LifecycleRule,
  PutBucketEncryptionCommand,
  PutBucketLifecycleConfigurationCommand,
  PutBucketPolicyCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  PutPublicAccessBlockCommand,
} from "@aws-sdk/client-s3";
import * as z from "zod";
import { found, kind, policy } from "../kind.ts";

export const bucket = kind(
  z.strictObject({ bucket: z.string(), forceDestroy: z.literal(false) }),
  async ({ bucket: Bucket }, { clients: { objects } }) => {
    // In this region the request also succeeds for a bucket that the caller already owns.
    await objects.send(new CreateBucketCommand({ Bucket }));
    return { id: Bucket, bucket: Bucket };
  },
);

export const versioning = kind(
  z.strictObject({ bucket: z.string(), versioningConfiguration: z.strictObject({ status: z.literal("Enabled") }) }),
  async ({ bucket: Bucket, versioningConfiguration: { status: Status } }, { clients: { objects } }) => {
    await objects.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration: { Status } }));
    return {};
  },
);

const isOn = z.boolean();

export const publicAccess = kind(
  z.strictObject({
    bucket: z.string(),
    ...{ blockPublicAcls: isOn, blockPublicPolicy: isOn, ignorePublicAcls: isOn, restrictPublicBuckets: isOn },
  }),
  async ({ bucket: Bucket, ...of }, { clients: { objects } }) => {
    const PublicAccessBlockConfiguration = {
      BlockPublicAcls: of.blockPublicAcls,
      BlockPublicPolicy: of.blockPublicPolicy,
      IgnorePublicAcls: of.ignorePublicAcls,
      RestrictPublicBuckets: of.restrictPublicBuckets,
    };
    await objects.send(new PutPublicAccessBlockCommand({ Bucket, PublicAccessBlockConfiguration }));
    return {};
  },
);

const larger = z.strictObject({ prefix: z.string(), objectSizeGreaterThan: z.int() });

/** A lifecycle rule. S3 takes one condition alone, and two of them under `and`. */
const lasting = z.strictObject({
  id: z.string(),
  status: z.literal("Enabled"),
  filter: z.union([z.strictObject({ prefix: z.string() }), z.strictObject({ and: larger })]),
  expiration: z
    .union([z.strictObject({ days: z.int() }), z.strictObject({ expiredObjectDeleteMarker: z.literal(true) })])
    .optional(),
  noncurrentVersionExpiration: z.strictObject({ noncurrentDays: z.int() }).optional(),
  transitions: z
    .array(z.strictObject({ days: z.int(), storageClass: z.enum(["STANDARD_IA", "GLACIER_IR"]) }))
    .optional(),
});

export const lifecycle = kind(
  z.strictObject({ bucket: z.string(), rules: z.array(lasting) }),
  async ({ bucket: Bucket, rules }, { clients: { objects } }) => {
    const LifecycleConfiguration = { Rules: rules.map(ruleOf) };
    await objects.send(new PutBucketLifecycleConfigurationCommand({ Bucket, LifecycleConfiguration }));
    return {};
  },
);

const ruleOf = ({ id, status, filter, expiration, transitions, ...of }: z.output<typeof lasting>): LifecycleRule => ({
  ...{ ID: id, Status: status },
  Filter:
    "and" in filter
      ? { And: { Prefix: filter.and.prefix, ObjectSizeGreaterThan: filter.and.objectSizeGreaterThan } }
      : { Prefix: filter.prefix },
  Expiration: expiration && ("days" in expiration ? { Days: expiration.days } : { ExpiredObjectDeleteMarker: true }),
  NoncurrentVersionExpiration: of.noncurrentVersionExpiration && {
    NoncurrentDays: of.noncurrentVersionExpiration.noncurrentDays,
  },
  Transitions: transitions?.map(({ days, storageClass }) => ({ Days: days, StorageClass: storageClass })),
});

const byAws = z.strictObject({ sseAlgorithm: z.literal("AES256") });
const byKey = z.strictObject({ sseAlgorithm: z.literal("aws:kms"), kmsMasterKeyId: z.string() });
const encrypting = z.strictObject({
  applyServerSideEncryptionByDefault: z.union([byAws, byKey]),
  bucketKeyEnabled: z.boolean().optional(),
});

export const encryption = kind(
  z.strictObject({ bucket: z.string(), rules: z.array(encrypting) }),
  async ({ bucket: Bucket, rules }, { clients: { objects } }) => {
    const Rules = rules.map(({ applyServerSideEncryptionByDefault: by, bucketKeyEnabled: BucketKeyEnabled }) => ({
      ApplyServerSideEncryptionByDefault: {
        SSEAlgorithm: by.sseAlgorithm,
        ...("kmsMasterKeyId" in by && { KMSMasterKeyID: by.kmsMasterKeyId }),
      },
      BucketKeyEnabled,
    }));
    const ServerSideEncryptionConfiguration = { Rules };
    await objects.send(new PutBucketEncryptionCommand({ Bucket, ServerSideEncryptionConfiguration }));
    return {};
  },
);

export const bucketPolicy = kind(
  z.strictObject({ bucket: z.string(), policy }),
  async ({ bucket: Bucket, policy: Policy }, { clients: { objects } }) => {
    await objects.send(new PutBucketPolicyCommand({ Bucket, Policy }));
    return {};
  },
);

const place = { bucket: z.string(), key: z.string() };
const archive = z.strictObject({ __pulumiArchive: z.literal(true), path: z.string() });

export const bucketObject = kind(
  z.union([z.strictObject({ ...place, content: z.string() }), z.strictObject({ ...place, source: archive })]),
  async (inputs, { clients: { objects } }) => {
    const at = { Bucket: inputs.bucket, Key: inputs.key };
    // The key of an archive contains the digest of its bytes.
    const known = "source" in inputs ? await found(objects.send(new HeadObjectCommand(at)), "NotFound") : null;
    const Body = "source" in inputs ? readFileSync(inputs.source.path) : inputs.content;
    if (known === null) await objects.send(new PutObjectCommand({ ...at, Body }));
    return { key: inputs.key };
  },
);
