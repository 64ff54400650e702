/** The functions: each is given what it reads, keeps its logs for a time, and lives as long as the machine believes. */
import { describe, expect, inject, test } from "vitest";
import { type DeployedFunction, FUNCTIONS, agentFunction } from "../../infra/names.ts";
import { functionsOf, secondsOf } from "../../infra/plan.ts";
import { readsIn, readsOf } from "../support/environment.ts";
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
  test.each([...FUNCTIONS, agentFunction("teller")])("%s is what it reads, and nothing else", (fn) => {
    const reads = [...readsOf(bundleOf(fn))];
    expect(reads).toContain("CAIRN_TABLE");
    const { TRAVEL_PACE: _, ...given } = functionOf("production", fn).environment.variables;
    expect(Object.keys(given).toSorted()).toEqual(reads.toSorted());
    if (fn === "beat_teller") return;
    // A deployment that seals nothing is told nothing of seals.
    const without = reads.filter((name) => !name.startsWith("CAIRN_SEAL"));
    expect(Object.keys(functionOf("dev", fn).environment.variables).toSorted()).toEqual(without.toSorted());
  });

  test.each(FUNCTIONS)("%s has what agents read if it loads agents", (fn) => {
    const loadsAgents = bundleOf(fn).sources.some((path) => path.startsWith("agents/"));
    expect("TRAVEL_PACE" in functionOf("production", fn).environment.variables).toBe(loadsAgents);
  });

  test("holds the names of one deployment", () => {
    const { names, plan } = deployed("production");
    expect(functionOf("production", "beat").environment.variables).toEqual({
      ...{ CAIRN_TABLE: names.prefix, CAIRN_BUCKET: names.bucket, CAIRN_MACHINE: names.machineArn },
      ...{ CAIRN_BEAT_SECONDS: String(plan.beatSeconds), CAIRN_LIMITS: "{}" },
      ...{ CAIRN_PARAMETERS: '["AIRLINE_TOKEN","CARD_KEY"]', TRAVEL_PACE: "0" },
      ...{ CAIRN_SEAL_KMS_KEY: plan.options.seal?.kmsKey, CAIRN_SEAL: "required" },
    });
  });

  test("of an agent names the secrets of this agent only", () => {
    const { CAIRN_PARAMETERS, ...own } = functionOf("production", "beat_teller").environment.variables;
    const { CAIRN_PARAMETERS: _, ...shared } = functionOf("production", "beat").environment.variables;
    expect([CAIRN_PARAMETERS, own]).toEqual(['["CARD_KEY"]', shared]);
  });

  test("is told from names that are only mentioned", () => {
    const text = 'const a = process.env["ONE"]; named("TWO"); say("THREE"); // and FOUR\nrenamed("FIVE")';
    expect(readsIn(text)).toEqual(["ONE", "TWO"]);
  });
});

describe.each(STAGES)("in %s", (stage) => {
  const on = deployed(stage);

  test.each(functionsOf(on.plan))("%s is what Lambda runs", (fn) => {
    const { names, plan } = on;
    expect(functionOf(stage, fn)).toMatchObject({
      ...{ architectures: ["arm64"], runtime: "nodejs24.x", handler: "index.handler", packageType: "Zip" },
      ...{ role: `arn:aws:iam::123456789012:role/${names.functionName(fn)}`, timeout: secondsOf(fn, plan) },
      ...{ loggingConfig: { logFormat: "JSON", logGroup: names.logGroup(fn) } },
    });
    expect(on.one("cloudwatch/logGroup:LogGroup", { name: names.logGroup(fn) })).toMatchObject({
      retentionInDays: 30,
    });
  });

  test("concurrency is reserved only where that is asked for: an account whose limit is 10 refuses it", () => {
    const reserved = on.all("lambda/function:Function").flatMap(({ inputs }) => {
      const { name, reservedConcurrentExecutions: count } = inputs;
      return count === undefined ? [] : [[name, count]];
    });
    const asked = [
      ["api", 10],
      ["beat", 20],
      ["beat_teller", 20],
      ["beat_travel", 20],
      ["park", 5],
      ["sweep", 2],
    ] as const;
    expect(reserved).toEqual(stage === "dev" ? [] : asked.map(([fn, most]) => [on.names.functionName(fn), most]));
  });

  test("a deployment gives all new runs to its version, unless a person does that by hand", () => {
    const aliases = on.all("lambda/alias:Alias");
    const beats = functionsOf(on.plan).filter((fn) => fn.startsWith("beat"));
    expect(aliases.map(({ inputs }) => String(inputs["functionName"])).toSorted()).toEqual(
      beats.map(on.names.functionName).toSorted(),
    );
    for (const { inputs, ignored } of aliases) {
      expect(inputs).toMatchObject({ name: "live", functionVersion: expect.stringMatching(/^@\{Beat\w*\.version\}$/) });
      // No new run begins in the function that isolated agents share.
      const isByHand = stage === "production" && inputs["functionName"] !== on.names.functionName("beat");
      expect(ignored).toEqual(isByHand ? ["functionVersion", "routingConfig"] : []);
    }
  });

  test("the shared function goes live after those of agents: a run that waits for a new agent goes on in its own", () => {
    const lives = on.resources.filter(({ type }) => type === "aws:lambda/alias:Alias").map(({ name }) => name);
    expect(lives).toHaveLength(1 + on.plan.isolated.length);
    expect(lives.at(-1)).toBe("BeatLive");
  });

  test("none has an address of its own", () => {
    expect(on.all("lambda/functionUrl:FunctionUrl")).toEqual([]);
    const callers = on
      .all("lambda/permission:Permission")
      .map(({ inputs }) => [inputs["principal"], inputs["function"]]);
    expect(new Set(callers.map(String))).toEqual(new Set([`apigateway.amazonaws.com,${on.names.functionArn("api")}`]));
  });
});
