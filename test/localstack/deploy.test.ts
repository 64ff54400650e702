/** A second deployment: only changes are applied, and a live run continues with the new code. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GetDeploymentsCommand, GetRestApisCommand } from "@aws-sdk/client-api-gateway";
import { SetAlarmStateCommand } from "@aws-sdk/client-cloudwatch";
import {
  DescribeContinuousBackupsCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
} from "@aws-sdk/client-dynamodb";
import { GetRolePolicyCommand } from "@aws-sdk/client-iam";
import { GetFunctionConfigurationCommand, ListEventSourceMappingsCommand } from "@aws-sdk/client-lambda";
import {
  GetBucketEncryptionCommand,
  GetBucketLifecycleConfigurationCommand,
  GetBucketPolicyCommand,
  GetPublicAccessBlockCommand,
} from "@aws-sdk/client-s3";
import { ListSchedulesCommand } from "@aws-sdk/client-scheduler";
import { DescribeStateMachineCommand } from "@aws-sdk/client-sfn";
import { afterAll, describe, expect, inject, test } from "vitest";
import { FUNCTIONS, type FunctionName } from "../../infra/bundle.ts";
import { clientsOf } from "../../localstack/clients.ts";
import { readingClients } from "../../src/adapters/aws/doctor/reading-clients.ts";
import { alarmsNow, moveRollout, readBeatFunctions, readRollout } from "../../src/adapters/aws/machine/rollout.ts";
import { decide } from "../../src/operations/decide.ts";
import type { Row } from "../../src/protocol/row.ts";
import { timeline } from "../../src/operations/views.ts";
import { acceptUpgrade } from "../../src/operations/upgrade.ts";
import { clerk } from "./fixtures/clerk.ts";
import { patient } from "./fixtures/patient.ts";
import { callsOf, ended, keysOf, laneOf, nameOf, parked, rowOf, shown, started, until, versionsOf } from "./lane.ts";
import { AGENTS, redeployments } from "./stacks.ts";

const { url } = inject("stacks");
const clients = clientsOf(url);
const lane = laneOf("lane");
const { table, bucket, machine } = lane.stack;

const folder = mkdtempSync(join(tmpdir(), "cairn-redeployed-"));
afterAll(() => rmSync(folder, { recursive: true }));
const redeploy = redeployments(inject("stacks"), folder);
const again = (agents: readonly string[]) => redeploy({ agents, names: ["lane"] });

/** Its last modification time and its code hash. */
async function codeOf(fn: FunctionName) {
  const asked = new GetFunctionConfigurationCommand({ FunctionName: `${table}-${fn}` });
  const { LastModified, CodeSha256 } = await clients.functions.send(asked);
  return { LastModified, CodeSha256 };
}

async function stateOf() {
  const codes = await Promise.all(FUNCTIONS.map(async (fn) => [fn, await codeOf(fn)] as const));
  const described = await clients.machines.send(new DescribeStateMachineCommand({ stateMachineArn: machine }));
  const { items: apis = [] } = await clients.api.send(new GetRestApisCommand({ limit: 500 }));
  const ids = apis.filter(({ name }) => name === table).map(({ id = "" }) => id);
  const deployments = ids.map((restApiId) => clients.api.send(new GetDeploymentsCommand({ restApiId })));
  const { EventSourceMappings } = await clients.functions.send(
    new ListEventSourceMappingsCommand({ FunctionName: `${table}-cleanup` }),
  );
  const { Table } = await clients.tables.send(new DescribeTableCommand({ TableName: table }));
  return {
    ...{ codes: Object.fromEntries(codes), revision: described.revisionId, ids },
    deployments: (await Promise.all(deployments)).flatMap(({ items = [] }) => items.map(({ id }) => id)),
    sources: EventSourceMappings?.map(({ UUID }) => UUID),
    stream: Table?.LatestStreamArn,
  };
}

describe("a second deployment", () => {
  // The other tests use the functions of the first deployment.
  afterAll(() => again(AGENTS));

  test("leaves unchanged resources alone", async () => {
    const before = await stateOf();
    expect(before).toMatchObject({ ids: [expect.any(String)], deployments: [expect.any(String)] });
    expect(before.sources).toHaveLength(1);
    const { lane: found } = await again(AGENTS);
    expect(await stateOf()).toEqual(before);
    expect(found).toEqual({ ...lane.stack, resources: expect.anything() });
  });

  test("lets a live run continue with the agent's new version, at once or when an operator accepts it", async () => {
    const [row, pinned] = [await waiting(clerk), await waiting(patient)];
    const before = await stateOf();
    await again(["clerk-later.ts"]);
    const after = await stateOf();
    const changed = FUNCTIONS.filter((fn) => after.codes[fn]?.CodeSha256 !== before.codes[fn]?.CodeSha256);
    expect(changed).toEqual(["beat", "start", "api"]);
    await Promise.all([approve(row.run), approve(pinned.run)]);
    await expectFinished(row.run);
    await until(async () => expect(await rowOf(lane, pinned.run)).toMatchObject({ phase: "AwaitingAgent" }));
    expect(await rowOf(lane, pinned.run)).toMatchObject({ agentVersion: "1" });
    const accepted = await acceptUpgrade(lane.world, { run: pinned.run, by: "a test" });
    expect(accepted).toEqual({ kind: "accepted", from: "1", to: "2" });
    await expectFinished(pinned.run);
  });

  test("lets a run call one version of its function until it is parked, and the newest version afterwards", async () => {
    const order = { do: "order", wrong: 0 };
    const { run } = await started(lane, { agent: clerk, input: { steps: [order, order, ...ASK.steps, order, order] } });
    const row = await parked(lane, run);
    // The newest version here is the later one of the previous test.
    await again(AGENTS);
    await approve(run);
    expect(await ended(lane, run)).toMatchObject({ status: "completed" });
    const [first, before, second, after, ...others] = await versionsOf(lane, nameOf(row, 1));
    expect({ first, second, others }).toEqual({ first: "live", second: "live", others: [] });
    expect(Number(after)).toBeGreaterThan(Number(before));
  });
});

describe("a rollout", () => {
  test("gives new runs to the chosen version, or divides them between two", async () => {
    await again(["clerk-later.ts"]);
    await again(AGENTS);
    const reading = readingClients();
    const functions = await readBeatFunctions(reading, machine);
    expect(functions).toMatchObject([{ agent: null }]);
    const [beat = { agent: null, beat: "" }] = functions;
    const before = await readRollout(reading, beat);
    expect(before).toMatchObject({ version: before.published.at(-1), next: null });
    const older = before.published.at(-2) ?? "";
    const back = { version: older, next: null };
    expect(await moveRollout(reading, before, back)).toBe("moved");
    expect(await moveRollout(reading, before, back)).toBe("changedMeanwhile");
    const row = await started(lane, { agent: clerk, input: { steps: [{ do: "order", wrong: 0 }] } });
    expect(await ended(lane, row.run)).toMatchObject({ status: "completed" });
    expect((await versionsOf(lane, nameOf(row, 1))).slice(0, 2)).toEqual(["live", older]);
    const half = { version: older, next: { version: before.version, percent: 50 } };
    expect(await moveRollout(reading, await readRollout(reading, beat), half)).toBe("moved");
    expect(await readRollout(reading, beat)).toMatchObject(half);
    const rows = await Promise.all(
      Array.from({ length: 12 }, () => started(lane, { agent: clerk, input: { steps: [{ do: "order", wrong: 0 }] } })),
    );
    for (const { run } of rows) expect(await ended(lane, run)).toMatchObject({ status: "completed" });
    const took = await Promise.all(rows.map(async (each) => (await versionsOf(lane, nameOf(each, 1)))[1]));
    expect(new Set(took)).toEqual(new Set([older, before.version]));
    expect(await moveRollout(reading, await readRollout(reading, beat), before)).toBe("moved");
    const AlarmName = `${table}.takeovers`;
    for (const StateValue of ["ALARM", "OK"] as const) {
      await reading.alarms.send(new SetAlarmStateCommand({ AlarmName, StateValue, StateReason: "a test" }));
      expect((await alarmsNow(reading, machine)).includes(AlarmName)).toBe(StateValue === "ALARM");
    }
  });
});

async function waiting(agent: typeof clerk): Promise<Row> {
  const row = await started(lane, { agent, input: ASK });
  return parked(lane, row.run);
}

/** The run completed once, under the new version, and without a death. */
async function expectFinished(run: string): Promise<void> {
  expect(await ended(lane, run)).toMatchObject({ status: "completed" });
  const events = (await timeline(lane.world, { run, after: 0 })) ?? [];
  expect(events.filter(({ kind }) => kind === "AgentChanged")).toMatchObject([{ from: "1", to: "2" }]);
  expect(await rowOf(lane, run)).toMatchObject({ agentVersion: "2", takeovers: 0 });
  expect((await keysOf(lane, run)).map(callsOf)).toEqual([1]);
}

const ASK = { steps: [{ do: "ask", wrong: 0 }] };

async function approve(run: string): Promise<void> {
  const [gate] = (await shown(lane, run)).gates;
  const decision = { run, gate: gate?.gate ?? "", as: "approve", args: null, by: "a test", note: null } as const;
  expect(await decide(lane.world, decision)).toMatchObject({ kind: "accepted" });
}

describe("LocalStack applies the requested settings", () => {
  test("of the table", async () => {
    const { Table } = await clients.tables.send(new DescribeTableCommand({ TableName: table }));
    expect(Table).toMatchObject({
      BillingModeSummary: { BillingMode: "PAY_PER_REQUEST" },
      DeletionProtectionEnabled: false,
      StreamSpecification: { StreamViewType: "OLD_IMAGE" },
    });
    const backups = await clients.tables.send(new DescribeContinuousBackupsCommand({ TableName: table }));
    expect(backups.ContinuousBackupsDescription?.PointInTimeRecoveryDescription).toMatchObject({
      PointInTimeRecoveryStatus: "ENABLED",
    });
    const { TimeToLiveDescription } = await clients.tables.send(new DescribeTimeToLiveCommand({ TableName: table }));
    expect(TimeToLiveDescription).toEqual({ AttributeName: "expiresAtSec", TimeToLiveStatus: "ENABLED" });
  });

  test("of the bucket", async () => {
    const of = { Bucket: bucket };
    const { objects } = clients;
    const { Policy = "" } = await objects.send(new GetBucketPolicyCommand(of));
    expect(Policy).toContain("s3:if-none-match");
    const { Rules } = await objects.send(new GetBucketLifecycleConfigurationCommand(of));
    expect(Rules).toContainEqual(
      expect.objectContaining({
        Filter: { And: { Prefix: "archive/cold/", ObjectSizeGreaterThan: 128 * 1024 } },
        Transitions: [{ Days: 0, StorageClass: "GLACIER_IR" }],
      }),
    );
    const { ServerSideEncryptionConfiguration: encrypted } = await objects.send(new GetBucketEncryptionCommand(of));
    expect(JSON.stringify(encrypted)).toContain("AES256");
    const { PublicAccessBlockConfiguration: closed } = await objects.send(new GetPublicAccessBlockCommand(of));
    expect(Object.values(closed ?? {})).toEqual([true, true, true, true]);
  });

  test("of functions, roles and schedules", async () => {
    const FunctionName = `${table}-beat`;
    expect(await clients.functions.send(new GetFunctionConfigurationCommand({ FunctionName }))).toMatchObject({
      Architectures: ["arm64"],
      Timeout: inject("stacks").beatSeconds,
      LoggingConfig: { LogFormat: "JSON", LogGroup: `/aws/lambda/${FunctionName}` },
    });
    const asked = new GetRolePolicyCommand({ RoleName: FunctionName, PolicyName: "inline" });
    const { PolicyDocument = "" } = await clients.roles.send(asked);
    expect(decodeURIComponent(PolicyDocument)).toContain("dynamodb:UpdateItem");
    const { Schedules = [] } = await clients.schedules.send(new ListSchedulesCommand({ GroupName: table }));
    expect(Schedules.map(({ Name }) => Name)).toEqual(expect.arrayContaining(["Orphans", "Sweep"]));
  });
});
