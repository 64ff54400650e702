/** The functions: environment, log retention, timeouts and concurrency. */
import { describe, expect, inject, test } from "vitest";
import { FUNCTIONS, type FunctionName } from "../../infra/names.ts";
import { secondsOf } from "../../infra/plan.ts";
import { readsIn, readsOf } from "../support/environment.ts";
import { type Inputs, type Stage, STAGES, deployed } from "./deployed.ts";

interface Fn extends Inputs {
  readonly environment: { readonly variables: Readonly<Record<string, string>> };
  readonly loggingConfig: { readonly logGroup: string };
}

const bundleOf = (fn: FunctionName) => {
  const found = inject("deployed").bundles.find(({ name }) => name === fn);
  if (found === undefined) throw new Error(`${fn} was not bundled`);
  return found;
};

const functionOf = (stage: Stage, fn: FunctionName): Fn => {
  const { one, names } = deployed(stage);
  return one("lambda/function:Function", { name: names.functionName(fn) }) as Fn;
};

describe("the environment of a function", () => {
  test.each(FUNCTIONS)("%s contains exactly the variables that it reads", (fn) => {
    const reads = [...readsOf(bundleOf(fn))];
    expect(reads).toContain("CAIRN_TABLE");
    const { TRAVEL_PACE: _, ...given } = functionOf("production", fn).environment.variables;
    expect(Object.keys(given).toSorted()).toEqual(reads.toSorted());
    // A deployment without seals gets no variables about seals.
    const without = reads.filter((name) => !name.startsWith("CAIRN_SEAL"));
    expect(Object.keys(functionOf("dev", fn).environment.variables).toSorted()).toEqual(without.toSorted());
  });

  test.each(FUNCTIONS)("%s contains the agents' variables if it loads agents", (fn) => {
    const loadsAgents = bundleOf(fn).sources.some((path) => path.startsWith("agents/"));
    expect("TRAVEL_PACE" in functionOf("production", fn).environment.variables).toBe(loadsAgents);
  });

  test("contains the names of only one deployment", () => {
    const { names, plan } = deployed("production");
    expect(functionOf("production", "beat").environment.variables).toEqual({
      ...{ CAIRN_TABLE: names.prefix, CAIRN_BUCKET: names.bucket, CAIRN_MACHINE: names.machineArn },
      ...{ CAIRN_BEAT_SECONDS: String(plan.beatSeconds), CAIRN_LIMITS: "{}" },
      ...{ CAIRN_PARAMETERS: '["AIRLINE_TOKEN","CARD_KEY"]', TRAVEL_PACE: "0" },
      ...{ CAIRN_SEAL_KMS_KEY: plan.options.seal?.kmsKey, CAIRN_SEAL: "required" },
    });
  });

  test("is distinguished from names that the code only mentions", () => {
    const text = 'const a = process.env["ONE"]; named("TWO"); say("THREE"); // and FOUR\nrenamed("FIVE")';
    expect(readsIn(text)).toEqual(["ONE", "TWO"]);
  });
});

describe.each(STAGES)("in %s", (stage) => {
  const on = deployed(stage);

  test.each(FUNCTIONS)("%s has the handler, runtime and timeout that Lambda needs", (fn) => {
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

  test("concurrency is reserved only on request, because an account with a limit of 10 refuses it", () => {
    const reserved = on.all("lambda/function:Function").flatMap(({ inputs }) => {
      const { name, reservedConcurrentExecutions: count } = inputs;
      return count === undefined ? [] : [[name, count]];
    });
    const asked = [
      ["api", 10],
      ["beat", 20],
      ["park", 5],
      ["sweep", 2],
    ] as const;
    expect(reserved).toEqual(stage === "dev" ? [] : asked.map(([fn, most]) => [on.names.functionName(fn), most]));
  });

  test("a deployment gives all new runs to its version unless the rollout is by hand", () => {
    const [alias] = on.all("lambda/alias:Alias");
    expect(alias?.inputs).toMatchObject({ name: "live", functionName: on.names.functionName("beat") });
    expect(alias?.ignored).toEqual(stage === "production" ? ["functionVersion", "routingConfig"] : []);
  });

  test("no function has a URL", () => {
    expect(on.all("lambda/functionUrl:FunctionUrl")).toEqual([]);
    const callers = on
      .all("lambda/permission:Permission")
      .map(({ inputs }) => [inputs["principal"], inputs["function"]]);
    expect(new Set(callers.map(String))).toEqual(new Set([`apigateway.amazonaws.com,${on.names.functionArn("api")}`]));
  });
});
