/** The creation of children on DynamoDB: the one transaction, and the outcome of each response. */
import { expect, test } from "vitest";
import { rowItem } from "../../../src/adapters/aws/table/item.ts";
import { type Creation, newRow } from "../../../src/protocol/row.ts";
import type { ChildrenCreation } from "../../../src/protocol/row-children.ts";
import { type Answer, ok, refusal } from "../../support/aws/aws-server.ts";
import { awsWorldAt, useAwsServer } from "../../support/aws/aws-world.ts";

const NOW = 1_700_000_000_000;
const PARENT = { run: `acme-${"a".repeat(26)}`, born: "aaaaaaaaaa" };

const creation = (letter: string): Creation => ({
  ...{ run: `acme-${letter.repeat(26)}`, born: "bbbbbbbbbb", now: NOW, deadline: NOW + 1, parent: PARENT, level: 2 },
  ...{ tenant: "acme", agent: "worker", agentVersion: "1", inputDigest: "digest" },
  snapshot: { version: 0, key: "snapshots/0", digest: "digest" },
});

const asked = (letters: readonly string[]): ChildrenCreation => ({
  ...{ ...PARENT, now: NOW, epoch: 3 },
  children: letters.map((letter) => ({ creation: creation(letter), reportId: `child#${letter}`, isLeft: false })),
});

const server = useAwsServer();

/** The outcome, and the requests that were sent for it. */
async function made(answers: readonly Answer[], letters: readonly string[]) {
  server.answer(...answers);
  const from = server.asked.length;
  const outcome = await awsWorldAt(server.endpoint).table.createChildren(asked(letters));
  const sent = server.asked.slice(from).map(({ body }) => JSON.parse(body) as { TransactItems: readonly object[] });
  return { outcome, sent };
}

const fit = { Code: "None" };
const failed = (Item: object) => ({ Code: "ConditionalCheckFailed", Item });
const cancelled = (...CancellationReasons: readonly object[]): Answer =>
  refusal("TransactionCanceledException", { CancellationReasons });

test("makes all children in one transaction of 1 + 2n actions", async () => {
  const { outcome, sent } = await made([ok()], ["b", "c"]);
  expect(outcome).toMatchObject({ kind: "made", children: [{ kind: "created" }, { kind: "created" }] });
  expect(sent).toHaveLength(1);
  expect(sent[0]?.TransactItems.map((each) => Object.keys(each)[0])).toEqual([
    ...["ConditionCheck", "ConditionCheck", "Put", "ConditionCheck", "Put"],
  ]);
});

test("sends the others again when one of them is there, and asks about the parent again", async () => {
  const row = rowItem(newRow(creation("b")));
  const { outcome, sent } = await made([cancelled(fit, fit, failed(row), fit, fit), ok()], ["b", "c"]);
  expect(outcome).toMatchObject({ kind: "made", children: [{ kind: "exists" }, { kind: "created" }] });
  expect(sent.map(({ TransactItems }) => TransactItems.length)).toEqual([5, 3]);
});

test("does not make a child whose report is there", async () => {
  const { outcome } = await made([cancelled(fit, failed({ run: { S: PARENT.run } }), fit), ok()], ["b"]);
  expect(outcome).toMatchObject({ kind: "made", children: [{ kind: "reported" }] });
});

test("is fenced by the row of the parent that refused it", async () => {
  const parent = rowItem({ ...newRow({ ...creation("a"), ...PARENT, parent: null }), epoch: 4 });
  const { outcome } = await made([cancelled(failed(parent), fit, fit)], ["b"]);
  expect(outcome).toMatchObject({ kind: "fenced", row: { epoch: 4 } });
});

test("a conflict with another transaction is no answer: the caller sends the same write again", async () => {
  const { outcome } = await made([cancelled(fit, { Code: "TransactionConflict" }, fit)], ["b"]);
  expect(outcome).toMatchObject({ kind: "ambiguous", isBusy: true });
});

test("refuses more children than fit into one transaction", async () => {
  const letters = Array.from({ length: 50 }, () => "b");
  await expect(made([ok()], letters)).rejects.toThrow("101 actions do not fit into one transaction, 100 do");
});

test("fences a child in one transaction of a check of the parent and a write of the child", async () => {
  const parent = { ...newRow({ ...creation("a"), ...PARENT, parent: null }), epoch: 3 };
  const child = newRow(creation("b"));
  server.answer(ok({ Item: rowItem(parent) }), ok({ Item: rowItem(child) }), ok());
  const from = server.asked.length;
  const { table } = awsWorldAt(server.endpoint);
  const outcome = await table.fenceChild({ ...PARENT, now: NOW, epoch: 3, child: child.run, dispatch: 2 });
  expect(outcome).toMatchObject({ kind: "fenced", row: { dispatch: 2, epoch: 1, chain: 2 } });
  const sent = server.asked.slice(from).map(({ body }) => JSON.parse(body) as { TransactItems?: readonly object[] });
  expect(sent.map(({ TransactItems = [] }) => TransactItems.map((each) => Object.keys(each)[0]))).toEqual([
    ...[[], [], ["ConditionCheck", "Update"]],
  ]);
});

test("decides a fence again on the rows that refused it, and leaves a conflict to its caller", async () => {
  const parent = { ...newRow({ ...creation("a"), ...PARENT, parent: null }), epoch: 3 };
  const child = newRow(creation("b"));
  const fence = { ...PARENT, now: NOW, epoch: 3, child: child.run, dispatch: 2 };
  const [held, taken] = [rowItem(parent), rowItem({ ...parent, epoch: 4 })];
  const refused = cancelled(failed(taken), fit);
  const read = (Item: object): Answer => ok({ Item });
  server.answer(read(held), read(rowItem(child)), refused, read(taken));
  expect(await awsWorldAt(server.endpoint).table.fenceChild(fence)).toMatchObject({
    kind: "refused",
    row: { epoch: 4 },
  });
  server.answer(read(held), read(rowItem(child)), cancelled(fit, { Code: "TransactionConflict" }));
  expect(await awsWorldAt(server.endpoint).table.fenceChild(fence)).toMatchObject({ kind: "ambiguous", isBusy: true });
});
