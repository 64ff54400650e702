/** What a beat costs on DynamoDB, counted on a table in memory. LocalStack shows the same in `localstack/calls.test.ts`. */
import { expect, test } from "vitest";
import { bytesOf } from "../../../src/adapters/aws/table/item-size.ts";
import { SIZES } from "../../../src/codec/limits.ts";
import { FEW_REQUESTS } from "../../../src/ports/stored-sizes.ts";
import type { Reply } from "../../../src/protocol/chain.ts";
import { caller, started } from "../../support/aws/scene.ts";
import { dynamoTable } from "../../support/aws/dynamo-table.ts";
import { attemptBeat, runnerOf } from "../../support/harness/drive.ts";
import { createChainHarness } from "../../support/harness/harness.ts";

const UNIT_BYTES = 1_024;
/** Longer names of agents, times and draws of digests have to fit too: a row at the edge would cost twice by chance. */
const ROOM_BYTES = 48;

test("each row write of a beat costs one unit, with room for longer names", async () => {
  const sizes: number[] = [];
  const memory = dynamoTable();
  const table = memory.process(({ operation, input }) => {
    const item = memory.item(input.Key?.["run"]?.S ?? "");
    if (operation === "UpdateItem" && item !== undefined) sizes.push(bytesOf(item));
  });
  const world = { ...createChainHarness().world, table, inbox: table, sizes: FEW_REQUESTS };
  // The longest title and key that a row takes.
  const agent = { ...caller(3), title: () => "t".repeat(SIZES.titleBytesMax) };
  const runner = runnerOf(world, agent);
  let payload: Awaited<ReturnType<typeof started>> = await started(world, {
    agent,
    tenant: "calls",
    key: "k".repeat(SIZES.titleBytesMax),
  });
  for (let beat = 1; beat <= 3; beat += 1) {
    sizes.length = 0;
    const from = memory.sent.length;
    const result = await attemptBeat(runner, payload);
    expect(result).toMatchObject({ kind: "beat", reply: { route: "beat" } });
    payload = (result as { readonly reply: Reply }).reply;
    const writes = memory.sent.slice(from).filter(({ operation }) => operation === "UpdateItem");
    // The first claim changes the status and so two index entries.
    expect(writes.map(({ units }) => units)).toEqual([beat === 1 ? 3 : 1, 1, 1]);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(UNIT_BYTES - ROOM_BYTES);
  }
});
