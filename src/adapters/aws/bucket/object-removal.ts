/** The removal of objects, and the walk from key to key that finds orphans, in the order of their UTF-8 bytes. */
import {
  DeleteObjectsCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandInput,
  type S3Client,
} from "@aws-sdk/client-s3";
import type { FoundKey } from "../../../ports/object-store.ts";
import { StoreUnreachable } from "../../../ports/world.ts";
import { reaching } from "../errors.ts";

interface Bucket {
  readonly client: S3Client;
  readonly bucket: string;
}

/** The most keys that S3 lists, or deletes, at once. */
const PAGE_MAX = 1_000;

/**
 * The first key after `after`. The request uses no encoding: an emulator may compare encoded keys, and then finds
 * nothing after a key that is not ASCII.
 */
export async function nextKey(of: Bucket, after: string): Promise<FoundKey | null> {
  return (await listed(of, { StartAfter: after, MaxKeys: 1 }))[0] ?? null;
}

/**
 * Deletes page after page, each time from the start, since deleted objects are not listed again. The keys are encoded,
 * since XML cannot carry every character of a key. Otherwise an object with such a key would stay for ever.
 */
export async function removeUnder(of: Bucket, prefix: string): Promise<void> {
  for (;;) {
    const found = await listed(of, { Prefix: prefix, MaxKeys: PAGE_MAX, EncodingType: "url" });
    if (found.length === 0) return;
    const Delete = { Objects: found.map(({ key }) => ({ Key: decoded(key) })), Quiet: true };
    const { Errors = [] } = await reaching(nameOf(of), () =>
      of.client.send(new DeleteObjectsCommand({ Bucket: of.bucket, Delete })),
    );
    const [first] = Errors;
    if (first === undefined) continue;
    const why = `${Errors.length} of ${found.length} objects were not deleted (${first.Code}: ${first.Message})`;
    throw new StoreUnreachable(`${nameOf(of)} cannot be used: ${why}; check the permission s3:DeleteObject`);
  }
}

async function listed(
  of: Bucket,
  which: Pick<ListObjectsV2CommandInput, "StartAfter" | "Prefix" | "MaxKeys" | "EncodingType">,
): Promise<readonly FoundKey[]> {
  const command = new ListObjectsV2Command({ Bucket: of.bucket, ...which });
  const { Contents = [] } = await reaching(nameOf(of), () => of.client.send(command));
  return Contents.map(({ Key = "", LastModified }) => ({ key: Key, putAt: LastModified?.getTime() ?? 0 }));
}

/** Decodes a form-encoded key, in which S3 writes a space as a plus. */
const decoded = (key: string): string => decodeURIComponent(key.replaceAll("+", " "));

const nameOf = ({ bucket }: Bucket): string => `the bucket ${bucket}`;
