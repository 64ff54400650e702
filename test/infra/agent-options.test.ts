/** The options of `cairn()` in an `sst.config.ts`: for which function each holds, and what is refused with its path. */
import { describe, expect, test } from "vitest";
import { agentOptionsOf, checkOptions } from "../../infra/agent-options.ts";
import type { CairnOptions } from "../../infra/options.ts";
import { type Plan, planOf } from "../../infra/plan.ts";

const AGENTS = ["teller", "clerk"].map((agent) => ({ agent, secrets: [] }));
const two = planOf({}, [], { agents: AGENTS });
const shared = planOf({ deploy: { isolation: "none" } }, [], { agents: AGENTS });
const one = planOf({}, [], { agents: AGENTS.slice(0, 1) });

const OPTIONS: CairnOptions = {
  env: { PLACE: "shop", TONE: "kind" },
  memoryMb: 1_024,
  agents: { teller: { env: { TONE: "strict" }, memoryMb: 2_048, layers: ["arn:layer"] } },
};

describe("an option of one agent", () => {
  test("holds in its own function, over that of the component", () => {
    expect(agentOptionsOf("beat_teller", OPTIONS, two)).toEqual({
      ...{ env: { PLACE: "shop", TONE: "strict" }, memoryMb: 2_048, layers: ["arn:layer"], permissions: [] },
    });
    const ofAll = { env: { PLACE: "shop", TONE: "kind" }, memoryMb: 1_024, layers: [], permissions: [] };
    expect(agentOptionsOf("beat_clerk", OPTIONS, two)).toEqual(ofAll);
    expect(agentOptionsOf("beat", OPTIONS, two)).toEqual(ofAll);
  });

  test("holds in the only function of beats if the deployment has one agent", () => {
    expect(agentOptionsOf("beat", OPTIONS, one)).toMatchObject({ memoryMb: 2_048, layers: ["arn:layer"] });
  });

  test("holds in no function that runs no beats", () => {
    expect(agentOptionsOf("sweep", OPTIONS, two)).toEqual({});
  });
});

describe("an option is refused with what to write instead", () => {
  test.each<[CairnOptions, string | RegExp]>([
    [{ agents: { guest: {} } }, "agents.guest names no agent of cairn.config.ts, which has teller, clerk"],
    [{ memoryMb: 128 }, "memoryMb is 128: write a whole number from 256 to 10240"],
    [{ agents: { clerk: { memoryMb: 0.5 } } }, "agents.clerk.memoryMb is 0.5"],
    [{ env: { CAIRN_TABLE: "another" } }, /^env\.CAIRN_TABLE: .+reserved$/],
    [{ agents: { clerk: { env: { lower: "x" } } } }, "agents.clerk.env.lower: write capitals"],
    [{ table: "a table" }, "table is a table: write the name or the ARN of a DynamoDB table"],
    [{ bucket: "Bucket" }, "bucket is Bucket: write the name or the ARN of an S3 bucket"],
    [{ kmsKey: "alias/cairn" }, "kmsKey is alias/cairn: write the ARN of a KMS key"],
    [{ domain: "agents.example.org", api: false }, "domain is of the API, and api is false"],
  ])("%j", (options, why) => {
    expect(() => checkOptions(options, two)).toThrow(why);
  });

  test("those of an agent that shares its function", () => {
    expect(() => checkOptions(OPTIONS, shared)).toThrow('take deploy.isolation: "none" out of cairn.config.ts');
    expect(() => checkOptions(OPTIONS, two)).not.toThrow();
  });

  test("the console, where a browser could not sign its requests, or there is no API", () => {
    const { options, ...rest } = one;
    const shown = (access: Plan["access"]): Plan => ({ ...rest, access, options: { ...options, console: true } });
    for (const access of [{}, { auth: "iam" }] as const)
      expect(() => checkOptions({}, shown(access))).toThrow(
        'a browser cannot sign requests for IAM: write access: { auth: "token" } in cairn.config.ts',
      );
    expect(() => checkOptions({ access: { auth: "iam" } }, shown({ auth: "token" }))).toThrow("cannot sign");
    expect(() => checkOptions({ api: false }, shown({ auth: "token" }))).toThrow(
      "deploy.console of cairn.config.ts is shown by the API, and api is false: take one out",
    );
    expect(() => checkOptions({}, shown({ auth: "token" }))).not.toThrow();
    expect(() => checkOptions({ access: { auth: "token" } }, shown({}))).not.toThrow();
  });

  test("a second table beside a restored one", () => {
    const restored = planOf({ deploy: { tableName: "shop-restored" } }, [], { agents: AGENTS });
    expect(() => checkOptions({ table: "shop" }, restored)).toThrow("two tables: shop in cairn(), and");
  });
});
