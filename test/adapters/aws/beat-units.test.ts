/** What a beat costs on DynamoDB, counted on a table in memory. LocalStack shows the same in `localstack/calls.test.ts`. */
import { expect, test } from "vitest";
import { bytesOf } from "../../../src/adapters/aws/table/item-size.ts";
import { SIZES } from "../../../src/codec/limits.ts";
import type { RunLabels } from "../../../src/core/ids.ts";
import { BOUNDS } from "../../../src/core/limits.ts";
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

test("the longest labels leave a row without its journal below 900 bytes, and short ones cost no unit", async () => {
  const memory = dynamoTable();
  const sizes: number[] = [];
  const table = memory.process(({ operation, input }) => {
    const item = memory.item(input.Key?.["run"]?.S ?? "");
    if (operation === "UpdateItem" && item !== undefined) sizes.push(bytesOf(item));
  });
  const world = { ...createChainHarness().world, table, inbox: table, sizes: FEW_REQUESTS };
  const beat = async (labels: RunLabels, title: string): Promise<readonly (number | undefined)[]> => {
    const agent = { ...caller(3), title: () => title };
    const key = title.padEnd(SIZES.titleBytesMax, "k");
    const payload = await started(world, { agent, tenant: "calls", key, labels });
    const from = memory.sent.length;
    await attemptBeat(runnerOf(world, agent), payload);
    return memory.sent.slice(from).flatMap(({ operation, units }) => (operation === "UpdateItem" ? [units] : []));
  };
  const names = Array.from({ length: BOUNDS.labelsMax }, (_, at) => `l${at}`);
  await beat(Object.fromEntries(names.map((name) => [name, "x".repeat(30)])), "t".repeat(SIZES.titleBytesMax));
  // The claim writes the row alone, and the first commit its journal too.
  const [claim, commit] = sizes;
  expect(claim).toBeLessThanOrEqual(900);
  expect(commit).toBeLessThanOrEqual(2 * UNIT_BYTES);
  expect(await beat({ team: "ops", env: "prod" }, "Refund 17")).toEqual([3, 1, 1]);
});
