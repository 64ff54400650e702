import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type S3PutOptions, s3Put } from "../../src/effects/index.ts";
import { everyFaultPoint, expectEffectsOnce, killAt, runAgent } from "../../src/testing/kit/index.ts";
import { type Bucket, startBucket } from "../support/services/bucket.ts";
import { duplicatesIn } from "../support/services/service-view.ts";
import { callContext } from "../support/agents/call-context.ts";
import { callingAgent } from "./calling-agent.ts";

const input = z.object({ name: z.string(), text: z.string() });
const TWO = [
  { name: "a.txt", text: "one" },
  { name: "b.txt", text: "two" },
];
const THREE = [...TWO, { name: "c.txt", text: "three" }];

const putTo = ({ client }: Bucket, options: Partial<S3PutOptions<typeof input>> = {}) =>
  s3Put({
    ...{ input, client, bucket: "invoices" },
    object: ({ input }) => ({ key: input.name, body: input.text, contentType: "text/plain" }),
    ...options,
  });

const optionsFor = ({ service }: Bucket) => ({ input: {}, services: [service] });

const one = { input: { name: "a.txt", text: "one" } };

describe.each([
  ["a new object", "keyed", {}],
  ["a new object that can be deleted", "probed", { undo: "delete" }],
  ["a replacement", "probed", { ifExists: "replace" }],
] as const)("%s", (_, effect, options) => {
  test("is put once, with a kill at each fault point", async () => {
    const bucket = await startBucket();
    const agent = callingAgent({ act: putTo(bucket, options), args: TWO });
    const { points, uninterrupted } = await everyFaultPoint(agent, optionsFor(bucket));
    expect(points).toContain("after:effect:act#2");
    expect(uninterrupted.effects).toHaveLength(2);
    const run = await killAt(agent, "after:effect:act", optionsFor(bucket));
    expectEffectsOnce(run);
    expect(duplicatesIn(run.effects)).toBe(0);
    expect(run.calls.map((call) => call.effect)).toEqual([effect, effect]);
  });

  test.each([
    ["answerLost", 1],
    ["answerLost", 3],
    ["unavailable", 1],
    ["unavailable", 3],
  ] as const)("is put once when the first put is %s and the client has %i attempts", async (fault, maxAttempts) => {
    let isFirst = true;
    const faultOf = ({ method }: { readonly method: string }) => {
      if (method !== "PUT" || !isFirst) return "none";
      isFirst = false;
      return fault;
    };
    const bucket = await startBucket({ fault: faultOf, maxAttempts });
    const run = await runAgent(callingAgent({ act: putTo(bucket, options), args: TWO }), optionsFor(bucket));
    expect(run.status).toBe("completed");
    expect(run.decided).toEqual([]);
    expectEffectsOnce(run);
    expect(run.effects).toHaveLength(2);
  });
});

test("a new object is not taken for failed when the answer of the first put is lost and the second is refused", async () => {
  const faults = ["answerLost", "denied"] as const;
  let puts = 0;
  const bucket = await startBucket({
    fault: ({ method }) => (method === "PUT" ? (faults[puts++] ?? "none") : "none"),
    maxAttempts: 1,
  });
  const run = await runAgent(callingAgent({ act: putTo(bucket), args: TWO }), optionsFor(bucket));
  expect(run.calls.map(({ status }) => status)).toEqual(["succeeded", "succeeded"]);
  expectEffectsOnce(run);
});

test("an object is deleted once by its undo, with a kill at each fault point", async () => {
  const bucket = await startBucket();
  const agent = callingAgent({ act: putTo(bucket, { undo: "delete" }), args: THREE, end: "failed" });
  const { uninterrupted, points } = await everyFaultPoint(agent, optionsFor(bucket));
  expect(uninterrupted.effects.map(({ undone }) => undone)).toEqual([true, true]);
  expect(points).toContain("after:undo:act#2");
  expect(bucket.objects.size).toBe(0);
});

describe("a new object", () => {
  test("is not put in a place that another writer took", async () => {
    const bucket = await startBucket();
    bucket.put("a.txt", "theirs");
    await expect(putTo(bucket).run(callContext(one))).rejects.toThrow(
      "nothing was put to invoices/a.txt: an object of another call exists there",
    );
    expect(bucket.objects.get("a.txt")?.body).toBe("theirs");
  });

  test("whose request lands late changes nothing, and its result is that of the first", async () => {
    const bucket = await startBucket();
    const first = await putTo(bucket).run(callContext({ ...one, epoch: 2 }));
    expect(await putTo(bucket).run(callContext({ ...one, epoch: 1 }))).toEqual(first);
    expect(bucket.service.effects).toHaveLength(1);
    expect(first).toMatchObject({ bucket: "invoices", key: "a.txt", version: "v1" });
  });

  test("of another writer is left alone by the undo", async () => {
    const bucket = await startBucket();
    bucket.put("a.txt", "theirs");
    const act = putTo(bucket, { undo: "delete" });
    await act.undo?.run(callContext({ ...one, key: "undo" }));
    expect(bucket.objects.get("a.txt")?.body).toBe("theirs");
  });

  test("is an unknown outcome when the service refuses to say whose object it is", async () => {
    const bucket = await startBucket({ fault: ({ method }) => (method === "HEAD" ? "denied" : "none") });
    bucket.put("a.txt", "theirs");
    await expect(putTo(bucket).run(callContext(one))).rejects.toMatchObject({ name: "OutcomeUnknown" });
  });

  test("has failed when the service refuses it", async () => {
    const bucket = await startBucket({ fault: ({ method }) => (method === "PUT" ? "denied" : "none") });
    await expect(putTo(bucket).run(callContext(one))).rejects.toMatchObject({ name: "AccessDenied" });
  });
});

describe("a replacement", () => {
  const replace = (bucket: Bucket) => putTo(bucket, { ifExists: "replace" });

  test("is made of the object that it saw, and not of one that changed meanwhile", async () => {
    const bucket: Bucket = await startBucket({
      fault: ({ method, nth }) => {
        if (method === "PUT" && nth === 2) bucket.put("a.txt", "theirs");
        return "none";
      },
    });
    bucket.put("a.txt", "old");
    await expect(replace(bucket).run(callContext(one))).rejects.toThrow("another writer changed it meanwhile");
    expect(bucket.objects.get("a.txt")?.body).toBe("theirs");
    await replace(bucket).run(callContext(one));
    expect(bucket.objects.get("a.txt")?.body).toBe("one");
  });

  test("from a stale epoch of the same run is refused", async () => {
    const bucket = await startBucket();
    await replace(bucket).run(callContext({ ...one, key: "later", epoch: 5 }));
    const stale = replace(bucket).run(callContext({ ...one, key: "earlier", epoch: 4 }));
    await expect(stale).rejects.toMatchObject({ name: "StaleEpoch" });
    await replace(bucket).run(callContext({ ...one, key: "other", epoch: 1, run: "local-b" }));
    expect(bucket.service.effects.map(({ key }) => key)).toEqual(["later", "other"]);
  });

  test("is found by its probe, which knows what was there before", async () => {
    const bucket = await startBucket();
    bucket.put("a.txt", "old");
    const act = replace(bucket);
    const before = (await act.before?.(one.input, callContext(one))) as string;
    const context = callContext({ ...one, before });
    expect(await act.probe?.(context)).toEqual({ kind: "absent" });
    const result = await act.run(context);
    expect(await act.probe?.(context)).toEqual({ kind: "happened", result });
    bucket.put("a.txt", "newer");
    expect(await act.probe?.(context)).toEqual({ kind: "unknown" });
  });
});

test("refuses a client without the methods of S3", () => {
  const client = { send: async () => null } as unknown as Bucket["client"];
  expect(() => s3Put({ input, client, bucket: "invoices", object: () => ({ key: "a", body: "" }) })).toThrow(
    "the client of this effect has no method putObject: write client: new S3({ ... }) of @aws-sdk/client-s3",
  );
});
