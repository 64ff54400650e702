/** Where a run is in the services of a deployment, as an operator opens or types it. */
import { expect, test } from "vitest";
import { placesIn } from "../../../src/adapters/aws/places.ts";
import { prefixUnder } from "../../../src/history/object-keys.ts";
import { executionName } from "../../../src/protocol/ids.ts";
import { type Row, newRow } from "../../../src/protocol/row.ts";

const OF = { run: `acme-${"a".repeat(26)}`, born: "bbbbbbbbbb" };
const row: Row = {
  ...newRow({
    ...{ ...OF, now: 1, deadline: 2, parent: null, tenant: "acme", agent: "travel", agentVersion: "1" },
    ...{ inputDigest: "digest", snapshot: { version: 0, key: "snapshots/0", digest: "digest" } },
  }),
  chain: 3,
};
const machine = "arn:aws:states:eu-central-1:123456789012:stateMachine:shop-prod-cairn";

test("the page of the execution that drives it, its objects, its row and its log", () => {
  const places = placesIn({ table: "shop", bucket: "shop-bucket", machine })(row);
  const name = executionName(OF.run, OF.born, 3);
  const arn = `arn:aws:states:eu-central-1:123456789012:execution:shop-prod-cairn:${name}`;
  expect(places.executionArn).toBe(arn);
  const page = new URL(places.executionUrl ?? "");
  expect(page.origin).toBe("https://eu-central-1.console.aws.amazon.com");
  expect(page.searchParams.get("region")).toBe("eu-central-1");
  expect(decodeURIComponent(page.hash)).toBe(`#/v2/executions/details/${arn}`);
  // The objects are exactly those that a purge removes.
  expect(places.objects).toBe(`s3://shop-bucket/${prefixUnder(OF)}`);
  expect({ table: places.table, rowKey: JSON.parse(places.rowKey) }).toEqual({
    table: "shop",
    rowKey: { run: { S: OF.run }, item: { S: "row" } },
  });
  expect(places.logsQuery).toContain(`filter run = "${OF.run}"`);
  expect(places.logGroups).toContain("/aws/lambda/shop-prod-cairn-beat");
});

test("no page in a partition whose console is elsewhere", () => {
  const places = placesIn({ table: "t", bucket: "b", machine: machine.replace("arn:aws:", "arn:aws-cn:") })(row);
  expect(places.executionUrl).toBeNull();
  expect(places.executionArn).toMatch(/^arn:aws-cn:states:/);
});
