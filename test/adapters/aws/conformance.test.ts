/**
 * The contract of rows on DynamoDB in memory, with every journal so large that it is in entries. Against the emulator
 * the cases run as they are (`test/localstack/conformance.test.ts`).
 */
import { describe, expect, test } from "vitest";
import { ATTRIBUTES } from "../../../src/adapters/aws/table/attributes.ts";
import { keyOf } from "../../../src/adapters/aws/table/item.ts";
import type { Commit, Row } from "../../../src/protocol/row.ts";
import { claimCases, createCases } from "../../../src/testing/conformance/claims.ts";
import { commitCases, endCases } from "../../../src/testing/conformance/commits.ts";
import { redriveCases } from "../../../src/testing/conformance/redrive.ts";
import { handOverCases, parkCases } from "../../../src/testing/conformance/waiting.ts";
import type { RunTable } from "../../../src/ports/run-table.ts";
import { dynamoTable } from "../../support/aws/dynamo-table.ts";

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
  return {
    ...table,
    claim: async (claim) => asCommitted(await table.claim(claim)),
    commit: async (commit) => asCommitted(await table.commit(longer(commit))),
    park: async (park) => asCommitted(await table.park(park)),
    handOver: async (handOver) => asCommitted(await table.handOver(handOver)),
    redrive: async (redrive) => asCommitted(await table.redrive(redrive)),
    request: async (request) => asCommitted(await table.request(request)),
    recordEndNotified: async (of) => asCommitted(await table.recordEndNotified(of)),
    create: async (creation) => asCommitted(await table.create(creation)),
    read: async (run, now) => {
      const row = await table.read(run, now);
      return row === null ? null : shorter(row);
    },
  };
}

const unused = () => Promise.reject(new Error("no case about rows needs this"));

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
    await run({
      ...{ table: withLongJournals(process), inbox: process, tenant: "conformance" },
      leases: { acquire: unused, release: unused } as never,
      setFormat: async (id, format) => memory.put({ ...memory.item(id), [ATTRIBUTES.format]: { N: String(format) } }),
      addField: async (id) => memory.put({ ...memory.item(id), future: { S: "kept" } }),
      hasField: async (id) => memory.item(id)?.["future"] !== undefined,
      damage: async (id) => memory.put(keyOf(id, "row")),
      expire: async (now) => {
        const runs = memory.sent.flatMap(({ input }) => input.Key?.[ATTRIBUTES.run]?.S ?? []);
        const isExpired = (id: string) => Number(memory.item(id)?.[ATTRIBUTES.expiresAtSec]?.N) * 1_000 <= now;
        runs.filter(isExpired).forEach((id) => memory.remove(id));
      },
      removedOf: unused,
    });
    expect(memory.sent.length).toBeGreaterThan(0);
  });
});
