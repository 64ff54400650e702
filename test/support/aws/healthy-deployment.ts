/** A healthy deployment as the doctor inspects it, and functions that change it. */
import { definitionOf } from "../../../src/adapters/aws/machine/asl.ts";
import { agentsDescribed, describedAs } from "../../../src/adapters/aws/described-agents.ts";
import { READ } from "../../../src/adapters/aws/function-environment.ts";
import type { AwsSeen } from "../../../src/adapters/aws/doctor/inspection.ts";
import type { Look } from "../../../src/adapters/aws/doctor/looks.ts";
import type { FunctionRole, FunctionSeen } from "../../../src/adapters/aws/doctor/machine-inspection.ts";
import { TABLE } from "../../../src/adapters/aws/table/schema.ts";
import { limitsFor } from "../../../src/protocol/limits.ts";
import type { AwsCase } from "../../../src/adapters/aws/doctor/check-account.ts";

export const NAMES = {
  table: "runs",
  bucket: "store",
  machine: "arn:aws:states:eu-west-1:111122223333:stateMachine:cairn",
};

const AT = 1_000_000_000_000;
const fn = (role: FunctionRole): string => `arn:aws:lambda:eu-west-1:111122223333:function:cairn-${role}`;

export const inspected = <Seen>(seen: Seen): Look<Seen> => ({ kind: "seen", seen });

const ENV = {
  ...{ CAIRN_TABLE: NAMES.table, CAIRN_BUCKET: NAMES.bucket, CAIRN_MACHINE: NAMES.machine },
  ...{
    CAIRN_BEAT_SECONDS: "60",
    CAIRN_LIMITS: "{}",
    CAIRN_PARAMETERS: "[]",
    CAIRN_DEPLOYMENT: "0123456789abcdef",
    CAIRN_STATUS_SHARDS: "",
    CAIRN_ACCESS: "",
    CAIRN_WEBHOOKS: "",
    CAIRN_SWEEP: "",
    CAIRN_SEAL_KMS_KEY: "",
    CAIRN_SEAL: "",
  },
} as const;

/** The agents of the config, which the deployment has. */
const HEALTHY_AGENTS: readonly string[] = ["clerk", "teller"];

const lambda = (role: FunctionRole, timeoutSeconds: number): Look<FunctionSeen> =>
  inspected({
    ...{ arn: fn(role), state: "Active", runtime: "nodejs24.x", architecture: "arm64", timeoutSeconds },
    ...{ secrets: [], reserved: null, described: agentsDescribed(role === "beat" ? describedAs(HEALTHY_AGENTS) : "") },
    env: Object.fromEntries(READ[role].map((name) => [name, ENV[name]])),
  });

const FUNCTIONS = { beat: fn("beat"), park: fn("park"), sweep: fn("sweep") };
const TIMES = { beatSeconds: 60, sweepSeconds: 120, rescueSeconds: 60, triesMax: 100_000, backoffSeconds: 150 };

export const DEFINITION = JSON.stringify(definitionOf({ functions: FUNCTIONS, ...TIMES }));
/** The functions of isolated agents, and the machine that calls them. */
export const AGENTS = `${fn("beat")}_{}`;
export const ISOLATED = JSON.stringify(definitionOf({ functions: { ...FUNCTIONS, agents: AGENTS }, ...TIMES }));

export const denialOf = (prefix: string) => ({
  ...{ Effect: "Deny", Principal: "*", Action: "s3:PutObject", Resource: `arn:aws:s3:::${NAMES.bucket}/${prefix}*` },
  Condition: { Null: { "s3:if-none-match": "true" }, Bool: { "s3:ObjectCreationOperation": "true" } },
});

export const TLS_ONLY = {
  ...{ Effect: "Deny", Principal: { AWS: "*" }, Action: ["s3:*"] },
  Resource: [`arn:aws:s3:::${NAMES.bucket}`, `arn:aws:s3:::${NAMES.bucket}/*`],
  Condition: { Bool: { "aws:SecureTransport": "false" } },
};

export const policyOf = (...Statement: readonly object[]): string =>
  JSON.stringify({ Version: "2012-10-17", Statement });

export const HEALTHY: AwsSeen = {
  ...{ names: NAMES, at: AT },
  caller: inspected({ account: "111122223333", arn: "arn:aws:iam::111122223333:role/operator" }),
  region: inspected({ name: "eu-west-1" }),
  clock: inspected({ gapMs: 0 }),
  table: inspected({
    ...{ status: "ACTIVE", partition: TABLE.keys.partition, sort: TABLE.keys.sort },
    types: Object.fromEntries([
      ...[TABLE.keys.partition, TABLE.keys.sort].map((name) => [name, "S"]),
      ...TABLE.indexes.flatMap(({ partition, sort }) => [partition, sort].map(({ name, type }) => [name, type])),
    ]) as Readonly<Record<string, string>>,
    indexes: TABLE.indexes.map(({ name, partition, sort, projected }) => ({
      ...{ name, status: "ACTIVE", partition: partition.name, sort: sort.name },
      ...{ projection: projected.length > 0 ? "INCLUDE" : "KEYS_ONLY", projected },
    })),
    stream: { arn: "arn:aws:dynamodb:eu-west-1:111122223333:table/runs/stream/1", view: "OLD_IMAGE", isEnabled: true },
    ...{ billing: "PAY_PER_REQUEST", isProtected: true },
  }),
  timeToLive: inspected({ status: "ENABLED", attribute: TABLE.timeToLive }),
  backups: inspected({ isEnabled: true }),
  tableStore: inspected({ id: "one", foreign: null }),
  sweepTurn: inspected({ until: AT - 60_000 }),
  orphansSearched: inspected({ at: AT - 10 * 3_600_000 }),
  liveRows: inspected({ looked: 7, damaged: [], isAll: true }),
  bucket: inspected({ region: "eu-west-1" }),
  bucketStore: inspected({ id: "one", foreign: null }),
  publicAccess: inspected({ open: [] }),
  encryption: inspected({ algorithm: "AES256" }),
  policy: inspected({ document: policyOf(denialOf("runs/"), denialOf("archive/"), TLS_ONLY) }),
  lifecycle: inspected({ rules: [{ prefix: "tmp/", isEnabled: true, expiresDays: 1 }] }),
  putOnce: inspected("refused"),
  machine: inspected({
    ...{ status: "ACTIVE", type: "STANDARD", definition: DEFINITION },
    calls: { beat: fn("beat"), park: fn("park"), sweep: fn("sweep"), agents: null },
  }),
  agents: {},
  functions: {
    ...{ beat: lambda("beat", 60), park: lambda("park", 30) },
    ...{ sweep: lambda("sweep", 120), cleanup: lambda("cleanup", 60) },
  },
  cleanUp: inspected({
    mappings: [
      {
        ...{ function: fn("cleanup"), state: "Enabled", reportsFailures: true },
        filters: ['{"eventName":["REMOVE"],"dynamodb":{"Keys":{"item":{"S":["row"]}}}}'],
        onFailure: "arn:aws:sqs:eu-west-1:111122223333:cairn-cleanup-failed",
      },
    ],
  }),
  sweeper: inspected({ schedules: [{ name: "cairn-sweep", isEnabled: true }] }),
  alarms: inspected({ alarms: [{ name: "cairn-unreadable", state: "OK", tellsSomebody: true }] }),
  account: inspected({ concurrency: 1_000, unreserved: 1_000 }),
};

export const caseOf = (aws: AwsSeen, isolated: readonly string[] = []): AwsCase => ({
  ...{ aws, isolated, agents: HEALTHY_AGENTS },
  limits: limitsFor(60_000),
});

/** The inspection with changes in one part. */
export function withChanges<Part extends keyof AwsSeen>(
  part: Part,
  change: AwsSeen[Part] extends Look<infer Seen> ? (Seen extends object ? Partial<Seen> : never) : never,
): Partial<AwsSeen> {
  const look = HEALTHY[part] as Look<object>;
  return { [part]: inspected({ ...(look.kind === "seen" ? look.seen : {}), ...(change as object) }) };
}

export function withFunctionChange(role: FunctionRole, change: Partial<FunctionSeen>): Partial<AwsSeen> {
  const look = HEALTHY.functions[role];
  if (look.kind !== "seen") throw new Error(`${role} is not healthy`);
  return { functions: { ...HEALTHY.functions, [role]: inspected({ ...look.seen, ...change }) } };
}
