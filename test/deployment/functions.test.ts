/** The functions: each is given what it reads, keeps its logs for a time, and lives as long as the machine believes. */
import { describe, expect, inject, test } from "vitest";
import { type DeployedFunction, FUNCTIONS, agentFunction } from "../../infra/names.ts";
import { functionsOf, secondsOf } from "../../infra/plan.ts";
import { environmentReadsIn, environmentReadsOf } from "../support/aws/environment-reads.ts";
import { type Inputs, type Stage, STAGES, deployed } from "./deployed.ts";

interface Fn extends Inputs {
  readonly environment: { readonly variables: Readonly<Record<string, string>> };
  readonly loggingConfig: { readonly logGroup: string };
}

const bundleOf = (fn: DeployedFunction) => {
  const found = inject("deployed").bundles.find(({ name }) => name === fn);
  if (found === undefined) throw new Error(`${fn} was not bundled`);
  return found;
};

const functionOf = (stage: Stage, fn: DeployedFunction): Fn => {
  const { one, names } = deployed(stage);
  return one("lambda/function:Function", { name: names.functionName(fn) }) as Fn;
};

describe("the environment of a function", () => {
  test.each([...FUNCTIONS, agentFunction("teller")])(
    "%s contains exactly the variables that the function reads",
    (fn) => {
      const reads = [...environmentReadsOf(bundleOf(fn))];
      expect(reads).toContain("CAIRN_TABLE");
      const { TRAVEL_PACE: _, ...given } = functionOf("production", fn).environment.variables;
      expect(Object.keys(given).toSorted()).toEqual(reads.toSorted());
      if (fn === "beat_teller") return;
      // A deployment is told nothing of seals, shards, logins and webhooks if it has none of its own.
      const optional = /^CAIRN_(SEAL|SEAL_KMS_KEY|STATUS_SHARDS|ACCESS|WEBHOOKS|SWEEP)$/;
      const isNeeded = (name: string): boolean => fn !== "sweep" || name !== "CAIRN_PARAMETERS";
      const without = reads.filter((name) => !optional.test(name) && isNeeded(name));
      expect(Object.keys(functionOf("dev", fn).environment.variables).toSorted()).toEqual(without.toSorted());
    },
  );

  test.each(FUNCTIONS)("%s contains the variables that agents read when it loads agents", (fn) => {
    const loadsAgents = bundleOf(fn).sources.some((path) => path.startsWith("agents/"));
    expect("TRAVEL_PACE" in functionOf("production", fn).environment.variables).toBe(loadsAgents);
  });

  test("contains the names of one deployment", () => {
    const { names, plan } = deployed("production");
    expect(functionOf("production", "beat").environment.variables).toEqual({
      ...{ CAIRN_TABLE: names.prefix, CAIRN_BUCKET: names.bucket, CAIRN_MACHINE: names.machineArn },
      ...{ CAIRN_BEAT_SECONDS: String(plan.beatSeconds), CAIRN_LIMITS: '{"openParkMs":2700000}' },
      ...{ CAIRN_PARAMETERS: '["AIRLINE_TOKEN","CARD_KEY"]', TRAVEL_PACE: "0" },
      ...{ CAIRN_SEAL_KMS_KEY: plan.options.seal?.kmsKey, CAIRN_SEAL: "required", CAIRN_STATUS_SHARDS: "4" },
      ...{ CAIRN_WEBHOOKS: JSON.stringify(plan.webhooks), CAIRN_SWEEP: names.functionName("sweep") },
    });
  });

  test("of an agent names only the secrets of this agent", () => {
    const { CAIRN_PARAMETERS, ...own } = functionOf("production", "beat_teller").environment.variables;
    const { CAIRN_PARAMETERS: _, ...shared } = functionOf("production", "beat").environment.variables;
    expect({ CAIRN_PARAMETERS, own }).toEqual({ CAIRN_PARAMETERS: '["CARD_KEY"]', own: shared });
  });

  test("is distinguished from variables that are only mentioned", () => {
    const text = 'const a = process.env["ONE"]; named("TWO"); say("THREE"); // and FOUR\nrenamed("FIVE")';
    expect(environmentReadsIn(text)).toEqual(["ONE", "TWO"]);
  });
});

describe.each(STAGES)("in %s", (stage) => {
  const deployment = deployed(stage);

  test.each(functionsOf(deployment.plan))("%s has the settings that Lambda needs", (fn) => {
    const { names, plan } = deployment;
    expect(functionOf(stage, fn)).toMatchObject({
      ...{ architectures: ["arm64"], runtime: "nodejs24.x", handler: "index.handler", packageType: "Zip" },
      ...{ role: `arn:aws:iam::123456789012:role/${names.functionName(fn)}`, timeout: secondsOf(fn, plan) },
      ...{ loggingConfig: { logFormat: "JSON", logGroup: names.logGroup(fn) } },
    });
    expect(deployment.one("cloudwatch/logGroup:LogGroup", { name: names.logGroup(fn) })).toMatchObject({
      retentionInDays: 30,
    });
  });

  test("concurrency is reserved only when requested: an account with a limit of 10 refuses it", () => {
    const reserved = deployment.all("lambda/function:Function").flatMap(({ inputs }) => {
      const { name, reservedConcurrentExecutions: count } = inputs;
      return count === undefined ? [] : [[name, count]];
    });
    const asked = [
      ["api", 10],
      ["beat", 20],
      ["beat_teller", 3],
      ["beat_travel", 20],
      ["park", 5],
      ["sweep", 2],
    ] as const;
    expect(reserved).toEqual(
      stage === "dev" ? [] : asked.map(([fn, most]) => [deployment.names.functionName(fn), most]),
    );
  });

  test("a deployment gives all new runs to its version, unless an operator does that by hand", () => {
    const aliases = deployment.all("lambda/alias:Alias");
    const beats = functionsOf(deployment.plan).filter((fn) => fn.startsWith("beat"));
    expect(aliases.map(({ inputs }) => String(inputs["functionName"])).toSorted()).toEqual(
      beats.map(deployment.names.functionName).toSorted(),
    );
    for (const { inputs, ignored } of aliases) {
      expect(inputs).toMatchObject({ name: "live", functionVersion: expect.stringMatching(/^@\{Beat\w*\.version\}$/) });
      // No new run begins in the function that isolated agents share.
      const isByHand = stage === "production" && inputs["functionName"] !== deployment.names.functionName("beat");
      expect(ignored).toEqual(isByHand ? ["functionVersion", "routingConfig"] : []);
    }
  });

  test("the shared function goes live after those of agents, so that waiting runs continue in their agent's function", () => {
    const lives = deployment.resources.filter(({ type }) => type === "aws:lambda/alias:Alias").map(({ name }) => name);
    expect(lives).toHaveLength(1 + deployment.plan.isolated.length);
    expect(lives.at(-1)).toBe("BeatLive");
  });

  test("no function has a URL of its own", () => {
    expect(deployment.all("lambda/functionUrl:FunctionUrl")).toEqual([]);
    const callers = deployment
      .all("lambda/permission:Permission")
      .map(({ inputs }) => [inputs["principal"], inputs["function"]]);
    expect(new Set(callers.map(String))).toEqual(
      new Set([`apigateway.amazonaws.com,${deployment.names.functionArn("api")}`]),
    );
  });
});
