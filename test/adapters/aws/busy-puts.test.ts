/** A put that S3 answers with SlowDown is sent again after growing pauses, since S3 needs seconds to split a hot prefix. */
import { expect, test } from "vitest";
import { s3ObjectStore } from "../../../src/adapters/aws/bucket/object-store.ts";
import { resolveAmbiguousPut } from "../../../src/history/resolve-ambiguous-write.ts";
import type { ObjectStore } from "../../../src/ports/object-store.ts";
import { limitsFor } from "../../../src/protocol/limits.ts";

type BucketClients = Parameters<typeof s3ObjectStore>[0]["clients"];

/** A bucket that is busy that many times, the pauses between the puts, and how many there were. */
function busyBucket(times: number): { readonly objects: ObjectStore; readonly pauses: number[]; puts: number } {
  const seen = { pauses: [] as number[], puts: 0 };
  const send = async (): Promise<object> => {
    seen.puts += 1;
    if (seen.puts <= times) throw Object.assign(new Error("Please reduce your request rate."), { name: "SlowDown" });
    return {};
  };
  const clock = {
    after: (ms: number, wake: () => void) => {
      seen.pauses.push(ms);
      wake();
      return () => {};
    },
  };
  const objects = s3ObjectStore({
    clients: { once: { send }, repeating: { send } } as unknown as BucketClients,
    bucket: "payloads",
    clock,
  });
  return Object.assign(seen, { objects });
}

const BYTES = Uint8Array.of(1);

test("waits longer before each further put, and the put that is taken counts", async () => {
  const bucket = busyBucket(3);
  expect(await bucket.objects.put("runs/a", BYTES)).toEqual({ kind: "stored" });
  expect(bucket.puts).toBe(4);
  const bounds = [100, 200, 400];
  expect(bucket.pauses).toHaveLength(bounds.length);
  for (const [index, most] of bounds.entries()) {
    expect(bucket.pauses[index]).toBeGreaterThanOrEqual(most / 2);
    expect(bucket.pauses[index]).toBeLessThanOrEqual(most);
  }
});

test("gives up after five pauses, of at least a second and a half together, and for all copies of a put within the margin of a beat", async () => {
  const bucket = busyBucket(Infinity);
  const put = resolveAmbiguousPut(() => bucket.objects.put("runs/a", BYTES));
  await expect(put).rejects.toThrow("the bucket payloads cannot be used: it is throttling");
  expect(bucket.puts).toBe(6);
  const waitedMs = bucket.pauses.reduce((sum, ms) => sum + ms);
  expect(waitedMs).toBeGreaterThanOrEqual(1_550);
  expect(waitedMs).toBeLessThan(limitsFor(180_000).drainMs);
});
