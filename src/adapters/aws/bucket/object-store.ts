/**
 * ObjectStore on S3: a put has `If-None-Match: *`. 412 says that the object exists, whatever its bytes. 409 says that
 * another write of the key was under way, and nothing was decided. The SDK sends a checksum with each put, and compares
 * the one that a get returns.
 */
import { GetObjectCommand, type GetObjectCommandOutput, PutObjectCommand, type S3Client } from "@aws-sdk/client-s3";
import { randomInt } from "node:crypto";
import type { Clock } from "../../../ports/world.ts";
import type { ObjectStore } from "../../../ports/object-store.ts";
import type { Pair } from "../clients.ts";
import { systemClock } from "../clock.ts";
import { isNamed, reachingService, undecided, asUnreachable } from "../errors.ts";
import { STORE } from "../table/keys.ts";
import { identityIn, ownId } from "../table/store-identity.ts";
import { keysAfter, removeUnder } from "./object-removal.ts";

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
