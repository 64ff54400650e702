/** Missing and damaged data, as the services report it: refused with a message, and the run stays unchanged. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { DeleteObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { nameStores } from "../../src/adapters/aws/table/store-id.ts";
import { withKernel } from "../../src/features/compose.ts";
import { awsWorld } from "../../src/adapters/aws/world.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import { StoreUnreachable, type TelemetryRecord, type World } from "../../src/ports/world.ts";
import { exportRun } from "../../src/features/archive/export.ts";
import { verify } from "../../src/features/seals/verify.ts";
import { attemptBeat, drive, runnerOf } from "../support/harness/drive.ts";
import { type Deployment, deploy, undeploy } from "./deployment.ts";
import { caller, started } from "../support/aws/scene.ts";

const MAIN = join(import.meta.dirname, "..", "..", "src", "cli", "main.ts");

let deployment: Deployment;
beforeAll(async () => {
  deployment = await deploy();
});
afterAll(() => undeploy(deployment));

const worldOf = (change: Partial<Deployment>, records: TelemetryRecord[] = []): World =>
  withKernel(
    awsWorld({
      ...{ ...deployment, ...change, limits: limitsFor(60_000) },
      telemetry: { record: (record) => void records.push(record) },
    }),
  );

describe("an invalid snapshot is refused with an alarm, and its run is left alone", () => {
  const bucket = () => ({ client: deployment.clients.bucket.repeating, Bucket: deployment.bucket });
  test.each([
    {
      harm: "it is missing",
      code: "SnapshotMissing",
      act: (Key: string) => bucket().client.send(new DeleteObjectCommand({ Bucket: bucket().Bucket, Key })),
    },
    {
      harm: "its digest differs",
      code: "DigestMismatch",
      act: async (Key: string) => {
        const other = await started(worldOf({}), { agent: caller(2), tenant: "other", key: Key });
        const row = await worldOf({}).table.read(other.run, Date.now());
        const Body = (await worldOf({}).objects.get(row?.snapshot.key ?? "")) ?? new Uint8Array();
        await bucket().client.send(new PutObjectCommand({ Bucket: bucket().Bucket, Key, Body }));
      },
    },
  ])("$harm", async ({ harm, code, act }) => {
    const records: TelemetryRecord[] = [];
    const world = worldOf({}, records);
    const payload = await started(world, { agent: caller(1), tenant: "harmed", key: harm });
    const before = await world.table.read(payload.run, Date.now());
    await act(before?.snapshot.key ?? "");
    const result = await attemptBeat(runnerOf(world, caller(1)), payload);
    expect(result).toMatchObject({ kind: "beat", reply: { route: "superseded" } });
    expect(records).toContainEqual(expect.objectContaining({ level: "alarm", what: "Unreadable", run: payload.run }));
    expect(JSON.stringify(records)).toContain(code);
    const after = await world.table.read(payload.run, Date.now());
    expect(after).toMatchObject({ version: 0, snapshot: before?.snapshot, journal: null });
  });
});

test("an ended run is exported as one file and replayed without a store", async () => {
  const world = worldOf({});
  const agent = caller(2);
  const payload = await started(world, { agent, tenant: "left", key: "export" });
  await drive(runnerOf(world, agent), payload);
  const { run } = payload;
  expect(await verify(world, { run })).toMatchObject({ findings: [], readable: true });
  const chunks: string[] = [];
  await exportRun(world, { run, write: (chunk) => void chunks.push(chunk) });
  const dir = mkdtempSync(join(tmpdir(), "cairn-left-"));
  writeFileSync(join(dir, "left.jsonl"), chunks.join(""));
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, "replay", "./left.jsonl", "--json"], {
    cwd: dir,
  });
  rmSync(dir, { recursive: true });
  const replayed = JSON.parse(stdout) as object;
  expect(replayed).toMatchObject({ run, status: "completed", identical: true, differs: null });
});

describe("a missing store is reported by name, with what to do", () => {
  const start = (world: World) => started(world, { agent: caller(1), tenant: "nowhere", key: "any" });
  test.each([
    ["table", { table: "no-such-table" }, /the table no-such-table .*does not exist.*deploy/],
    ["bucket", { bucket: "no-such-bucket" }, /the bucket no-such-bucket .*does not exist.*deploy/],
    [
      "machine",
      { machine: "arn:aws:states:us-east-1:000000000000:stateMachine:no-such-machine" },
      /the state machine .*no-such-machine .*does not exist.*deploy/,
    ],
  ] as const)("%s", async (_, change, words) => {
    const failure = await start(worldOf(change)).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StoreUnreachable);
    expect((failure as Error).message).toMatch(words);
  });
});

describe("table and bucket of one deployment have one store ID, and those of two deployments are told apart", () => {
  test("when both are named at once", async () => {
    const world = worldOf({});
    const name = await world.table.storeId();
    expect(name).toMatch(/^[0-9a-f]{32}$/);
    expect(await world.objects.storeId()).toBe(name);
  });

  test("when neither is named", async () => {
    const other = await deploy({ named: false });
    const world = worldOf({ table: other.table, bucket: other.bucket });
    const names = [await world.table.storeId(), await world.objects.storeId()];
    expect(new Set(names).size).toBe(2);
    await undeploy(other);
  });

  test("when they are named separately", async () => {
    const other = await deploy();
    const crossed = { table: deployment.table, bucket: other.bucket, clients: deployment.clients };
    const world = worldOf(crossed);
    expect(await world.table.storeId()).not.toBe(await world.objects.storeId());
    expect(await nameStores(crossed)).toBe(false);
    expect(await world.table.storeId()).not.toBe(await world.objects.storeId());
    await undeploy(other);
  });
});
