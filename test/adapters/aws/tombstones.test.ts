/** Tombstones on DynamoDB: the requests, and the outcome of each response. */
import { describe, expect, test } from "vitest";
import { ATTRIBUTES } from "../../../src/adapters/aws/table/attributes.ts";
import { rowItem } from "../../../src/adapters/aws/table/item.ts";
import { TABLE, removedIncarnation } from "../../../src/adapters/aws/table/schema.ts";
import { type Creation, newRow } from "../../../src/protocol/row.ts";
import type { Tombstone } from "../../../src/protocol/tombstone.ts";
import type { RunTable } from "../../../src/ports/run-table.ts";
import { type Answer, ok, refusal } from "../../support/aws/aws-server.ts";
import { awsWorldAt, useAwsServer } from "../../support/aws/aws-world.ts";

const NOW = 1_700_000_000_000;
const OF = { run: `acme-${"a".repeat(26)}`, born: "aaaaaaaaaa" };
const CREATION: Creation = {
  ...{ ...OF, now: NOW, deadline: NOW + 1, parent: null, tenant: "acme", agent: "travel", agentVersion: "1" },
  ...{ inputDigest: "digest", snapshot: { version: 0, key: "snapshots/0", digest: "digest" } },
};
const ROW = rowItem(newRow(CREATION));
const STONE: Tombstone = {
  ...{ ...OF, agent: "travel", inputDigest: "digest", status: "failed", endedAt: NOW - 5, epoch: 7 },
  expiresAtSec: NOW / 1_000 + 60,
};
const ITEM = {
  ...{ run: { S: OF.run }, item: { S: "tombstone" }, born: { S: OF.born }, a: { S: "travel" }, in: { S: "digest" } },
  ...{ es: { S: "failed" }, ea: { N: String(NOW - 5) }, e: { N: "7" }, expiresAtSec: { N: String(NOW / 1_000 + 60) } },
};

const server = useAwsServer();

/** The outcome of an operation when the server responds like that. */
async function after<T>(answers: readonly Answer[], operation: (table: RunTable) => Promise<T>): Promise<T> {
  server.answer(...answers);
  return operation(awsWorldAt(server.endpoint).table);
}

const sent = (): readonly string[] => server.asked.map(({ what }) => what.replace("DynamoDB_20120810.", ""));
const bodyOf = (request: number) => JSON.parse(server.asked[request]?.body ?? "");

const fit = { Code: "None" };
const failed = (Item?: object) => ({ Code: "ConditionalCheckFailed", ...(Item === undefined ? {} : { Item }) });
const cancelled = (...CancellationReasons: readonly object[]): Answer =>
  refusal("TransactionCanceledException", { CancellationReasons });

const create = (table: RunTable) => table.create(CREATION);

describe("a creation", () => {
  test("checks the key and puts the row in one transaction (schedule 82)", async () => {
    expect(await after([ok()], create)).toMatchObject({ kind: "created", row: { run: OF.run } });
    expect(sent()).toEqual(["TransactWriteItems"]);
    const [put, check] = bodyOf(0).TransactItems;
    expect(put.Put).toMatchObject({ Item: { item: { S: "row" } }, ConditionExpression: "attribute_not_exists(#run)" });
    expect(check.ConditionCheck).toMatchObject({
      Key: { run: { S: OF.run }, item: { S: "tombstone" } },
      ConditionExpression: "(attribute_not_exists(#run) OR #expiresAtSec <= :nowSec)",
      ExpressionAttributeValues: { ":nowSec": { N: String(NOW / 1_000) } },
    });
  });

  test("returns the tombstone when the key is kept and a second read finds no row", async () => {
    const outcome = await after([cancelled(fit, failed(ITEM)), ok()], create);
    expect(outcome).toEqual({ kind: "ended", tombstone: STONE });
    expect(sent()).toEqual(["TransactWriteItems", "GetItem"]);
  });

  test("finds an existing row, whatever the tombstone says", async () => {
    expect(await after([cancelled(failed(ROW), failed(ITEM))], create)).toMatchObject({ kind: "exists" });
    expect(await after([cancelled(fit, failed(ITEM)), ok({ Item: ROW })], create)).toMatchObject({ kind: "exists" });
  });

  test("removes an expired row first, and only when its key is no longer kept", async () => {
    const expired = { ...ROW, ts: { S: "acme#failed" }, t: { BOOL: true }, expiresAtSec: { N: "1" } };
    expect(await after([cancelled(failed(expired), failed(ITEM))], create)).toMatchObject({ kind: "ended" });
    const late = { ...ITEM, expiresAtSec: { N: "1" } };
    expect(await after([cancelled(failed(expired), failed(late)), ok(), ok()], create)).toMatchObject({
      kind: "created",
    });
    expect(sent()).toEqual(["TransactWriteItems", "DeleteItem", "TransactWriteItems"]);
  });

  test.each([
    ["a transaction in the way", cancelled(fit, { Code: "TransactionConflict" })],
    ["throttling", cancelled({ Code: "ThrottlingError" }, fit)],
    ["a lost connection", { kind: "drop" } as const],
  ])("is ambiguous after %s and was sent once", async (_, answer) => {
    expect(await after([answer], create)).toMatchObject({ kind: "ambiguous" });
    expect(sent()).toEqual(["TransactWriteItems"]);
  });
});

describe("a tombstone", () => {
  const keep = (table: RunTable) => table.keepKey(STONE);

  test("is a small item with its own time to live, in no index, and replaces no newer one (schedule 83)", async () => {
    expect(await after([ok()], keep)).toEqual({ kind: "kept" });
    expect(sent()).toEqual(["PutItem"]);
    const { Item, ConditionExpression } = bodyOf(0);
    expect(Item).toEqual(ITEM);
    const keys = TABLE.indexes.flatMap(({ partition, sort }) => [partition.name, sort.name]);
    expect(Object.keys(Item).filter((name) => name !== ATTRIBUTES.run && (keys as string[]).includes(name))).toEqual(
      [],
    );
    expect(Item[TABLE.timeToLive]).toEqual({ N: String(STONE.expiresAtSec) });
    expect(ConditionExpression).toBe(
      "(attribute_not_exists(#run) OR #born <> :born OR #epoch < :epoch OR #epoch = :epoch AND #endedAt <= :endedAt)",
    );
    expect(JSON.stringify(Item).length).toBeLessThan(1_024);
  });

  test("counts as kept when a newer one refuses it, and is ambiguous when its response is lost", async () => {
    expect(await after([refusal("ConditionalCheckFailedException", { Item: ITEM })], keep)).toEqual({ kind: "kept" });
    expect(await after([{ kind: "drop" }], keep)).toMatchObject({ kind: "ambiguous" });
  });

  test("reads back as it was written until it expires", async () => {
    const read = (now: number) => after([ok({ Item: ITEM })], (table) => table.readKey(OF.run, now));
    expect(await read(NOW)).toEqual(STONE);
    expect(await read(STONE.expiresAtSec * 1_000)).toBeNull();
    expect(await after([ok()], (table) => table.readKey(OF.run, NOW))).toBeNull();
    expect(await after([ok()], (table) => table.readKey("no run", NOW))).toBeNull();
    expect(sent()).toEqual([]);
  });

  test("is removed only for its incarnation, and its removal is not announced as that of a row", async () => {
    const forget = (table: RunTable) => table.forgetKey(OF);
    expect(await after([ok()], forget)).toEqual({ kind: "forgotten" });
    expect(bodyOf(0)).toMatchObject({ Key: { item: { S: "tombstone" } }, ConditionExpression: "#born = :born" });
    expect(await after([refusal("ConditionalCheckFailedException")], forget)).toEqual({ kind: "forgotten" });
    expect(await after([{ kind: "drop" }], forget)).toMatchObject({ kind: "ambiguous" });
    expect(removedIncarnation({ run: ITEM.run, item: ITEM.item, born: ITEM.born })).toBeNull();
    expect(await after([ok()], (table) => table.forgetKey({ run: "no run", born: "x" }))).toEqual({
      kind: "forgotten",
    });
  });
});
