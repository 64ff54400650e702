/** The removal of objects, and the walk over keys that finds orphans, in the order of their UTF-8 bytes. */
import {
  DeleteObjectsCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandInput,
  type S3Client,
} from "@aws-sdk/client-s3";
import type { FoundKey } from "../../../ports/object-store.ts";
import { StoreUnreachable } from "../../../ports/world.ts";
import { reachingService } from "../errors.ts";

interface Bucket {
  readonly client: S3Client;
  readonly bucket: string;
}

/** The most keys that S3 lists, or deletes, at once. */
const PAGE_MAX = 1_000;

/**
 * The first keys after `after`. The request uses no encoding: an emulator may compare encoded keys, and then finds
 * nothing after a key that is not ASCII. S3 may answer with no key although more follow, behind many deleted ones.
 */
export async function keysAfter(bucket: Bucket, after: string, limit: number): Promise<readonly FoundKey[]> {
  const which = { StartAfter: after, MaxKeys: Math.min(limit, PAGE_MAX) };
  let page = await listed(bucket, which);
  while (page.keys.length === 0 && page.next !== undefined)
    page = await listed(bucket, { ...which, ContinuationToken: page.next });
  return page.keys;
}

/**
 * Deletes page after page, each time from the start, since deleted objects are not listed again. The keys are encoded,
 * since XML cannot carry every character of a key. Otherwise an object with such a key would stay for ever.
 */
export async function removeUnder(bucket: Bucket, prefix: string): Promise<void> {
  for (;;) {
    const { keys: found } = await listed(bucket, { Prefix: prefix, MaxKeys: PAGE_MAX, EncodingType: "url" });
    if (found.length === 0) return;
    const Delete = { Objects: found.map(({ key }) => ({ Key: decoded(key) })), Quiet: true };
    const { Errors = [] } = await reachingService(nameOf(bucket), () =>
      bucket.client.send(new DeleteObjectsCommand({ Bucket: bucket.bucket, Delete })),
    );
    const [first] = Errors;
    if (first === undefined) continue;
    const why = `${Errors.length} of ${found.length} objects were not deleted (${first.Code}: ${first.Message})`;
    throw new StoreUnreachable(`${nameOf(bucket)} cannot be used: ${why}; check the permission s3:DeleteObject`);
  }
}

async function listed(
  bucket: Bucket,
  which: Omit<ListObjectsV2CommandInput, "Bucket">,
): Promise<{ readonly keys: readonly FoundKey[]; readonly next: string | undefined }> {
  const command = new ListObjectsV2Command({ Bucket: bucket.bucket, ...which });
  const { Contents = [], NextContinuationToken } = await reachingService(nameOf(bucket), () =>
    bucket.client.send(command),
  );
  const keys = Contents.map(({ Key = "", LastModified }) => ({ key: Key, putAt: LastModified?.getTime() ?? 0 }));
  return { keys, next: NextContinuationToken };
}

/** Decodes a form-encoded key, in which S3 writes a space as a plus. */
const decoded = (key: string): string => decodeURIComponent(key.replaceAll("+", " "));

const nameOf = ({ bucket }: Bucket): string => `the bucket ${bucket}`;
