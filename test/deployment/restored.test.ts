/** A deployment whose table was restored from a backup under another name uses that table and does not create it. */
import { expect, inject, test } from "vitest";
import { capture } from "../../infra/capture.ts";
import { planOf } from "../../infra/plan.ts";
import { identityText } from "../../src/adapters/aws/table/store-identity.ts";
import { PLACE } from "./deployed.ts";

const RESTORED = "cairn-production-restored";

test("every function, grant and alarm names the restored table; all other names stay the same", async () => {
  const { bundles, stages } = inject("deployed");
  const plan = planOf({ deploy: { tableName: RESTORED } }, bundles);
  const { resources, outputs } = await capture({ plan, app: "cairn", stage: "production", place: PLACE });
  const of = (type: string) => resources.filter((each) => each.type === `aws:${type}`).map(({ inputs }) => inputs);
  expect(of("dynamodb/table:Table")).toEqual([]);
  // The store ID came with the backup.
  expect(of("dynamodb/tableItem:TableItem")).toEqual([]);
  expect(of("s3/bucketObjectv2:BucketObjectv2")).toContainEqual(
    expect.objectContaining({ content: identityText("123456789012/eu-west-1/cairn-production") }),
  );
  const tables = of("lambda/function:Function").map(({ environment }) => {
    const { variables } = environment as { readonly variables: Readonly<Record<string, string>> };
    return [variables["CAIRN_TABLE"], variables["CAIRN_MACHINE"]];
  });
  const machine = "arn:aws:states:eu-west-1:123456789012:stateMachine:cairn-production";
  expect(tables).toEqual(tables.map(() => [RESTORED, machine]));
  expect(tables).toHaveLength(6);
  const said = JSON.stringify(resources);
  expect(said).toContain(`table/${RESTORED}`);
  expect(said).not.toMatch(/table\/cairn-production[^-]/);
  expect(of("lambda/eventSourceMapping:EventSourceMapping")).toMatchObject([
    { eventSourceArn: "@{RunsTable.streamArn}" },
  ]);
  expect(outputs).toMatchObject({ table: RESTORED, bucket: "cairn-production-123456789012-eu-west-1", machine });
  const namesIn = (all: typeof resources) =>
    all.flatMap(({ type, inputs }) => (type.includes("dynamodb") ? [] : [`${type} ${String(inputs["name"])}`]));
  const before = new Set(namesIn(stages.production.capture.resources));
  expect(namesIn(resources).filter((name) => !before.has(name))).toEqual([]);
});
