/** How a deployment is walked through, and that what cannot be seen never hides what can. */
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { inspectAws } from "../../../src/adapters/aws/doctor/inspection.ts";
import { look } from "../../../src/adapters/aws/doctor/looks.ts";
import { clockGapMs } from "../../../src/adapters/aws/dates.ts";
import { type ReadingClients, readingClients } from "../../../src/adapters/aws/doctor/reading-clients.ts";
import { awsChecks } from "../../../src/adapters/aws/doctor/checks.ts";
import { judgeAll } from "../../../src/ports/diagnosis.ts";
import { type AwsServer, ok, refusal, startAwsServer } from "../../support/aws/aws-server.ts";
import { AGENTS, DEFINITION, ISOLATED, NAMES, caseOf } from "../../support/aws/healthy-deployment.ts";

/** An answer of a service, or what its client throws. */
type Answers = Readonly<Record<string, object | Error | ((input: Input) => object)>>;

interface Input {
  readonly NextToken?: string;
  readonly FunctionName?: string;
  readonly EventSourceArn?: string;
}

const named = (name: string): Error => Object.assign(new Error(name), { name });

const FN = "arn:aws:lambda:eu-west-1:111122223333:function:cairn-";

/** Of a deployment where each service has answered something. */
const ANSWERS: Answers = {
  GetCallerIdentity: { Account: "111122223333", Arn: "arn:aws:iam::111122223333:user/ada" },
  DescribeTable: {
    Table: { TableStatus: "ACTIVE", LatestStreamArn: "stream-1", StreamSpecification: { StreamEnabled: true } },
  },
  DescribeTimeToLive: { TimeToLiveDescription: { TimeToLiveStatus: "ENABLED", AttributeName: "expiresAtSec" } },
  DescribeContinuousBackups: {},
  GetItem: {},
  Query: {},
  HeadBucket: { BucketRegion: "eu-west-1" },
  GetObject: named("NoSuchKey"),
  GetPublicAccessBlock: { PublicAccessBlockConfiguration: { BlockPublicAcls: true, BlockPublicPolicy: true } },
  GetBucketEncryption: named("ServerSideEncryptionConfigurationNotFoundError"),
  GetBucketPolicy: named("NoSuchBucketPolicy"),
  GetBucketLifecycleConfiguration: {
    Rules: [{ Status: "Enabled", Filter: { And: { Prefix: "runs/" } }, Expiration: { Days: 3 } }],
  },
  PutObject: named("PreconditionFailed"),
  DescribeStateMachine: { definition: DEFINITION, status: "ACTIVE", type: "STANDARD" },
  GetFunctionConfiguration: ({ FunctionName = "" }) => ({
    ...{ FunctionArn: FunctionName, Runtime: "nodejs24.x", Architectures: ["arm64"], Timeout: 60 },
    Environment: {
      Variables: {
        CAIRN_TABLE: "runs",
        MODEL_API_KEY: "sk-very-secret",
        OTHER_TOKEN: "arn:aws:ssm:x",
        THIRD_SECRET: "none",
        PLAIN: "x",
      },
    },
  }),
  GetFunctionConcurrency: named("AccessDeniedException"),
  ListEventSourceMappings: ({ EventSourceArn }) => ({
    EventSourceMappings: [{ FunctionArn: `${FN}cleanup`, State: "Enabled", EventSourceArn }],
  }),
  GetAccountSettings: { AccountLimit: { ConcurrentExecutions: 10, UnreservedConcurrentExecutions: 10 } },
  ListSchedules: ({ NextToken }) =>
    NextToken === undefined
      ? { Schedules: [{ Name: "other", Target: { Arn: "other" }, State: "ENABLED" }], NextToken: "2" }
      : { Schedules: [{ Name: "sweep", Target: { Arn: `${FN}sweep` }, State: "DISABLED" }] },
  DescribeAlarms: {
    MetricAlarms: [
      { AlarmName: "cairn.queue", StateValue: "OK" },
      { AlarmName: "mine", Namespace: "cairn", StateValue: "ALARM", ActionsEnabled: true, AlarmActions: ["topic"] },
      { AlarmName: "errors", Namespace: "AWS/Lambda", Dimensions: [{ Name: "FunctionName", Value: "cairn-beat" }] },
      { AlarmName: "foreign", Namespace: "AWS/Lambda", Dimensions: [{ Name: "FunctionName", Value: "other" }] },
    ],
  },
};

/** Clients that answer from a table; `asked` notes each command. */
function clientsOf(answers: Answers, asked: string[] = []): ReadingClients {
  const send = async (command: { readonly input: Input }): Promise<object> => {
    const name = command.constructor.name.replace(/Command$/, "");
    asked.push(name);
    const answer = answers[name];
    if (answer === undefined) throw new Error(`nobody expects ${name}`);
    if (answer instanceof Error) throw answer;
    return typeof answer === "function" ? (answer as (input: Input) => object)(command.input) : answer;
  };
  const client = { send, config: { region: async () => "eu-west-1" }, middlewareStack: { add: () => {} } };
  const pair = { once: client, repeating: client };
  const real = readingClients();
  // Reading page by page insists on real clients.
  const [alarms, schedules] = [Object.assign(real.alarms, { send }), Object.assign(real.schedules, { send })];
  const all = { caller: client, functions: client, alarms, schedules, machine: client };
  return { ...all, table: pair, bucket: pair } as unknown as ReadingClients;
}

const inspect = (answers: Answers, { probe = false, asked = [] as string[] } = {}) =>
  inspectAws({ names: NAMES, probe, onLook: () => {}, clients: clientsOf(answers, asked) });

describe("a deployment", () => {
  test("is walked from the machine to its functions, from the table to what follows its stream", async () => {
    const seen = await inspect(ANSWERS);
    expect(seen).toMatchObject({
      caller: { seen: { account: "111122223333" } },
      table: { seen: { stream: { arn: "stream-1" }, billing: "PROVISIONED", isProtected: false, indexes: [] } },
      backups: { seen: { isEnabled: false } },
      ...{ tableStore: { seen: { id: null } }, sweepTurn: { kind: "missing" }, orphansSearched: { kind: "missing" } },
      liveRows: { seen: { looked: 0, damaged: [], isAll: true } },
      publicAccess: { seen: { open: ["IgnorePublicAcls", "RestrictPublicBuckets"] } },
      ...{ encryption: { kind: "missing" }, policy: { kind: "missing" } },
      lifecycle: { seen: { rules: [{ prefix: "runs/", isEnabled: true, expiresDays: 3 }] } },
      machine: { seen: { calls: { beat: `${FN}beat`, park: `${FN}park`, sweep: `${FN}sweep` } } },
      cleanUp: { seen: { mappings: [{ function: `${FN}cleanup`, onFailure: null, reportsFailures: false }] } },
      sweeper: { seen: { schedules: [{ name: "sweep", isEnabled: false }] } },
      account: { seen: { concurrency: 10 } },
    });
    expect(Object.entries(seen.functions).map(([role, found]) => ({ role, kind: found.kind }))).toEqual(
      ["beat", "park", "sweep", "cleanup"].map((role) => ({ role, kind: "seen" })),
    );
  });

  test("has the functions of isolated agents where its machine calls them", async () => {
    const definition = { definition: ISOLATED, status: "ACTIVE", type: "STANDARD" };
    const answers = {
      ...ANSWERS,
      DescribeStateMachine: definition,
      GetFunctionConfiguration: ({ FunctionName = "" }: Input) => {
        if (FunctionName.endsWith("_gone")) throw named("ResourceNotFoundException");
        return { FunctionArn: FunctionName, Runtime: "nodejs24.x", Timeout: 60 };
      },
    };
    const agents = ["clerk", "gone"];
    const seen = await inspectAws({
      names: NAMES,
      probe: false,
      agents,
      onLook: () => {},
      clients: clientsOf(answers),
    });
    expect(seen.machine).toMatchObject({ seen: { calls: { beat: `${FN}beat`, agents: AGENTS } } });
    expect(seen.agents).toMatchObject({ clerk: { seen: { arn: `${FN}beat_clerk` } }, gone: { kind: "missing" } });
    expect((await inspect(ANSWERS)).agents).toEqual({});
  });

  test("shows no secret, only which names look like one", async () => {
    const seen = await inspect(ANSWERS);
    expect(seen.functions.beat).toMatchObject({ seen: { env: { CAIRN_TABLE: "runs" }, secrets: ["MODEL_API_KEY"] } });
    expect(JSON.stringify(seen)).not.toContain("very-secret");
  });

  test("has the alarms that watch it, and no others", async () => {
    const { alarms } = await inspect(ANSWERS);
    expect(alarms).toEqual({
      kind: "seen",
      seen: {
        alarms: [
          { name: "cairn.queue", state: "OK", tellsSomebody: false },
          { name: "mine", state: "ALARM", tellsSomebody: true },
          { name: "errors", state: "unknown", tellsSomebody: false },
        ],
      },
    });
  });

  test("is only read, unless the probe is asked for", async () => {
    const asked: string[] = [];
    await inspect(ANSWERS, { asked });
    expect(asked.filter((name) => !/^(Describe|Get|List|Head|Query)/.test(name))).toEqual([]);
    await inspect(ANSWERS, { asked, probe: true });
    expect(asked.filter((name) => !/^(Describe|Get|List|Head|Query)/.test(name))).toEqual(["PutObject"]);
  });

  test.each([
    ["let", named("PreconditionFailed")],
    ["let", named("NoSuchKey")],
    ["let", {}],
    ["refusedSomehow", named("AccessDenied")],
    [
      "refused",
      Object.assign(named("AccessDenied"), {
        message: "User: x is not authorized to perform: s3:PutObject with an explicit deny in a resource-based policy",
      }),
    ],
  ])("takes the probe as %s", async (putOnce, answer) => {
    const { putOnce: seen } = await inspect({ ...ANSWERS, PutObject: answer }, { probe: true });
    expect(seen).toEqual({ kind: "seen", seen: putOnce });
  });

  test("of which nothing may be seen is unknown, each with the permission that it needs", async () => {
    const denied = Object.fromEntries(Object.keys(ANSWERS).map((name) => [name, named("AccessDeniedException")]));
    const seen = await inspect(denied, { probe: true });
    expect(seen).toMatchObject({
      caller: { kind: "denied", action: "sts:GetCallerIdentity" },
      table: { kind: "denied", action: "dynamodb:DescribeTable" },
      policy: { kind: "denied", action: "s3:GetBucketPolicy" },
      machine: { kind: "denied", action: "states:DescribeStateMachine" },
      functions: { beat: { kind: "untried", needs: "machine" } },
      cleanUp: { kind: "untried", needs: "table" },
    });
    const judged = judgeAll(awsChecks({ production: true }), { seen: caseOf(seen), production: true });
    expect(judged.filter(({ id, status }) => id !== "region" && status !== "unknown")).toEqual([]);
  });

  test("of which nothing is there fails where it begins", async () => {
    const gone = Object.fromEntries(Object.keys(ANSWERS).map((name) => [name, named("ResourceNotFoundException")]));
    const seen = await inspect({ ...gone, GetCallerIdentity: ANSWERS["GetCallerIdentity"] ?? {} });
    const judged = judgeAll(awsChecks({ production: false }), { seen: caseOf(seen), production: false });
    const failed = judged.filter(({ status }) => status === "fail").map(({ id }) => id);
    expect(failed).toEqual(["table", "bucket", "machine"]);
  });

  test("is not looked at with credentials that nobody takes", async () => {
    const asked: string[] = [];
    const seen = await inspect({ GetCallerIdentity: named("ExpiredToken") }, { asked });
    expect(asked).toEqual(["GetCallerIdentity"]);
    expect(seen.caller).toMatchObject({ kind: "failed", isHopeless: true, next: "sign in to AWS again" });
    expect(seen.table).toEqual({ kind: "untried", needs: "credentials" });
  });

  test("with a definition that is no JSON calls nobody", async () => {
    const seen = await inspect({ ...ANSWERS, DescribeStateMachine: { definition: "{" } });
    expect(seen.functions.beat).toEqual({ kind: "missing" });
  });
});

test("a mistake of ours is not taken for a deployment's fault in silence", async () => {
  const found = await look("x:Y", () => Promise.reject(new TypeError("undefined is not a function")));
  expect(found).toMatchObject({ kind: "failed", why: expect.stringContaining("TypeError: undefined") });
});

const ENVIRONMENT = [
  ["AWS_REGION", "us-east-1"],
  ["AWS_ACCESS_KEY_ID", "test"],
  ["AWS_SECRET_ACCESS_KEY", "test"],
] as const;

describe("the clock", () => {
  test.each([
    // Whole seconds: up to 999 ms more may have passed there.
    [0, { date: 10_000, before: 10_500, after: 10_600 }],
    [0, { date: 10_000, before: 10_999, after: 11_400 }],
    [0, { date: 10_000, before: 9_600, after: 10_000 }],
    [400, { date: 10_000, before: 9_500, after: 9_600 }],
    [-501, { date: 10_000, before: 11_500, after: 11_600 }],
  ])("differs by %i ms at least: %o", (gapMs, dated) => {
    expect(clockGapMs(dated)).toBe(gapMs);
  });

  let server: AwsServer;
  beforeAll(async () => {
    for (const [name, value] of ENVIRONMENT) vi.stubEnv(name, value);
    server = await startAwsServer();
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await server.close();
  });

  test.each([
    ["an answer", ok()],
    ["a refusal", refusal("RequestExpired")],
  ])("is read from %s", async (_, answer) => {
    server.answer(answer);
    const { caller } = readingClients({ endpoint: server.endpoint });
    const { clock } = await inspectAws({
      names: NAMES,
      probe: false,
      onLook: () => {},
      clients: { ...clientsOf({}), caller },
    });
    expect(clock).toEqual({ kind: "seen", seen: { gapMs: 0 } });
  });
});
