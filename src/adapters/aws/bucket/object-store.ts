/**
 * ObjectStore on S3: a put has `If-None-Match: *`. 412 says that the object exists, whatever its bytes. 409 says that
 * another write of the key was under way, and nothing was decided. The SDK sends a checksum with each put, and compares
 * the one that a get returns.
 *
 * Whole prefixes are removed page by page. The walk over keys that finds orphans has the order of their UTF-8 bytes.
 */
import {
  GetObjectCommand,
  type GetObjectCommandOutput,
  PutObjectCommand,
  type S3Client,
  DeleteObjectsCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandInput,
} from "@aws-sdk/client-s3";
import { randomInt } from "node:crypto";
import { type Clock, StoreUnreachable } from "../../../ports/world.ts";
import type { ObjectStore, FoundKey } from "../../../ports/object-store.ts";
import type { Pair } from "../clients.ts";
import { systemClock } from "../clock.ts";
import { isNamed, reachingService, undecided, asUnreachable } from "../errors.ts";
import { STORE } from "../table/keys.ts";
import { identityIn, ownId } from "../table/store-identity.ts";

/**
 * The pauses before a put that S3 answered with SlowDown is sent again, in milliseconds: each is drawn between half of it
 * and all of it. S3 needs seconds to split a hot prefix. After the last one the store counts as unreachable: S3 took none of
 * the puts, and a caller that sent them all again would wait beyond the margin that a beat keeps for its commit.
 */
const PAUSES_MS = [100, 200, 400, 800, 1_600];

export function s3ObjectStore({
  clients,
  bucket,
  clock = systemClock,
}: {
  readonly clients: Pair<S3Client>;
  readonly bucket: string;
  readonly clock?: Pick<Clock, "after">;
}): ObjectStore {
  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => void clock.after(randomInt(ms / 2, ms + 1), resolve));
  const store = `the bucket ${bucket}`;
  const listed = { client: clients.repeating, bucket };
  const get = (key: string): Promise<Uint8Array | null> =>
    reachingService(store, async () => {
      try {
        return await whole(() => clients.repeating.send(new GetObjectCommand({ Bucket: bucket, Key: key })));
      } catch (error) {
        if (isNamed(error, "NoSuchKey")) return null;
        throw error;
      }
    });
  return {
    put: async (key, bytes) => {
      for (let sent = 0; ; sent += 1) {
        try {
          await clients.once.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: bytes, IfNoneMatch: "*" }));
          return { kind: "stored" };
        } catch (error) {
          if (isNamed(error, "PreconditionFailed")) return { kind: "exists" };
          if (!isNamed(error, "SlowDown")) return undecided(error, store);
          const ms = PAUSES_MS[sent];
          if (ms === undefined) throw asUnreachable(error, store);
          await pause(ms);
        }
      }
    },
    get,
    keysAfter: (after, limit) => keysAfter(listed, after, limit),
    removeUnder: (prefix) => removeUnder(listed, prefix),
    storeId: async () => {
      const bytes = await get(STORE.key);
      return bytes === null
        ? `an unnamed bucket (${bucket})`
        : ownId(`the bucket ${bucket}`, identityIn(Buffer.from(bytes).toString()));
    },
  };
}

const READS_MAX = 3;

/**
 * Reads a whole object. The SDK repeats a get without a response head; this repeats one whose body breaks off or fails
 * its checksum.
 */
async function whole(get: () => Promise<GetObjectCommandOutput>): Promise<Uint8Array> {
  for (let read = 1; ; read += 1) {
    const { Body } = await get();
    try {
      return (await Body?.transformToByteArray()) ?? new Uint8Array();
    } catch (error) {
      if (read === READS_MAX) throw error;
    }
  }
}

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
async function keysAfter(bucket: Bucket, after: string, limit: number): Promise<readonly FoundKey[]> {
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
