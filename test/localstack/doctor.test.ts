/** The doctor on a real deployment: no check fails, and disabled parts are found. */
import { UpdateContinuousBackupsCommand, UpdateTableCommand, UpdateTimeToLiveCommand } from "@aws-sdk/client-dynamodb";
import { ListObjectsV2Command, PutBucketPolicyCommand } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type { Names } from "../../src/adapters/aws/doctor/machine-inspection.ts";
import { inspectAws } from "../../src/adapters/aws/doctor/inspection.ts";
import { TABLE } from "../../src/adapters/aws/table/schema.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import { awsChecks } from "../../src/adapters/aws/doctor/checks.ts";
import { type Judged, judgeAll } from "../../src/ports/diagnosis.ts";
import { runCairn, createCliFolder } from "../support/processes/cli-process.ts";
import { type Deployment, deploy, undeploy } from "./deployment.ts";
import { invoke, laneOf, sweep } from "./lane.ts";

async function examined(names: Names, agents: readonly string[] | null = null): Promise<readonly Judged[]> {
  const aws = await inspectAws({ names, probe: true, onLook: () => {} });
  return judgeAll(awsChecks({ production: true }), {
    seen: { aws, limits: limitsFor(60_000), agents, isolated: [] },
    production: false,
  });
}

const withStatus = (judged: readonly Judged[], status: string): readonly string[] =>
  judged.flatMap((check) => (check.status === status ? [check.id] : []));

describe("a fresh deployment", () => {
  test("has no failing check and no unknown one", async () => {
    const lane = laneOf("lane");
    // LocalStack fires no schedule.
    await sweep(lane);
    await invoke(lane, "sweep", { kind: "orphans" });
    const judged = await examined(lane.stack);
    expect(withStatus(judged, "fail")).toEqual([]);
    expect(withStatus(judged, "unknown")).toEqual([]);
    // LocalStack stores policies but does not enforce them.
    expect(withStatus(judged, "warn")).toContain("bucket-put-once-enforced");
  });

  test("says in the folder of another project that it is not its deployment", async () => {
    const judged = await examined(laneOf("lane").stack, ["baker"]);
    expect(judged.find(({ id }) => id === "agents-deployed")).toMatchObject({
      status: "warn",
      why: expect.stringMatching(
        /^the deployment has .*\bclerk\b.*cairn.config.ts has baker: another project was deployed/,
      ),
    });
  });

  test("is healthy in the output of the command", async () => {
    const seconds = String(inject("stacks").beatSeconds);
    const { exit, out } = await runCairn(createCliFolder(), ["doctor", "--world", "aws", "--beat-seconds", seconds], {
      bare: true,
    });
    expect(out).toContain("machine-definition");
    expect(exit).toBe(0);
  });
});

describe("a separate deployment", () => {
  let own: Deployment;
  beforeAll(async () => {
    own = await deploy();
  });
  afterAll(() => undeploy(own));

  const isOk = async (id: string): Promise<boolean> => withStatus(await examined(own), "ok").includes(id);

  test("with another state machine and an unread stream is reported", async () => {
    expect(withStatus(await examined(own), "fail")).toEqual([
      ...["machine-definition", "function-beat", "function-park", "function-sweep", "stream-followed"],
    ]);
  });

  test("passes checks with backups and protection, and fails without its time to live", async () => {
    const client = own.clients.table.repeating;
    const TableName = own.table;
    const PointInTimeRecoverySpecification = { PointInTimeRecoveryEnabled: true };
    await client.send(new UpdateContinuousBackupsCommand({ TableName, PointInTimeRecoverySpecification }));
    expect(await isOk("table-backups")).toBe(true);
    await client.send(new UpdateTableCommand({ TableName, DeletionProtectionEnabled: true }));
    expect(await isOk("table-protection")).toBe(true);
    await client.send(new UpdateTableCommand({ TableName, DeletionProtectionEnabled: false }));
    const TimeToLiveSpecification = { AttributeName: TABLE.timeToLive, Enabled: false };
    await client.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }));
    expect(withStatus(await examined(own), "fail")).toContain("table-ttl");
  });

  test("passes a check with a bucket policy", async () => {
    const arn = `arn:aws:s3:::${own.bucket}`;
    const denials = [
      {
        ...{ Effect: "Deny", Principal: "*", Action: "s3:PutObject", Resource: [`${arn}/runs/*`, `${arn}/archive/*`] },
        Condition: { Null: { "s3:if-none-match": "true" }, Bool: { "s3:ObjectCreationOperation": "true" } },
      },
      {
        ...{ Effect: "Deny", Principal: "*", Action: "s3:*", Resource: [arn, `${arn}/*`] },
        Condition: { Bool: { "aws:SecureTransport": "false" } },
      },
    ];
    const Policy = JSON.stringify({ Version: "2012-10-17", Statement: denials });
    await own.clients.bucket.repeating.send(new PutBucketPolicyCommand({ Bucket: own.bucket, Policy }));
    expect(await isOk("bucket-put-once")).toBe(true);
    expect(await isOk("bucket-tls")).toBe(true);
  });

  test("has no object of the probe left in its bucket", async () => {
    await examined(own);
    expect(
      await own.clients.bucket.repeating.send(new ListObjectsV2Command({ Bucket: own.bucket, Prefix: "runs/" })),
    ).toMatchObject({ KeyCount: 0 });
  });

  test("that is removed fails only the checks of the missing parts", async () => {
    const gone = { ...own, table: `${own.table}-gone` };
    const judged = await examined(gone);
    expect(withStatus(judged, "fail")).toContain("table");
    expect(withStatus(judged, "fail").filter((id) => id.startsWith("table-"))).toEqual([]);
  });
});
