/** A restored backup: rows are older than their objects, as after a restore of the table. */
import { GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ROW_ITEM } from "../../src/adapters/aws/table/keys.ts";
import { itemKey } from "../../src/adapters/aws/table/item.ts";
import { withKernel } from "../../src/features/compose.ts";
import { awsWorld } from "../../src/adapters/aws/world.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import type { TelemetryRecord } from "../../src/ports/world.ts";
import { purge } from "../../src/operations/purge.ts";
import { reconcile } from "../../src/operations/reconcile.ts";
import { checkStore, fenceRestored } from "../../src/operations/restored.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { verify } from "../../src/features/seals/verify.ts";
import { ledger, show } from "../../src/operations/views.ts";
import { assertSafety } from "../support/gate/safety.ts";
import { attemptBeat, runnerOf } from "../support/harness/drive.ts";
import { answer, clerk } from "../support/restores/clerk.ts";
import { type Deployment, deploy, undeploy } from "./deployment.ts";
import { caller, driven, started } from "../support/aws/scene.ts";

let deployment: Deployment;
beforeAll(async () => {
  deployment = await deploy();
});
afterAll(() => undeploy(deployment));

test("a run whose row is older than its objects is refused until it is fenced; then it continues and can be purged", async () => {
  const records: TelemetryRecord[] = [];
  const world = withKernel(
    awsWorld({
      ...{ ...deployment, limits: limitsFor(60_000) },
      telemetry: { record: (record) => void records.push(record) },
    }),
  );
  const keys: string[] = [];
  const agent = caller(3, (key) => keys.push(key));
  const runner = () => runnerOf(world, agent);
  const { client, where } = { client: deployment.clients.table.repeating, where: { TableName: deployment.table } };
  const payload = await started(world, { agent, tenant: "restored", key: "old" });
  const { run } = payload;
  const first = await attemptBeat(runner(), payload);
  if (first.kind !== "beat") throw new Error(first.kind);
  const Key = itemKey(run, ROW_ITEM);
  const { Item: backup } = await client.send(new GetItemCommand({ ...where, Key, ConsistentRead: true }));
  const held = await world.table.read(run, Date.now());
  expect(await driven(runner(), first.reply)).toBe("done");
  const done = new Set(keys);

  await client.send(new PutItemCommand({ ...where, Item: backup }));
  expect(await world.table.read(run, Date.now())).toEqual(held);
  expect(await verify(world, { run })).toMatchObject({ findings: [], readable: true });

  // Without a fence its next epoch was used before: it finds that epoch's snapshot and commits nothing over it.
  const refused = await attemptBeat(runner(), first.reply);
  expect(refused).toMatchObject({ kind: "beat", reply: { route: "superseded" } });
  expect(records).toContainEqual(expect.objectContaining({ level: "alarm", what: "Unreadable", run }));

  await client.send(new PutItemCommand({ ...where, Item: backup }));
  expect(await fenceRestored(world)).toMatchObject({ runs: [run], held: [], damaged: [] });
  const fenced = await world.table.read(run, Date.now());
  expect(fenced).toMatchObject({
    pause: true,
    owner: null,
    version: held?.version,
    epoch: (held?.epoch ?? 0) + 1_000_000,
  });
  // The old execution is told that it is superseded, and claims nothing.
  expect(await attemptBeat(runner(), first.reply)).toMatchObject({ reply: { route: "renew" } });
  expect((await world.table.read(run, Date.now()))?.epoch).toBe(fenced?.epoch);

  await sendRequest(world, { run, want: "resume" });
  const { born, chain, epoch } = fenced ?? payload;
  expect(await driven(runner(), { run, born, chain, epoch, agent: agent.name })).toBe("done");
  expect(await world.table.read(run, Date.now())).toMatchObject({ status: "completed" });
  expect(await verify(world, { run })).toMatchObject({ findings: [], readable: true });
  expect(new Set(keys)).toEqual(done);

  expect(await purge(world, run, { keepArchive: true })).toMatchObject({ kind: "purged" });
  // This includes objects from before the restore, because all lie below the prefix of one incarnation.
  const [left] = await world.objects.keysAfter(`runs/restored/${run}/`, 1);
  expect(left?.key.startsWith(`runs/restored/${run}/`) ?? false).toBe(false);
});

test.each([
  ["settle a call with the same key and arguments, and nobody is asked", "pay", 0],
  ["settle no call with other arguments, so a human is asked", "please pay", 1],
] as const)("objects in the bucket that are newer than a restored row %s", async (_, later, questions) => {
  const world = withKernel(
    awsWorld({ ...{ ...deployment, limits: limitsFor(60_000) }, telemetry: { record: () => {} } }),
  );
  // Another test may have restored this store: then a keyed start would wait.
  await checkStore(world, { by: "ann", confirmed: true });
  const done: string[] = [];
  let words = "pay";
  const agent = clerk({ effect: "unsafe", words: () => words, done });
  const runner = () => runnerOf(world, agent);
  const { client, where } = { client: deployment.clients.table.repeating, where: { TableName: deployment.table } };
  const payload = await started(world, { agent, tenant: "newer", key: later });
  const { run } = payload;
  const { Item: backup } = await client.send(
    new GetItemCommand({ ...where, Key: itemKey(run, ROW_ITEM), ConsistentRead: true }),
  );
  expect(await driven(runner(), payload)).toBe("done");
  expect(done).toHaveLength(1);

  // The table alone comes back, as from its point-in-time recovery.
  await client.send(new PutItemCommand({ ...where, Item: backup }));
  await fenceRestored(world);
  words = later;
  const goOn = async (): Promise<string> => {
    const row = await world.table.read(run, Date.now());
    return driven(runner(), { ...payload, chain: row?.chain ?? 0, epoch: row?.epoch ?? 0 });
  };
  await sendRequest(world, { run, want: "resume" });
  await goOn();
  assertSafety("nothing is done twice", () => expect(done).toHaveLength(1));
  const unknown = (await show(world, run))?.unknown ?? [];
  expect(unknown.map(({ lostTime }) => lostTime)).toEqual(Array.from({ length: questions }, () => true));
  for (const { call } of unknown) {
    expect(await reconcile(world, { ...answer(run, "succeeded"), call })).toMatchObject({ kind: "accepted" });
    await goOn();
  }
  expect(await world.table.read(run, Date.now())).toMatchObject({ status: "completed" });
  const evidence = questions === 0 ? "newer objects of this run have its result" : "ann says: succeeded";
  expect(await ledger(world, run)).toMatchObject([
    { status: "reconciled", evidence: expect.stringContaining(evidence) },
  ]);
  assertSafety("nothing is done twice", () => expect(done).toHaveLength(1));
  expect(await verify(world, { run })).toMatchObject({ findings: [], readable: true });
});
