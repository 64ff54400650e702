/** Rows, tables and buckets of another cairn on AWS: refused by name, and left as they are. */
import { describe, expect, test } from "vitest";
import { ATTRIBUTES } from "../../../src/adapters/aws/table/attributes.ts";
import { type TableItem, rowItem } from "../../../src/adapters/aws/table/item.ts";
import { identityIn, storeIdentityOf, identityText, ownId } from "../../../src/adapters/aws/table/store-identity.ts";
import { FINGERPRINT } from "../../../src/protocol/fingerprint.ts";
import type { Row } from "../../../src/protocol/row.ts";
import { NOW, words } from "../../../src/testing/conformance/run.ts";
import { dynamoTable } from "../../support/aws/dynamo-table.ts";
import { OPERATIONS, ROWS, mine } from "../../support/aws/row-meetings.ts";
import { rewriteRow } from "../../support/runs/rewrite-row.ts";

const OTHER = "f".repeat(FINGERPRINT.length);
const EXPIRED = { expiresAtSec: 1 };

const itemOf = (row: Row): TableItem => rowItem(rewriteRow(row));
const otherForms = (row: Row): TableItem => ({
  ...itemOf(row),
  [ATTRIBUTES.checksum]: { S: `${OTHER}${"A".repeat(22)}` },
});
const before = (row: Row): TableItem => itemOf({ ...row, format: 1 });

describe.each([
  ["before the first release", before, /before its first release/],
  ["with other stored forms", otherForms, /other stored forms/],
])("a row that was written %s", (_, write, why) => {
  test.each(Object.keys(ROWS) as (keyof typeof ROWS)[])("and is %s changes by no operation", async (name) => {
    const table = dynamoTable();
    const item = write(ROWS[name]);
    table.put(item);
    const process = table.process();
    const refused = { kind: "unreadable", why: expect.stringMatching(why) as string };
    for (const operation of Object.values(OPERATIONS))
      expect(await operation.send(process, ROWS[name])).toMatchObject(refused);
    expect(await process.deliver(mine.delivery(words("m")))).toMatchObject(refused);
    for (const want of ["cancel", "pause", "resume"] as const)
      expect(await process.request(mine.request(want))).toMatchObject(refused);
    expect(table.item(mine.run)).toEqual(item);
  });

  test("is listed as unreadable with that reason, and a sweep gets no row of it", async () => {
    const table = dynamoTable();
    table.put(write(ROWS.held));
    const query = { limit: 9, after: null, now: NOW };
    const unreadable = { rows: [], damaged: [{ run: mine.run, why: expect.stringMatching(why) as string }] };
    expect(await table.process().list({ ...query, tenant: ROWS.held.tenant, status: null })).toMatchObject(unreadable);
    expect(await table.process().alive(query)).toMatchObject(unreadable);
  });

  test("gives no key free when its retention is over", async () => {
    const table = dynamoTable();
    const item = write({ ...ROWS.delivered, ...EXPIRED });
    table.put(item);
    expect(await table.process().create(mine.creation())).toMatchObject({ kind: "unreadable" });
    expect(table.item(mine.run)).toEqual(item);
  });
});

test("a table and a bucket of another cairn are refused by name", () => {
  const [old, other, ours] = [undefined, OTHER, FINGERPRINT].map((forms) => storeIdentityOf("one", forms));
  expect(ours && ownId("the table t", ours)).toBe("one");
  expect(() => old && ownId("the table t", old)).toThrow(
    /^the table t was written by a cairn before its first release/,
  );
  expect(() => other && ownId("the table t", other)).toThrow(expect.objectContaining({ code: "OtherSchemas" }));
  expect(identityIn(identityText("one"))).toEqual(ours);
  expect(identityIn("one")).toEqual(old);
});
