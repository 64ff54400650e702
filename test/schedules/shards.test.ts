/** Lists of runs on DynamoDB while the number of shards of their index changes. */
import { expect, test } from "vitest";
import { statusShard } from "../../src/adapters/aws/table/keys.ts";
import { NOW, subject } from "../../src/testing/conformance/run.ts";
import { dynamoTable } from "../support/aws/dynamo-table.ts";

test("schedule 164: a deployment with more shards writes its first row while a client that read their number lists", async () => {
  const creationOf = (letter: string) => subject({ table: null as never, tenant: "acme" }, letter).creation();
  const letters = [..."abcdefgh"].filter((letter) => statusShard(creationOf(letter).run, 16) > 0);
  expect(letters.length).toBeGreaterThan(3);
  for (const isAnswered of [true, false]) {
    const table = dynamoTable();
    const client = table.process(undefined, null);
    const listed = async (): Promise<readonly string[]> => {
      const page = await client.list({ tenant: "acme", status: null, limit: 50, after: null, now: NOW });
      return page.rows.map(({ run }) => run).toSorted();
    };
    expect(await listed()).toEqual([]);
    const [first, ...others] = letters.map(creationOf);
    await client.create(first as NonNullable<typeof first>);
    // The new deployment may not learn whether it recorded its number, or dies before it does.
    if (!isAnswered) {
      table.before("UpdateItem", () => Promise.reject(Object.assign(new Error("no"), { name: "TimeoutError" })));
    }
    const [deployed, created] = [table.process(undefined, 16), [first?.run ?? ""]];
    for (const creation of others) {
      await deployed.create(creation);
      created.push(creation.run);
      expect(await listed()).toEqual(created.toSorted());
    }
    // The earlier code may be deployed again.
    expect(await table.process().read(created.at(-1) ?? "", NOW)).toMatchObject({ status: "queued" });
  }
});
