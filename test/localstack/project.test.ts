/**
 * A project outside of the repository, made by `cairn init` and with the packed package only, is deployed by its own
 * `sst.config.ts`, with a component of its own for each template. Runs that HTTP starts complete there.
 */
import { execFileSync, spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { DescribeTableCommand } from "@aws-sdk/client-dynamodb";
import { CreateKeyCommand } from "@aws-sdk/client-kms";
import { GetBucketEncryptionCommand } from "@aws-sdk/client-s3";
import { componentPrefix } from "../../infra/names.ts";
import { KEYS, clientsOf } from "../../localstack/clients.ts";
import { type Deployment, deployProject } from "../../localstack/deploy.ts";
import { PLACE } from "../../localstack/place.ts";
import { EVERY_ENTRY_POINT } from "../support/bundles/every-entry-point.ts";
import { LIMITS } from "../support/gate/limits.ts";
import { until } from "./lane.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const { url, files } = inject("stacks");
const STAGE = { app: "my-shop", stage: "lane" };
const [OFFICE, WAREHOUSE] = [join(files, "office"), join(files, "warehouse")];
const SDK_KEYS = { AWS_ACCESS_KEY_ID: KEYS.accessKeyId, AWS_SECRET_ACCESS_KEY: KEYS.secretAccessKey };
const SIGNED = {
  authorization:
    "AWS4-HMAC-SHA256 Credential=test/20270101/us-east-1/execute-api/aws4_request, SignedHeaders=host, Signature=0",
};

const dir = mkdtempSync(join(tmpdir(), "cairn-project-"));
const project = join(dir, "my shop");
const clients = clientsOf(url);
/** The ARN of a key of the account. */
let key: string;
let deployed: Readonly<Record<string, Deployment>>;

/** The templates besides the one at the top of the project, each in a folder with a config of its own. */
const MORE = { Digests: "scheduled", Orders: "orders" } as const;

/** The callers of the second component have tokens. The stores of the third one are encrypted with that key. */
const sstConfig = (kmsKey: string): string => `/// <reference path="./.sst/platform/config.d.ts" />
export default $config({
  app: () => ({ name: "my-shop", home: "aws" }),
  async run() {
    const { cairn } = await import("cairn-run/sst");
    return {
      Agents: await cairn("Agents"),
      Digests: await cairn("Digests", { config: "scheduled", alarms: false, access: { auth: "token" } }),
      Orders: await cairn("Orders", { config: "orders", alarms: false, kmsKey: "${kmsKey}" }),
    };
  },
});
`;

beforeAll(async () => {
  const packages = execFileSync(process.execPath, ["scripts/built.ts"], { cwd: ROOT, encoding: "utf8" }).trim();
  const built = join(packages, "cairn-run");
  const tarball = npm(dir, "pack", built).trim();
  const init = (...words: readonly string[]): void =>
    void execFileSync(process.execPath, [join(built, "dist", "cli", "main.js"), "init", "--aws", ...words]);
  init(project);
  for (const template of Object.values(MORE)) init(join(project, template), "--template", template);
  npm(project, "install", join(dir, tarball), ...OPTIONAL_PACKAGES);
  addAgentOfEveryEntryPoint();
  const { KeyMetadata } = await clients.keys.send(new CreateKeyCommand({}));
  key = KeyMetadata?.Arn ?? "";
  writeFileSync(join(project, "sst.config.ts"), sstConfig(key));
  signRequests(join(project, "node_modules", "cairn-run", "dist", "functions"));
  deployed = await deployProject({ ...STAGE, url, project, env: { OFFICE, WAREHOUSE } });
}, 2 * LIMITS.sceneMs);

afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** What some entry points of the package need. */
const OPTIONAL_PACKAGES = [
  "@langchain/core",
  "@langchain/langgraph-checkpoint",
  "@modelcontextprotocol/server",
] as const;

/** Beside the agent of the template, the project has one that imports all of the package that a function can use. */
function addAgentOfEveryEntryPoint(): void {
  const [config, folder] = [join(project, "cairn.config.ts"), join(project, "agents", "one")];
  mkdirSync(folder);
  writeFileSync(join(folder, "agent.ts"), `// @ts-nocheck\n${EVERY_ENTRY_POINT}`);
  const agents = '["./agents/refunds/agent.ts"';
  const text = readFileSync(config, "utf8");
  expect(text).toContain(agents);
  writeFileSync(config, text.replace(agents, `${agents}, "./agents/one/agent.ts"`));
}

const npm = (cwd: string, ...words: readonly string[]): string =>
  execFileSync("npm", [...words, "--no-audit", "--no-fund"], { cwd, encoding: "utf8", stdio: "pipe" });

/** LocalStack names no caller, so the API gets the wrapper that it has in every deployment there (`signed-api.ts`). */
function signRequests(functions: string): void {
  const wrapper = readFileSync(join(ROOT, "localstack", "signed-api.ts"), "utf8");
  const place = readFileSync(join(ROOT, "localstack", "place.ts"), "utf8").replace(/^import .+$/m, "");
  renameSync(join(functions, "api.js"), join(functions, "api-deployed.js"));
  writeFileSync(join(functions, "place.ts"), place.replace(/: Place\b/, ""));
  writeFileSync(join(functions, "signed-api.ts"), wrapper.replace("../functions/api.ts", "./api-deployed.js"));
  writeFileSync(join(functions, "api.js"), 'export { handler } from "./signed-api.ts";');
}

const ask = async (component: string, path: string, body?: object, by: object = SIGNED) => {
  const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const headers = { ...by, "content-type": "application/json" };
  const answer = await fetch(`${deployed[component]?.api}${path}`, { ...sent, headers });
  return { status: answer.status, body: (await answer.json()) as Readonly<Record<string, unknown>> };
};

/** The operator's commands, for the stores of a component. */
function cairn(component: string, ...words: readonly string[]): string {
  const { table = "", bucket = "", machine = "" } = deployed[component] ?? {};
  const stores = { CAIRN_WORLD: "aws", CAIRN_TABLE: table, CAIRN_BUCKET: bucket, CAIRN_MACHINE: machine };
  const env = { ...process.env, ...stores, AWS_ENDPOINT_URL: url, AWS_REGION: PLACE.region, ...SDK_KEYS };
  return execFileSync("npx", ["cairn", ...words], { cwd: project, encoding: "utf8", env });
}

function tokenOf(component: string, scopes: string, tenant = "local"): { readonly authorization: string } {
  const made = cairn(component, "token", "create", "--tenant", tenant, "--scopes", scopes, "--name", "lane", "--json");
  const { secret } = JSON.parse(made) as { readonly secret: string };
  return { authorization: `Bearer ${secret}` };
}

const reaches = (component: string, run: string, status: string, by: object = SIGNED): Promise<void> =>
  until(async () => expect((await ask(component, `/runs/${run}`, undefined, by)).body).toMatchObject({ status }));

async function begin(component: string, of: { readonly agent: string; readonly input: object }, by: object = SIGNED) {
  const started = await ask(component, "/runs", of, by);
  expect(started).toMatchObject({ status: 202, body: { agent: of.agent, started: true } });
  return String(started.body["run"]);
}

/** Approves the only open gate of the component. */
async function approve(component: string, run: string, by: object = SIGNED): Promise<void> {
  await reaches(component, run, "waiting", by);
  const { gates } = (await ask(component, "/approvals", undefined, by)).body as unknown as Approvals;
  expect(gates).toMatchObject([{ run }]);
  const decided = await ask(component, `/runs/${run}/approvals/${gates[0]?.gate}`, { as: "approve" }, by);
  expect(decided.status).toBe(202);
}

interface Approvals {
  readonly gates: readonly { readonly gate: string }[];
}

async function callsOf(component: string, run: string, by: object = SIGNED): Promise<readonly (readonly string[])[]> {
  const { body } = await ask(component, `/runs/${run}/ledger`, undefined, by);
  const calls = body["calls"] as readonly { readonly tool: string; readonly status: string }[];
  return calls.map(({ tool, status }) => [tool, status]);
}

/** What a user may write: values of other resources go in, and the component's values go into other resources. */
const OTHER_CONFIG = `/// <reference path="./.sst/platform/config.d.ts" />
export default $config({
  app: () => ({ name: "my-shop", home: "aws" }),
  async run() {
    const { cairn } = await import("cairn-run/sst");
    const queue = new sst.aws.Queue("Orders");
    const vpc = { privateSubnets: ["subnet-1"], securityGroups: ["sg-1"] };
    const agents = await cairn("Agents", {
      env: { ORDERS: queue.url },
      permissions: [{ actions: ["sqs:SendMessage"], resources: [queue.arn] }],
      agents: { refunds: { vpc, memoryMb: 1024 } },
    });
    new sst.aws.Function("Reader", { handler: "reader.handler", environment: { TABLE: agents.table } });
    // @ts-expect-error -- the compiler knows the options.
    await cairn("Others", { memory: 1024 });
    return agents;
  },
});
`;

test("the types of the package fit those of SST, in its sst.config.ts and in one with options", () => {
  mkdirSync(join(project, ".sst"), { recursive: true });
  symlinkSync(join(ROOT, ".sst", "platform"), join(project, ".sst", "platform"));
  writeFileSync(join(project, "other.config.ts"), OTHER_CONFIG);
  const compilerOptions = {
    ...{ target: "esnext", module: "esnext", moduleResolution: "bundler", lib: ["esnext"], types: [], strict: true },
    ...{ noEmit: true, skipLibCheck: true, allowImportingTsExtensions: true },
  };
  const settings = { compilerOptions, files: ["sst.config.ts", "other.config.ts"] };
  writeFileSync(join(project, "tsconfig.sst.json"), JSON.stringify(settings));
  const tsc = join(ROOT, "node_modules", ".bin", "tsc");
  expect(spawnSync(tsc, ["-p", "tsconfig.sst.json"], { cwd: project, encoding: "utf8" }).stdout).toBe("");
});

test("its names derive from its app, its stage and the names in its sst.config.ts", () => {
  for (const component of ["Agents", ...Object.keys(MORE)]) {
    const prefix = componentPrefix({ ...STAGE, component });
    expect(deployed[component]).toMatchObject({
      table: prefix,
      machine: expect.stringMatching(`:stateMachine:${prefix}$`),
    });
  }
});

test("the stores of a component are encrypted with the key that it names", async () => {
  const { table, bucket } = deployed["Orders"] ?? {};
  const { Table } = await clients.tables.send(new DescribeTableCommand({ TableName: table }));
  expect(Table?.SSEDescription).toMatchObject({ SSEType: "KMS", KMSMasterKeyArn: key });
  const { ServerSideEncryptionConfiguration: found } = await clients.objects.send(
    new GetBucketEncryptionCommand({ Bucket: bucket }),
  );
  const ApplyServerSideEncryptionByDefault = { SSEAlgorithm: "aws:kms", KMSMasterKeyID: key };
  expect(found?.Rules).toEqual([{ ApplyServerSideEncryptionByDefault, BucketKeyEnabled: true }]);
});

test("a run that HTTP starts completes, with each effect once", async () => {
  const run = await begin("Agents", { agent: "refunds", input: { order: "A-1", complaint: "It never arrived." } });
  await reaches("Agents", run, "completed");
  for (const kind of ["refunds", "mails"]) expect(readdirSync(join(OFFICE, kind))).toHaveLength(1);
});

test("an agent that imports every entry point of the package is deployed, and its run completes", async () => {
  const run = await begin("Agents", { agent: "one", input: { to: "every entry point" } });
  await reaches("Agents", run, "completed");
});

describe("a component whose callers have tokens", () => {
  const DIGEST = { agent: "digest", input: { team: "support" } };

  test("is steered by them, each within its scopes and its tenant", async () => {
    const [all, reads] = [tokenOf("Digests", "runs:read,runs:write,approve"), tokenOf("Digests", "runs:read")];
    expect(await ask("Digests", "/runs", DIGEST, {})).toMatchObject({ status: 401 });
    expect(await ask("Digests", "/runs", DIGEST, reads)).toMatchObject({ status: 403, body: { code: "ScopeMissing" } });
    const run = await begin("Digests", DIGEST, all);
    expect((await ask("Digests", `/runs/${run}`, undefined, tokenOf("Digests", "runs:read", "acme"))).status).toBe(404);
    await approve("Digests", run, all);
    await reaches("Digests", run, "completed", reads);
    expect(await callsOf("Digests", run, reads)).toEqual(
      ["openTickets", "reassign", "post"].map((tool) => [tool, "succeeded"]),
    );
    // Another component knows nothing of it.
    expect((await ask("Agents", `/runs/${run}`)).status).toBe(404);
  });

  test("cancels a run that waits for an approval", async () => {
    const all = tokenOf("Digests", "runs:read,runs:write");
    const run = await begin("Digests", DIGEST, all);
    await reaches("Digests", run, "waiting", all);
    expect((await ask("Digests", `/runs/${run}/cancel`, {}, all)).status).toBe(202);
    await reaches("Digests", run, "cancelled", all);
  });
});

test("a run waits for an approval over HTTP, and completes", async () => {
  const run = await begin("Orders", { agent: "orders", input: { order: "A-2" } });
  await approve("Orders", run);
  await reaches("Orders", run, "completed");
  expect(await callsOf("Orders", run)).toEqual(
    ["reserve", "takePayment", "sendParcel"].map((tool) => [tool, "succeeded"]),
  );
});
