/** Expiry of an ended run: the table's stream announces it, and all data of the run is removed. */
import { rmSync } from "node:fs";
import { QueryCommand } from "@aws-sdk/client-dynamodb";
import { ListObjectsV2Command } from "@aws-sdk/client-s3";
import { describe, expect, test } from "vitest";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { send } from "../../src/operations/steer.ts";
import { clerk } from "./fixtures/clerk.ts";
import {
  ended,
  laneOf,
  leaveMark,
  markOf,
  parked,
  removeExpired,
  rowOf,
  setAttribute,
  started,
  until,
} from "./lane.ts";

const lane = laneOf("lane");
const ORDER = { steps: [{ do: "order", wrong: 0 }] };
const ASK = { steps: [{ do: "ask", wrong: 0 }] };

/** The keys of a run's objects; each incarnation has its own prefix. */
async function objectsOf(run: string, born = ""): Promise<readonly string[]> {
  const input = { Bucket: lane.stack.bucket, Prefix: `runs/lane/${run}/${born}` };
  const { Contents = [] } = await lane.clients.bucket.repeating.send(new ListObjectsV2Command(input));
  return Contents.map(({ Key = "" }) => Key);
}

async function itemsOf(run: string): Promise<readonly string[]> {
  const { Items = [] } = await lane.clients.table.repeating.send(
    new QueryCommand({
      TableName: lane.stack.table,
      ConsistentRead: true,
      KeyConditionExpression: "#run = :run",
      ExpressionAttributeNames: { "#run": "run" },
      ExpressionAttributeValues: { ":run": { S: run } },
    }),
  );
  return Items.map(({ item }) => item?.S ?? "");
}

/** Lets a run expire a minute ago. Its retention starts when its end was told, which its last beat does after the end. */
async function age(run: string): Promise<void> {
  await until(async () => expect(await rowOf(lane, run)).toMatchObject({ endNotified: true }));
  await setAttribute(lane, run, { name: "expiresAtSec", value: Math.floor(Date.now() / 1_000) - 60 });
}

describe.concurrent("an expired run", () => {
  test("is removed with its row, its partition and its objects", async () => {
    const { run } = await started(lane, { agent: clerk, input: ASK });
    await parked(lane, run);
    await send(lane.world, { run, text: "hello", by: "a test", id: "hello" });
    await sendRequest(lane.world, { run, want: "cancel" });
    await ended(lane, run);
    expect(await itemsOf(run)).toEqual(expect.arrayContaining(["row", expect.stringMatching(/^seen#/)]));
    expect((await objectsOf(run)).length).toBeGreaterThan(2);
    await age(run);
    expect(await lane.world.table.read(run, Date.now())).toBeNull();
    expect(await itemsOf(run)).toContain("row");
    await removeExpired();
    // Its key stays kept: the tombstone is not a row, so its clean-up does nothing.
    await until(async () =>
      expect({ items: await itemsOf(run), objects: await objectsOf(run) }).toEqual({
        items: ["tombstone"],
        objects: [],
      }),
    );
  });

  test("is replaced by a new run with the same key, which a late clean-up leaves alone", async () => {
    const key = `again-${Date.now()}`;
    const old = await started(lane, { agent: clerk, input: ORDER, key });
    await ended(lane, old.run);
    leaveMark(`cleanup-${old.run}`);
    await age(old.run);
    await lane.world.table.forgetKey(old);
    const next = await started(lane, { agent: clerk, input: ORDER, key });
    expect(next.run).toBe(old.run);
    expect(next.born).not.toBe(old.born);
    await ended(lane, next.run);
    const kept = await objectsOf(next.run, next.born);
    expect(await objectsOf(old.run, old.born)).not.toEqual([]);
    rmSync(markOf(`cleanup-${old.run}`));
    await until(async () => expect(await objectsOf(old.run, old.born)).toEqual([]));
    expect(await objectsOf(next.run, next.born)).toEqual(kept);
    expect(await rowOf(lane, next.run)).toMatchObject({ born: next.born, phase: "Completed" });
  });
});
