/** `deploy.console`: the route of the page, its files in the function of the API, and that all else stays as it was. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Bundle, bundleFunctions } from "../../infra/bundle.ts";
import { type Capture, type Resource, capture } from "../../infra/capture.ts";
import type { CairnOptions } from "../../infra/options.ts";
import type { Plan } from "../../infra/plan.ts";
import { kindOf } from "../../localstack/apply.ts";
import { builtConsole } from "../../src/server/built-console.ts";
import { gatewayEvent } from "../support/aws/gateway-event.ts";
import { PLACE, deployed } from "./deployed.ts";

const STAGE = "dev";
const { plan: byIam, names } = deployed(STAGE);
const token: Plan = { ...byIam, access: { auth: "token" } };
const withConsole = (plan: Plan): Plan => ({ ...plan, options: { ...plan.options, console: true } });

const captured = (plan: Plan, options: CairnOptions = {}) =>
  capture({ plan, app: "cairn", stage: STAGE, place: PLACE, options });

describe("the resources", () => {
  let before: Capture;
  let after: Capture;

  beforeAll(async () => {
    [before, after] = await Promise.all([captured(token), captured(withConsole(token))]);
  });

  const inputsOf = ({ resources }: Capture, type: string): readonly Resource["inputs"][] =>
    resources.filter((each) => each.type === `aws:apigateway/${type}`).map(({ inputs }) => inputs);

  test("are those of a deployment without it, and one route at the root, which any caller may ask", () => {
    const namesIn = ({ resources }: Capture): readonly string[] => resources.map(({ type, name }) => `${type} ${name}`);
    const added = namesIn(after).filter((each) => !namesIn(before).includes(each));
    expect(namesIn(before).filter((each) => !namesIn(after).includes(each))).toEqual([]);
    expect(
      added.map((each) => each.split(" ").at(0)).toSorted((one, other) => String(one).localeCompare(String(other))),
    ).toEqual([
      "aws:apigateway/integration:Integration",
      "aws:apigateway/method:Method",
      "aws:lambda/permission:Permission",
    ]);
    const resourceId = "@{GatewayApi.rootResourceId}";
    const method = inputsOf(after, "method:Method").find((each) => each["resourceId"] === resourceId);
    expect(method).toMatchObject({ httpMethod: "GET", authorization: "NONE" });
    const route = inputsOf(after, "integration:Integration").find((each) => each["resourceId"] === resourceId);
    expect(String(route?.["uri"])).toContain(`${names.functionArn("api")}/`);
  });

  test("have nothing that a stranger may read besides: no bucket is public, and no other origin may ask", () => {
    const said = JSON.stringify(after.resources);
    expect(said).not.toMatch(/websiteConfiguration|cloudfront|allow_?origin/i);
    const blocks = after.resources.filter(({ type }) => type.includes("PublicAccessBlock")).map(({ inputs }) => inputs);
    expect(blocks.length).toBeGreaterThan(0);
    for (const block of blocks) expect(block).toMatchObject({ blockPublicAcls: true, restrictPublicBuckets: true });
  });

  test("can be applied to LocalStack", () => {
    const known = after.resources.filter((each) => kindOf(each) !== null);
    expect(known.length).toBeGreaterThan(40);
    for (const each of known) expect(() => kindOf(each)?.check(each.inputs), each.name).not.toThrow();
  });
});

test("is refused before anything is described where a browser could not sign its requests", async () => {
  await expect(captured(withConsole(byIam))).rejects.toThrow("a browser cannot sign requests for IAM");
  await expect(captured(withConsole(token), { api: false })).rejects.toThrow("and api is false: take one out");
});

describe("the function of the API", () => {
  const folder = mkdtempSync(join(tmpdir(), "cairn-console-"));
  const bundles = new Map<string, Bundle>();

  beforeAll(async () => {
    for (const bundle of await bundleFunctions({ folder, agentFiles: [], console: true }))
      bundles.set(bundle.name, bundle);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  /** What the handler answers in a process of its own, where there is no store. */
  function answers(paths: readonly string[]): readonly (readonly [status: number, body: string])[] {
    const url = JSON.stringify(pathToFileURL(join(folder, "api", "index.mjs")).href);
    const events = paths.map((path) =>
      gatewayEvent({ path, resource: path === "/" ? "/" : "/{proxy+}", pathParameters: {}, userArn: null }),
    );
    const code = `const { handler } = await import(${url});
      for (const event of ${JSON.stringify(events)}) {
        const { statusCode, body } = await handler(event);
        console.log(JSON.stringify([statusCode, body]));
      }`;
    const env = {
      ...{ PATH: process.env["PATH"] ?? "", AWS_REGION: "us-east-1", CAIRN_TABLE: "t", CAIRN_BUCKET: "b" },
      ...{ CAIRN_BEAT_SECONDS: "60", CAIRN_PARAMETERS: "[]", CAIRN_ACCESS: '{"auth":"token"}' },
      CAIRN_MACHINE: "arn:aws:states:us-east-1:000000000000:stateMachine:m",
    };
    const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", code], {
      ...{ env, encoding: "utf8", maxBuffer: 8_000_000 },
    });
    expect(stderr).toBe("");
    return stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  }

  test("answers with the files of the package as they are, and asks for a token for all else", async () => {
    const built = await builtConsole();
    const page = readFileSync(join(built, "index.html"), "utf8");
    const linked = [...page.matchAll(/(?:src|href)="\.\/(console\/[^"]+)"/g)].map(([, file]) => String(file));
    expect(linked.length).toBeGreaterThanOrEqual(3);
    const [root, runs, ...files] = answers(["/", "/runs", ...linked.map((file) => `/${file}`)]);
    expect(root).toEqual([200, page]);
    expect(runs?.[0]).toBe(401);
    expect(files).toEqual(linked.map((file) => [200, readFileSync(join(built, file), "utf8")]));
  });

  test("alone has them, and reads them when a browser asks and not when it starts", () => {
    const holds = (file: string): boolean => readFileSync(file, "utf8").includes("<!doctype html>");
    const holding = [...bundles.values()].flatMap(({ name, folder: own, files }) =>
      files.filter((file) => holds(join(own, file))).map((file) => [name, file] as const),
    );
    expect(holding).toEqual([["api", expect.stringMatching(/^(?!index\.mjs$)/)]]);
    expect((bundles.get("api")?.startBytes ?? Infinity) / 1_024).toBeLessThanOrEqual(1_210);
  });
});
