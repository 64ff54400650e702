/**
 * The contract of rows on DynamoDB in memory, with every journal so large that it is in entries. Against the emulator
 * the cases run as they are (`test/localstack/conformance.test.ts`).
 */
import { describe, expect, test } from "vitest";
import type { Commit, Row } from "../../../src/protocol/row.ts";
import { REDRIVE } from "../../../src/protocol/row-redrive.ts";
import { CLAIM } from "../../../src/protocol/row-claim.ts";
import { COMMIT } from "../../../src/protocol/row-commit.ts";
import { PARK } from "../../../src/protocol/row-park.ts";
import { END_NOTIFICATION } from "../../../src/protocol/row-end-notification.ts";
import { HAND_OVER } from "../../../src/protocol/row-hand-over.ts";
import { RESTORED_CHECK } from "../../../src/protocol/row-restored.ts";
import { claimCases, createCases } from "../../../src/testing/conformance/claims.ts";
import { ATTRIBUTES } from "../../../src/adapters/aws/table/attributes.ts";
import { recordItem, recordPartition } from "../../../src/adapters/aws/table/keys.ts";
import { commitCases, endCases } from "../../../src/testing/conformance/commits.ts";
import { deltaCases } from "../../../src/testing/conformance/deltas.ts";
import { type RecordsWorld, recordCases } from "../../../src/testing/conformance/records.ts";
import { redriveCases } from "../../../src/testing/conformance/redrive.ts";
import { handOverCases, parkCases } from "../../../src/testing/conformance/waiting.ts";
import type { RecordKey } from "../../../src/ports/records.ts";
import type { RunTable } from "../../../src/ports/run-table.ts";
import { withCalls } from "../../../src/testing/decisions.ts";
import { dynamoTable } from "../../support/aws/dynamo-table.ts";
import { tableWorld } from "../../support/aws/table-world.ts";

const ADDED = new Uint8Array(4_000).fill(5);
const longer = ({ journal, ...commit }: Commit): Commit => ({
  ...commit,
  journal: journal === null ? null : Buffer.concat([ADDED, journal]),
});
const asCommitted = <O extends { readonly kind: string; readonly row?: Row }>(outcome: O): O =>
  outcome.row === undefined ? outcome : { ...outcome, row: shorter(outcome.row) };
const shorter = (row: Row): Row =>
  row.journal === null ? row : { ...row, journal: Uint8Array.from(row.journal.subarray(ADDED.byteLength)) };

/** Each journal is longer in the table than in the case. */
function withLongJournals(table: RunTable): RunTable {
  return withCalls(table, {
    claim: async (claim) => asCommitted(await table.decide(claim, CLAIM)),
    commit: async (commit) => asCommitted(await table.decide(longer(commit), COMMIT)),
    park: async (park) => asCommitted(await table.decide(park, PARK)),
    handOver: async (handOver) => asCommitted(await table.decide(handOver, HAND_OVER)),
    redrive: async (redrive) => asCommitted(await table.decide(redrive, REDRIVE)),
    request: async (request) => asCommitted(await table.request(request)),
    checkRestored: async (check) => asCommitted(await table.decide(check, RESTORED_CHECK)),
    recordEndNotified: async (of) => asCommitted(await table.decide(of, END_NOTIFICATION)),
    create: async (creation) => asCommitted(await table.create(creation)),
    read: async (run, now) => {
      const row = await table.read(run, now);
      return row === null ? null : shorter(row);
    },
  });
}

const CASES = [
  ...createCases,
  ...claimCases,
  ...commitCases,
  ...endCases,
  ...parkCases,
  ...handOverCases,
  ...redriveCases,
];

describe("RunTable, with journals in entries", () => {
  test.each(CASES)("$name", async ({ run }) => {
    const memory = dynamoTable();
    const process = memory.process();
    await run(tableWorld(memory, { table: withLongJournals(process), inbox: process }));
    expect(memory.sent.length).toBeGreaterThan(0);
  });
});

/** A table whose records are damaged by the loss of their body. */
function recordsWorld(): RecordsWorld {
  const table = dynamoTable();
  const damage = async ({ kind, about, id }: RecordKey): Promise<void> => {
    const put = table.sent.findLast(
      ({ input: { Item } }) =>
        Item?.["run"]?.S === recordPartition({ kind, about }) && Item["item"]?.S === recordItem(id),
    );
    const { [ATTRIBUTES.body]: _, ...rest } = put?.input.Item ?? {};
    table.put(rest);
  };
  return { records: table.records(), tenant: "conformance", damage };
}

test.each(recordCases)("Records: $name", ({ run }) => run(recordsWorld()));

test.each(deltaCases)("DeltaLog: $name", ({ run }) => run({ deltas: dynamoTable().deltaLog(), tenant: "conformance" }));

test("DeltaLog: a write takes one unit, a look half of one, and nothing else is sent", async () => {
  const table = dynamoTable();
  const deltas = table.deltaLog();
  const of = { run: `conformance-${"a".repeat(26)}`, born: "aaaaaaaaaa" };
  const text = "about as many characters as a model says in a second, which is some words. ".repeat(5);
  await deltas.attachedUntil({ run: of.run, now: 1 });
  await deltas.append(of, { epoch: 1, version: 1, seq: 1, at: 1, parts: [{ kind: "text", index: 0, text }] });
  await deltas.read({ ...of, after: { epoch: 1, version: 1, seq: 0 }, limit: 9, now: 1 });
  expect(table.sent.map(({ operation, units }) => ({ operation, units }))).toEqual([
    { operation: "GetItem", units: 0.5 },
    { operation: "PutItem", units: 1 },
    { operation: "Query", units: 0.5 },
  ]);
});
