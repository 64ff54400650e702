/**
 * Reads the state of the bucket. Everything here reads, except for the probe, which is a write that can never succeed.
 */
import {
  GetBucketEncryptionCommand,
  GetBucketLifecycleConfigurationCommand,
  GetBucketPolicyCommand,
  GetPublicAccessBlockCommand,
  HeadBucketCommand,
  PutObjectCommand,
  type S3Client,
} from "@aws-sdk/client-s3";
import type { Pair } from "../clients.ts";
import { isNamed } from "../errors.ts";
import { type Look, look, untried } from "./looks.ts";
import { s3ObjectStore } from "../bucket/object-store.ts";
import { STORE } from "../table/keys.ts";
import { type StoreIdentity, identityIn } from "../table/store-identity.ts";

export interface BucketLooks {
  readonly bucket: Look<{ readonly region: string | null }>;
  readonly bucketStore: Look<StoreIdentity>;
  /** The settings of S3 Block Public Access that are off. */
  readonly publicAccess: Look<{ readonly open: readonly string[] }>;
  readonly encryption: Look<{ readonly algorithm: string }>;
  /** The stored policy document: JSON. */
  readonly policy: Look<{ readonly document: string }>;
  readonly lifecycle: Look<{ readonly rules: readonly LifecycleSeen[] }>;
  readonly putOnce: Look<PutOnce>;
}

/** One lifecycle rule of the bucket. */
export interface LifecycleSeen {
  readonly prefix: string;
  readonly isEnabled: boolean;
  /** Days after which the rule deletes a current object; null: never. */
  readonly expiresDays: number | null;
}

/** What happened to a put that a put-once policy must refuse. */
export type PutOnce =
  /** The bucket's own policy refused it. */
  | "refused"
  /** It was refused, but S3 does not say by which policy. Perhaps the caller has no permission to put there at all. */
  | "refusedSomehow"
  /** No policy refused it, so its own condition did. */
  | "let";

export async function inspectBucket({
  clients,
  name: Bucket,
  probe,
}: {
  readonly clients: Pair<S3Client>;
  readonly name: string;
  readonly probe: boolean;
}): Promise<BucketLooks> {
  const client = clients.repeating;
  const [bucket, bucketStore, publicAccess, encryption, policy, lifecycle, putOnce] = await Promise.all([
    look("s3:ListBucket", async () => {
      const { BucketRegion: region = null } = await client.send(new HeadBucketCommand({ Bucket }));
      return { region };
    }),
    look("s3:GetObject", async () => {
      const bytes = await s3ObjectStore({ clients, bucket: Bucket }).get(STORE.key);
      const unnamed = { id: `an unnamed bucket (${Bucket})`, foreign: null };
      return bytes === null ? unnamed : identityIn(Buffer.from(bytes).toString());
    }),
    look("s3:GetBucketPublicAccessBlock", async () => {
      const { PublicAccessBlockConfiguration: block } = await client.send(new GetPublicAccessBlockCommand({ Bucket }));
      return { open: WAYS.filter((way) => block?.[way] !== true) };
    }),
    look("s3:GetEncryptionConfiguration", async () => {
      const answer = await client.send(new GetBucketEncryptionCommand({ Bucket }));
      const [rule] = answer.ServerSideEncryptionConfiguration?.Rules ?? [];
      const algorithm = rule?.ApplyServerSideEncryptionByDefault?.SSEAlgorithm;
      return algorithm === undefined ? null : { algorithm };
    }),
    look("s3:GetBucketPolicy", async () => {
      const { Policy: document } = await client.send(new GetBucketPolicyCommand({ Bucket }));
      return document === undefined ? null : { document };
    }),
    look("s3:GetLifecycleConfiguration", async () => {
      const { Rules = [] } = await client.send(new GetBucketLifecycleConfigurationCommand({ Bucket }));
      const rules = Rules.map(({ Status, Filter, Expiration }) => ({
        prefix: Filter?.Prefix ?? Filter?.And?.Prefix ?? "",
        isEnabled: Status === "Enabled",
        expiresDays: Expiration?.Days ?? null,
      }));
      return { rules };
    }),
    probe ? look("s3:PutObject", () => probePutOnce(client, Bucket)) : untried("the probe of --production"),
  ]);
  return { bucket, bucketStore, publicAccess, encryption, policy, lifecycle, putOnce };
}

const WAYS = ["BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets"] as const;

/** A key below the prefix that the policy covers, which belongs to no run. */
const PROBE_KEY = "runs/doctor/put-once";

/**
 * Sends a put without `If-None-Match`, which a put-once policy refuses. The put also requires an existing object with
 * an impossible tag. So if no policy refuses it, this condition does, and nothing is ever written.
 */
async function probePutOnce(client: S3Client, Bucket: string): Promise<PutOnce> {
  try {
    await client.send(
      new PutObjectCommand({ Bucket, Key: PROBE_KEY, Body: Buffer.from("x"), IfMatch: '"no-object-has-this-tag"' }),
    );
    return "let";
  } catch (error) {
    if (isNamed(error, "PreconditionFailed", "NoSuchKey", "412", "404")) return "let";
    if (!isNamed(error, "AccessDenied")) throw error;
    const isExplicit = error instanceof Error && /explicit deny in a resource-based policy/.test(error.message);
    return isExplicit ? "refused" : "refusedSomehow";
  }
}
