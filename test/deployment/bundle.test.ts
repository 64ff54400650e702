/** What Lambda loads: each function what it needs, and nothing else. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Bundle, FUNCTIONS, bundleFunctions } from "../../infra/bundle.ts";
import { EVENTS, type FunctionKind } from "../../infra/names.ts";
import { gatewayEvent } from "../support/aws/gateway-event.ts";

const ROOT = join(import.meta.dirname, "..", "..");

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly tags?: readonly string[] }>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
  readonly tags?: readonly unknown[];
}

/** The schemas that only the chat protocols use. */
const OF_CHATS = new Set(["ChatHistory", "ChatTurn", "RunAgentInput", "UiMessage"]);

/** What a deployment has of the document: it purges no run, and speaks no chat protocol. */
function deployedPart({ tags: _tags, ...whole }: OpenApi): Omit<OpenApi, "tags"> {
  const { delete: _, ...ofRun } = whole.paths["/runs/{run}"] ?? {};
  const paths = Object.entries(whole.paths).filter(([, methods]) => Object.values(methods).every(({ tags }) => !tags));
  const schemas = Object.entries(whole.components.schemas).filter(([name]) => !OF_CHATS.has(name));
  return {
    ...whole,
    paths: { ...Object.fromEntries(paths), "/runs/{run}": ofRun },
    components: { ...whole.components, schemas: Object.fromEntries(schemas) },
  };
}

const TRAVEL = join(ROOT, "agents", "travel", "agent.ts");

/** The variables of the function of the API. They name no store that exists. */
const ENV = {
  ...{ AWS_REGION: "us-east-1", CAIRN_TABLE: "t", CAIRN_BUCKET: "b", CAIRN_BEAT_SECONDS: "60" },
  ...{ CAIRN_MACHINE: "arn:aws:states:us-east-1:000000000000:stateMachine:m", CAIRN_PARAMETERS: "[]" },
};

const folder = mkdtempSync(join(tmpdir(), "cairn-bundle-"));
const bundles = new Map<string, Bundle>();

beforeAll(async () => {
  const prices = { "model-of-contract-7": { inUsd: 0.125, outUsd: 2 } };
  for (const bundle of await bundleFunctions({ folder, agentFiles: [TRAVEL], prices, eventStreams: true })) {
    bundles.set(bundle.name, bundle);
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

function of(name: FunctionKind): Bundle {
  const found = bundles.get(name);
  if (found === undefined) throw new Error(`${name} was not bundled`);
  return found;
}

const packagesIn = (sources: readonly string[]): ReadonlySet<string> =>
  new Set(sources.flatMap((file) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? []));

const PARAMETERS = "@aws-sdk/client-ssm";
const KEYS = "@aws-sdk/client-kms";
const CLIENTS = ["@aws-sdk/client-dynamodb", "@aws-sdk/client-s3", "@aws-sdk/client-sfn"];

describe("a function", () => {
  test.each([...FUNCTIONS, EVENTS] as const)(
    "%s contains nothing of the embedded world or the command line",
    (name) => {
      const { sources } = of(name);
      expect(sources).toContain("src/adapters/aws/table/dynamo.ts");
      expect(sources.filter((file) => /^src\/(adapters\/(local|memory)|cli|conformance)\//.test(file))).toEqual([]);
    },
  );

  test.each([
    ["beat", 1_121],
    // Its world has the rules of a run, as each world has, though it folds no event (ADR 0170).
    ["start", 830],
    ["api", 1_215],
    ["events", 1_168],
    ["sweep", 803],
    ["cleanup", 610],
    ["park", 400],
  ] as const)("%s starts with at most %i KB", (name, kilobytes) => {
    expect(of(name).startBytes / 1_024).toBeLessThanOrEqual(kilobytes);
    // What would be missing if it were far below.
    expect(of(name).startBytes / 1_024).toBeGreaterThan(200);
  });

  test.each([
    ["beat", [...CLIENTS, KEYS, PARAMETERS, "@aws-sdk/client-lambda"].toSorted()],
    ["start", [...CLIENTS, KEYS, PARAMETERS].toSorted()],
    ["api", [...CLIENTS, KEYS, PARAMETERS].toSorted()],
    ["events", [...CLIENTS, KEYS].toSorted()],
    ["sweep", [...CLIENTS, KEYS, PARAMETERS].toSorted()],
    ["park", ["@aws-sdk/client-dynamodb", "@aws-sdk/client-sfn"]],
    ["cleanup", ["@aws-sdk/client-dynamodb", "@aws-sdk/client-s3"]],
  ] as const)("%s has the clients that it uses", (name, clients) => {
    const packages = packagesIn(of(name).sources);
    expect([...packages].filter((each) => each.startsWith("@aws-sdk/client-")).toSorted()).toEqual(clients);
  });

  test("loads agents and model providers only when a run needs them", () => {
    const { sources, startSources } = of("beat");
    for (const late of ["agents/travel/agent.ts", "src/providers/model.ts", "src/sdk/define.ts"]) {
      expect(sources).toContain(late);
      expect(startSources).not.toContain(late);
    }
    expect(packagesIn(sources)).toContain("@ai-sdk/openai-compatible");
    expect([...packagesIn(startSources)].filter((each) => each.startsWith("@ai-sdk/"))).toEqual([]);
    for (const name of ["park", EVENTS] as const)
      expect(of(name).sources.filter((file) => file.startsWith("agents/"))).toEqual([]);
  });

  test.each(["beat", "start", "api", "sweep"] as const)(
    "%s loads the secrets reader only when there are secrets",
    (name) => {
      expect(packagesIn(of(name).startSources)).not.toContain(PARAMETERS);
    },
  );

  test.each(["beat", "start", "api", "sweep"] as const)("%s loads the key client only when it seals", (name) => {
    expect(packagesIn(of(name).startSources)).not.toContain(KEYS);
  });

  test("that only starts runs and shows them never loads model providers", () => {
    const { sources, startSources } = of("api");
    expect(sources).toContain("agents/travel/agent.ts");
    expect(startSources).not.toContain("agents/travel/agent.ts");
    expect(sources).not.toContain("src/providers/model.ts");
    expect(packagesIn(sources)).not.toContain("@ai-sdk/openai-compatible");
    expect(of("beat").sources.filter((file) => /node_modules\/(hono|@hono)\//.test(file))).toEqual([]);
  });
});

describe("the deployed API", () => {
  /** What its handler answers in a process of its own, where there is no store. */
  function answers(events: readonly object[]): readonly (readonly [status: number, body: Record<string, unknown>])[] {
    const url = JSON.stringify(pathToFileURL(join(of("api").folder, "index.mjs")).href);
    const code = `const { handler } = await import(${url});
      for (const event of ${JSON.stringify(events)}) {
        const { statusCode, body } = await handler(event);
        console.log(JSON.stringify([statusCode, JSON.parse(body)]));
      }`;
    const env = { PATH: process.env["PATH"] ?? "", ...ENV };
    const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", code], {
      env,
      encoding: "utf8",
    });
    expect(stderr).toBe("");
    return stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  }

  test("responds to health, describes itself, and validates an input with the agent's own schema", () => {
    const start = (body: object) => gatewayEvent({ method: "POST", path: "/runs", body: JSON.stringify(body) });
    const [health, described, nobody, unknown, invalid] = answers([
      gatewayEvent({ path: "/healthz", resource: "/healthz", userArn: null }),
      gatewayEvent({ path: "/openapi.json" }),
      gatewayEvent({ path: "/openapi.json", userArn: null }),
      start({ agent: "constructor" }),
      start({ agent: "travel", input: { to: 7 } }),
    ]);
    expect(health).toEqual([200, { status: "ok" }]);
    const whole = JSON.parse(readFileSync(join(ROOT, "docs", "openapi.json"), "utf8")) as OpenApi;
    expect(described).toEqual([200, deployedPart(whole)]);
    expect(nobody).toMatchObject([401, { code: "Unauthenticated" }]);
    expect(unknown).toMatchObject([404, { code: "AgentUnknown" }]);
    expect(invalid).toMatchObject([422, { code: "InputInvalid", errors: expect.anything() }]);
  });
});

test("the deployed function of streams answers on the stream of Lambda's runtime", () => {
  const [runtime, own] = [join(ROOT, "test/support/aws/lambda-streams.ts"), join(of(EVENTS).folder, "index.mjs")];
  const [runtimeUrl, ownUrl] = [runtime, own].map((file) => JSON.stringify(pathToFileURL(file).href));
  const at = { path: "/runs/local-x/events", resource: "/runs/{run}/events", pathParameters: { run: "local-x" } };
  const event = gatewayEvent({ ...at, headers: { Accept: "text/event-stream" }, userArn: null });
  const code = `import { LAMBDA_RUNTIME, invoke } from ${runtimeUrl};
    globalThis.awslambda = LAMBDA_RUNTIME;
    const { handler } = await import(${ownUrl});
    const { response } = invoke(handler, { event: ${JSON.stringify(event)}, leftMs: () => 30_000 });
    const { status, text } = await response();
    console.log(JSON.stringify([status, JSON.parse(text).code]));`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", code], {
    env: { PATH: process.env["PATH"] ?? "", ...ENV },
    encoding: "utf8",
  });
  expect({ stderr, stdout: stdout.trim() }).toEqual({ stderr: "", stdout: '[401,"Unauthenticated"]' });
});

describe("a bundled agent", () => {
  const agent = (name: string, more = "") => `
    import { defineAgent, scriptedModel } from "cairn-run";
    import { z } from "zod";
    ${more}
    export const one = defineAgent({
      name: "${name}", version: "1", instructions: "", task: z.object({}), tools: {},
      model: scriptedModel({ name: "m", reply: () => ({ text: "" }) }), price: { inUsd: 1, outUsd: 1 },
    });`;

  function file(name: string, text: string): string {
    const path = join(folder, `${name}.ts`);
    writeFileSync(path, text);
    return path;
  }

  test("is refused when two have one name", async () => {
    const agentFiles = [file("a", agent("twin")), file("b", agent("twin"))];
    await expect(bundleFunctions({ folder: join(folder, "twins"), agentFiles })).rejects.toThrow(
      "two agents are named twin",
    );
  });

  test("is refused when a child tool of it names no agent of the deployment", async () => {
    const ask = `childTool({ agent: "wroker", description: "", input: z.object({}), budget: { beats: 1 } })`;
    const boss = agent("boss", `import { childTool } from "cairn-run";`).replace("tools: {}", `tools: { ask: ${ask} }`);
    const agentFiles = [file("boss", boss), file("worker", agent("worker"))];
    await expect(bundleFunctions({ folder: join(folder, "bosses"), agentFiles })).rejects.toThrow(
      "child tool ask dispatches runs of agent wroker, which does not exist; the agents are: boss, worker",
    );
  });

  test("with a budget of money is refused when its model has no price", async () => {
    const blind = agent("blind").replace("price: { inUsd: 1, outUsd: 1 }", "budget: { usd: 1 }");
    const agentFiles = [file("blind", blind)];
    await expect(bundleFunctions({ folder: join(folder, "blind"), agentFiles })).rejects.toThrow(
      "a budget of money and no price",
    );
  });

  test("is charged by the prices of the config in the function of beats, and no other function contains them", () => {
    const holding = FUNCTIONS.filter((name) => {
      const { folder: own, files } = of(name);
      return files.some((each) => readFileSync(join(own, each), "utf8").includes("model-of-contract-7"));
    });
    expect(holding).toEqual(["beat"]);
  });

  test("that is isolated is alone in its function of beats, and with all others in every other function", async () => {
    const agentFiles = [file("left", agent("left", "globalThis.fromLeft = 1;")), file("right", agent("right"))];
    const isolated = ["left", "right"];
    const made = await bundleFunctions({ folder: join(folder, "isolated"), agentFiles, isolated });
    const agentsIn = ({ sources }: Bundle) =>
      sources.flatMap((path) => /(left|right)\.ts$/.exec(path)?.[1] ?? []).toSorted();
    const found = Object.fromEntries(made.map((each) => [each.name, agentsIn(each)]));
    const [left, right, none] = [["left"], ["right"], []];
    expect(found).toEqual({
      ...{ beat: isolated, start: isolated, api: isolated, beat_left: left, beat_right: right },
      ...{ park: none, sweep: none, cleanup: none },
    });
    const holding = made.filter(({ folder: own, files }) =>
      files.some((each) => readFileSync(join(own, each), "utf8").includes("fromLeft")),
    );
    expect(holding.map(({ name }) => name).toSorted()).toEqual(["api", "beat", "beat_left", "start"]);
    const digests = new Map(made.map(({ name, digest }) => [name, digest]));
    expect(digests.get("beat_left")).not.toBe(digests.get("beat_right"));
  });

  test("contains the languages of zod if it uses any", async () => {
    const speaksGerman = ({ folder: own, files }: Bundle): boolean =>
      files.some((each) => readFileSync(join(own, each), "utf8").includes("ltige Eingabe"));
    const agentFiles = [file("german", agent("german", "z.config(z.locales.de());"))];
    const functions = ["beat"] as const;
    const [beat] = await bundleFunctions({ folder: join(folder, "german"), agentFiles, functions });
    expect(beat && speaksGerman(beat)).toBe(true);
    expect(speaksGerman(of("beat"))).toBe(false);
  });
});
