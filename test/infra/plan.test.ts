/** The plan of a deployment: the options of the config with their defaults, and refused where AWS would refuse them. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { Config, DeployOptions } from "../../src/sdk/config.ts";
import { loadConfig } from "../../src/sdk/config.ts";
import { environmentOf } from "../../infra/environment.ts";
import { refuseTooLongPolicy, statementsOf } from "../../infra/grants.ts";
import { FUNCTIONS, type FunctionName, namesOf } from "../../infra/names.ts";
import { machineTimesOf, planOf, secondsOf, secretsOf } from "../../infra/plan.ts";

const dirs: string[] = [];
afterAll(() => dirs.forEach((dir) => rmSync(dir, { recursive: true })));

/** A config file with these options, as it is read. */
function loaded(config: Omit<Config, "agents" | "deploy"> & { readonly deploy?: unknown }): Promise<Config | null> {
  const dir = mkdtempSync(join(tmpdir(), "cairn-plan-"));
  dirs.push(dir);
  writeFileSync(join(dir, "cairn.config.ts"), `export const config = ${JSON.stringify({ agents: [], ...config })};`);
  return loadConfig(dir);
}

const KMS_KEY = "arn:aws:kms:eu-west-1:111122223333:key/1234-abcd";

test("a park keeps its execution open for three sweeps, unless the config says otherwise", () => {
  const names = namesOf("cairn-dev", { partition: "aws", region: "eu-west-1", account: "1" });
  const limitsOf = (plan: ReturnType<typeof planOf>): unknown =>
    JSON.parse(environmentOf("beat", { names, plan })["CAIRN_LIMITS"] ?? "");
  expect(limitsOf(planOf({}, []))).toEqual({ openParkMs: 900_000 });
  const plan = planOf({ deploy: { sweepMinutes: 1 } }, []);
  expect(limitsOf(plan)).toEqual({ openParkMs: 180_000 });
  expect(limitsOf({ ...plan, limits: { openParkMs: 1 } })).toEqual({ openParkMs: 1 });
});

test("a deployment without options is the smallest one", () => {
  expect(planOf({}, [])).toEqual({
    access: {},
    deployment: expect.any(String),
    ...{
      folders: {},
      schedules: [],
      agents: [],
      secrets: [],
      webhooks: [],
      isolated: [],
      concurrency: {},
      beatSeconds: 60,
      limits: {},
    },
    options: {
      ...{ memoryMb: 512, logRetention: "1 month", sweepMinutes: 5, env: {} },
      ...{
        concurrencyReserved: {},
        apiRate: 50,
        eventStreams: false,
        console: false,
        spendPerDayUsd: 100,
        statusShards: 1,
        rollout: "at-once",
        isolation: "agent",
      },
      ...{ concurrencyMax: null, alarmEmail: null, tracing: null, seal: null, tableName: null },
    },
  });
});

test("the options of the config equal those of the plan", async () => {
  const deploy: DeployOptions = {
    ...{ memoryMb: 1_024, logRetention: "1 week", sweepMinutes: 1, concurrencyMax: 5 },
    ...{
      concurrencyReserved: { sweep: 1, park: 2, api: 3, events: 4 },
      apiRate: 5,
      eventStreams: true,
      console: true,
      spendPerDayUsd: 7.5,
      statusShards: 4,
      tableName: "cairn-dev.restored",
    },
    ...{ alarmEmail: "ops@example.org", env: { SERVICES: "https://example.org" } },
    ...{ seal: { kmsKey: KMS_KEY, required: true }, rollout: "by-hand", isolation: "none", tracing: "xray" },
  };
  const config = await loaded({ beatSeconds: 300, beatsPerInvocation: 25, keyDays: 60, deploy });
  expect(planOf(config ?? {}, [{ name: "beat", folder: "/tmp/beat", digest: "0" }])).toEqual({
    deployment: expect.any(String),
    ...{
      folders: { beat: "/tmp/beat" },
      access: {},
      schedules: [],
      agents: [],
      secrets: [],
      webhooks: [],
      isolated: [],
      concurrency: {},
    },
    ...{ beatSeconds: 300, limits: { beatsPerInvocation: 25, keyRetentionMs: 60 * 24 * 3_600_000 }, options: deploy },
  });
});

describe("an option is refused with its path", () => {
  test.each<[string, unknown]>([
    ["memoryMb", 255],
    ["memoryMb", 10_241],
    ["memoryMb", 512.5],
    ["logRetention", "2 months"],
    ["sweepMinutes", 0],
    ["sweepMinutes", 61],
    ["concurrencyMax", 0],
    ["concurrencyReserved.api", { api: 0 }],
    ["concurrencyReserved.events", { events: 0 }],
    ["eventStreams", "yes"],
    ["console", "yes"],
    ["apiRate", 0],
    ["isolation", "process"],
    ["statusShards", 3],
    ["statusShards", 32],
    ["tableName", "a table"],
    ["spendPerDayUsd", 0],
    ["alarmEmail", "ops at example.org"],
    ["tracing", "zipkin"],
    ["tracing", true],
    ["seal.kmsKey", { kmsKey: "alias/cairn" }],
    ["env.AWS_REGION", { AWS_REGION: "eu-west-1" }],
    ["env.CAIRN_TABLE", { CAIRN_TABLE: "another" }],
    ["env.lower", { lower: "x" }],
    ["env.LONG", { LONG: "x".repeat(1_025) }],
  ])("%s: %j", async (path, value) => {
    const [option = ""] = path.split(".");
    const refused = loaded({ deploy: { [option]: value } });
    await expect(refused).rejects.toThrow(new RegExp(`\\n {2}config\\.deploy\\.${path.replace(".", "\\.")}: `));
  });

  test.each([0, 1.5, 1_001])("beatsPerInvocation: %j", async (beatsPerInvocation) => {
    await expect(loaded({ beatsPerInvocation })).rejects.toThrow(/\n {2}config\.beatsPerInvocation: /);
  });

  test.each([0.9, 367, "30"])("keyDays: %j", async (keyDays) => {
    await expect(loaded({ keyDays: keyDays as number })).rejects.toThrow(/\n {2}config\.keyDays: /);
  });

  test("one that is unknown", async () => {
    await expect(loaded({ deploy: { memory: 512 } })).rejects.toThrow(/config\.deploy: .*memory/);
  });

  test("and so are parts of seconds, which the machine accepts and Lambda does not", async () => {
    const config = await loaded({ beatSeconds: 2.5 });
    expect(() => planOf(config ?? {}, [])).toThrow("beatSeconds is 2.5: Lambda takes whole seconds");
  });
});

describe("the cap of an agent", () => {
  const agents = [
    { agent: "teller", secrets: [] },
    { agent: "clerk", secrets: [] },
  ];
  const concurrency = { clerk: 3 };

  test("belongs to the function of that agent, or to the only function of beats", () => {
    expect(planOf({ concurrency }, [], { agents }).concurrency).toEqual({ beat_clerk: 3 });
    expect(planOf({ concurrency }, [], { agents: agents.slice(1) }).concurrency).toEqual({ beat: 3 });
  });

  test("is refused where agents share a function, and of an agent that is not there", () => {
    const deploy = { isolation: "none" } as const;
    expect(() => planOf({ concurrency, deploy }, [], { agents })).toThrow("needs a function of this agent alone");
    expect(() => planOf({ concurrency: { guest: 1 } }, [], { agents })).toThrow("concurrency.guest of cairn.config.ts");
  });
});

test("each function has the timeout that its work needs", () => {
  const plan = planOf({ beatSeconds: 300 }, []);
  expect(FUNCTIONS.map((fn) => [fn, secondsOf(fn, plan)])).toEqual([
    ...[
      ["beat", 300],
      ["park", 30],
      ["start", 60],
      ["sweep", 120],
      ["cleanup", 60],
    ],
    // API Gateway waits no longer.
    ["api", 29],
  ]);
});

test("the machine has the times of its world, and pauses no longer", () => {
  expect(machineTimesOf(planOf({}, []))).toEqual({
    ...{ beatSeconds: 60, sweepSeconds: 120, rescueSeconds: 60, triesMax: 100_000, backoffSeconds: 150 },
  });
  const limits = { rescueMs: 1_500, entryAttemptsMax: 2, backoffMsMax: 1_000 };
  expect(machineTimesOf({ beatSeconds: 12, limits })).toEqual({
    ...{ beatSeconds: 12, sweepSeconds: 120, rescueSeconds: 2, triesMax: 2_000, backoffSeconds: 1 },
  });
});

test("concurrency is reserved for streams only where the deployment streams", () => {
  const concurrencyReserved = { events: 5 };
  expect(() => planOf({ deploy: { concurrencyReserved } }, [])).toThrow(
    /^deploy\.concurrencyReserved\.events .*: set deploy\.eventStreams: true, or take it out$/,
  );
  const streaming = { concurrencyReserved, eventStreams: true };
  expect(planOf({ deploy: streaming }, []).options).toMatchObject(streaming);
});

test("the code of its functions alone determines a deployment's version", () => {
  const code = (digest: string) => [
    { name: "beat" as const, folder: "/tmp/a", digest },
    { name: "park" as const, folder: "/tmp/b", digest: "same" },
  ];
  const { deployment } = planOf({}, code("one"));
  expect(deployment).toMatch(/^[0-9a-f]{16}$/);
  expect(planOf({ beatSeconds: 90 }, code("one").toReversed()).deployment).toBe(deployment);
  expect(planOf({}, code("two")).deployment).not.toBe(deployment);
  const names = namesOf("cairn-dev", { partition: "aws", region: "eu-west-1", account: "1" });
  const told = FUNCTIONS.filter((fn) => "CAIRN_DEPLOYMENT" in environmentOf(fn, { names, plan: planOf({}, []) }));
  expect(told).toEqual(["sweep"]);
});

test("exactly the functions that change the status of a run are told of shards, and only where there are several", () => {
  const names = namesOf("cairn-dev", { partition: "aws", region: "eu-west-1", account: "1" });
  const told = (statusShards: 1 | 16) =>
    FUNCTIONS.map((fn) => environmentOf(fn, { names, plan: planOf({ deploy: { statusShards } }, []) })).map(
      ({ CAIRN_STATUS_SHARDS: shards = null }) => shards,
    );
  expect(FUNCTIONS.filter((_, index) => told(16)[index] === "16")).toEqual(["beat", "start", "sweep", "api"]);
  expect(new Set(told(1))).toEqual(new Set([null]));
});

test("only functions that write runs have the seal key and may use it", () => {
  const names = namesOf("cairn-dev", { partition: "aws", region: "eu-west-1", account: "1" });
  const usesKey = (fn: FunctionName, sealKey: string | null): boolean =>
    statementsOf(fn, names, { secrets: [], sealKey }).some(({ resources }) => resources.includes(KMS_KEY));
  const sealed = planOf({ deploy: { seal: { kmsKey: KMS_KEY, required: true } } }, []);
  const told = FUNCTIONS.filter((fn) => environmentOf(fn, { names, plan: sealed })["CAIRN_SEAL_KMS_KEY"] === KMS_KEY);
  expect(told).toEqual(["beat", "start", "sweep", "api"]);
  expect(FUNCTIONS.filter((fn) => usesKey(fn, KMS_KEY))).toEqual(told);
  expect(environmentOf("beat", { names, plan: sealed })["CAIRN_SEAL"]).toBe("required");
  const without = environmentOf("beat", { names, plan: planOf({}, []) });
  expect(Object.keys(without).filter((name) => name.startsWith("CAIRN_SEAL"))).toEqual([]);
  expect(FUNCTIONS.filter((fn) => usesKey(fn, null))).toEqual([]);
});

test("a function without agents has none of their variables and none of their secrets", () => {
  const plan = planOf({ deploy: { env: { SERVICES: "x" } } }, [], { agents: [{ agent: "one", secrets: ["TOKEN"] }] });
  const names = namesOf("cairn-dev", { partition: "aws", region: "eu-west-1", account: "1" });
  const given = FUNCTIONS.filter((fn) => "SERVICES" in environmentOf(fn, { names, plan }));
  expect(given).toEqual(["beat", "start", "api"]);
  const knowing = FUNCTIONS.filter((fn) => "CAIRN_PARAMETERS" in environmentOf(fn, { names, plan }));
  expect(knowing).toEqual(given);
  expect(environmentOf("beat", { names, plan })["CAIRN_PARAMETERS"]).toBe('["TOKEN"]');
});

test("only the API knows how callers are identified, and only if the config says so", () => {
  const names = namesOf("cairn-dev", { partition: "aws", region: "eu-west-1", account: "1" });
  const told = (plan: ReturnType<typeof planOf>) =>
    FUNCTIONS.map((fn) => environmentOf(fn, { names, plan })["CAIRN_ACCESS"]);
  expect(told(planOf({}, []))).toEqual(FUNCTIONS.map(() => undefined));
  const byToken = told(planOf({ access: { auth: "token" } }, []));
  expect(FUNCTIONS.filter((_, index) => byToken[index] === '{"auth":"token"}')).toEqual(["api"]);
});

test("only the sweep may read the keys that sign webhooks; beats learn what to note", () => {
  const names = namesOf("cairn-dev", { partition: "aws", region: "eu-west-1", account: "1" });
  const webhooks = [{ url: "https://hooks.example/", events: ["run.failed"], secret: "HOOK_KEY" }] as const;
  const plan = planOf({ webhooks }, [], { agents: [{ agent: "a", secrets: ["TOKEN"] }] });
  const readable = FUNCTIONS.filter((fn) =>
    JSON.stringify(statementsOf(fn, names, { secrets: secretsOf(fn, plan), storeKey: undefined })).includes("HOOK_KEY"),
  );
  expect(readable).toEqual(["sweep"]);
  expect(secretsOf("sweep", plan)).toEqual(["HOOK_KEY"]);
  expect(FUNCTIONS.filter((fn) => "CAIRN_WEBHOOKS" in environmentOf(fn, { names, plan }))).toEqual(["beat", "sweep"]);
});

test("the API may query the index of live runs, which GET /health counts", () => {
  const names = namesOf("cairn-dev", { partition: "aws", region: "eu-west-1", account: "1" });
  const queried = statementsOf("api", names, { secrets: [] }).flatMap(({ actions, resources }) =>
    actions.includes("dynamodb:Query") ? resources : [],
  );
  expect(queried).toContain(`${names.tableArn}/index/alive`);
});

test("only beats may ask the sweep to deliver, and only where there are webhooks", () => {
  const names = namesOf("cairn-dev", { partition: "aws", region: "eu-west-1", account: "1" });
  const webhooks = [{ url: "https://hooks.example/", events: ["approval.requested"], secret: "HOOK_KEY" }] as const;
  const asking = (plan: ReturnType<typeof planOf>) =>
    FUNCTIONS.filter((fn) => environmentOf(fn, { names, plan })["CAIRN_SWEEP"] === "cairn-dev-sweep");
  expect([asking(planOf({ webhooks }, [])), asking(planOf({}, []))]).toEqual([["beat"], []]);
  const invoking = (hasWebhooks: boolean) =>
    FUNCTIONS.filter((fn) =>
      statementsOf(fn, names, { secrets: [], storeKey: undefined, hasWebhooks }).some(
        ({ actions, resources }) =>
          actions.join() === "lambda:InvokeFunction" && resources.join() === names.functionArn("sweep"),
      ),
    );
  expect([invoking(true), invoking(false)]).toEqual([["beat"], []]);
});

test("a deployment refuses webhooks to this machine, and more than its environment holds", () => {
  const hook = (url: string) => ({ url, events: ["run.failed"], secret: "HOOK_KEY" }) as const;
  expect(() => planOf({ webhooks: [hook("http://127.0.0.1:3000/in?token=t-1")] }, [])).toThrow(
    /name http:\/\/127\.0\.0\.1:3000, which no deployment can reach$/,
  );
  const many = Array.from({ length: 3 }, (_, n) => hook(`https://hooks.example/${n}${"x".repeat(900)}`));
  expect(() => planOf({ webhooks: many }, [])).toThrow("more than 2000 bytes");
});

test("the limits of 200 tenants are in the bundles and cost no variable", () => {
  const names = namesOf("cairn-dev", { partition: "aws", region: "eu-west-1", account: "1" });
  const limits = Object.fromEntries(
    Array.from({ length: 200 }, (_, index) => [
      `tenant-${index}`,
      { requestsPerMinute: 60, day: { runs: 10, usd: 5 } },
    ]),
  );
  const plan = planOf({ access: { auth: "token", limits } }, []);
  expect(environmentOf("api", { names, plan })["CAIRN_ACCESS"]).toBe('{"auth":"token"}');
});

test("variables that Lambda would not take are refused when planned, with the largest", () => {
  const names = namesOf("cairn-dev", { partition: "aws", region: "eu-west-1", account: "1" });
  const plan = planOf({ deploy: { env: { LONG: "v".repeat(3_000), SHORT: "v".repeat(900) } } }, []);
  expect(() => environmentOf("beat", { names, plan })).toThrow(
    /^the variables of the function beat have 4\d{3} bytes, and Lambda takes 4096. The largest: LONG \(3011\), SHORT \(912\)/,
  );
  expect(() => environmentOf("park", { names, plan })).not.toThrow();
});

test("a policy that IAM would not take is refused when planned", () => {
  const names = namesOf("cairn-dev", { partition: "aws", region: "eu-west-1", account: "111122223333" });
  const secretsNamed = (count: number) => Array.from({ length: count }, (_, index) => `A_SERVICE_TOKEN_${index}`);
  const policyWith = (count: number) => () =>
    refuseTooLongPolicy("beat", statementsOf("beat", names, { secrets: secretsNamed(count), storeKey: undefined }));
  expect(policyWith(60)).not.toThrow();
  expect(policyWith(100)).toThrow(/^the policy of the function beat has \d+ characters, and IAM takes 10240/);
});
