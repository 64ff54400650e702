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
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { DescribeTableCommand } from "@aws-sdk/client-dynamodb";
import { CreateKeyCommand } from "@aws-sdk/client-kms";
import { GetBucketEncryptionCommand } from "@aws-sdk/client-s3";
import { componentPrefix } from "../../infra/names.ts";
import { clientsOf } from "../../localstack/clients.ts";
import { type Deployment, deployProject } from "../../localstack/deploy.ts";
import { until } from "./lane.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const { url, files } = inject("stacks");
const STAGE = { app: "my-shop", stage: "lane" };
const [OFFICE, WAREHOUSE] = [join(files, "office"), join(files, "warehouse")];
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

/** The stores of the third component are encrypted with that key. */
const sstConfig = (kmsKey: string): string => `/// <reference path="./.sst/platform/config.d.ts" />
export default $config({
  app: () => ({ name: "my-shop", home: "aws" }),
  async run() {
    const { cairn } = await import("cairn-run/sst");
    return {
      Agents: await cairn("Agents"),
      Digests: await cairn("Digests", { config: "scheduled", alarms: false }),
      Orders: await cairn("Orders", { config: "orders", alarms: false, kmsKey: "${kmsKey}" }),
    };
  },
});
`;

beforeAll(async () => {
  execFileSync(process.execPath, ["scripts/package.ts"], { cwd: ROOT });
  const built = join(ROOT, "build", "cairn-run");
  const tarball = npm(dir, "pack", built).trim();
  const init = (...words: readonly string[]): void =>
    void execFileSync(process.execPath, [join(built, "dist", "cli", "main.js"), "init", ...words]);
  init(project);
  for (const template of Object.values(MORE)) init(join(project, template), "--template", template);
  npm(project, "install", join(dir, tarball));
  const { KeyMetadata } = await clients.keys.send(new CreateKeyCommand({}));
  key = KeyMetadata?.Arn ?? "";
  writeFileSync(join(project, "sst.config.ts"), sstConfig(key));
  signRequests(join(project, "node_modules", "cairn-run", "dist", "functions"));
  deployed = await deployProject({ ...STAGE, url, project, env: { OFFICE, WAREHOUSE } });
}, 600_000);

afterAll(() => rmSync(dir, { recursive: true, force: true }));

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

const ask = async (component: string, path: string, body?: object) => {
  const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const headers = { ...SIGNED, "content-type": "application/json" };
  const answer = await fetch(`${deployed[component]?.api}${path}`, { ...sent, headers });
  return { status: answer.status, body: (await answer.json()) as Readonly<Record<string, unknown>> };
};

const reaches = (component: string, run: string, status: string): Promise<void> =>
  until(async () => expect((await ask(component, `/runs/${run}`)).body).toMatchObject({ status }));

async function begin(component: string, agent: string, input: object): Promise<string> {
  const started = await ask(component, "/runs", { agent, input });
  expect(started).toMatchObject({ status: 202, body: { agent, started: true } });
  return String(started.body["run"]);
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
  const run = await begin("Agents", "refunds", { order: "A-1", complaint: "It never arrived." });
  await reaches("Agents", run, "completed");
  for (const kind of ["refunds", "mails"]) expect(readdirSync(join(OFFICE, kind))).toHaveLength(1);
});

test.each([
  { component: "Digests", agent: "digest", input: { team: "support" }, tools: ["openTickets", "reassign", "post"] },
  { component: "Orders", agent: "orders", input: { order: "A-2" }, tools: ["reserve", "takePayment", "sendParcel"] },
])(
  "a run of $agent waits for an approval, and completes in its component",
  async ({ component, agent, input, tools }) => {
    const run = await begin(component, agent, input);
    await reaches(component, run, "waiting");
    const { gates } = (await ask(component, "/approvals")).body as { readonly gates: readonly { gate: string }[] };
    expect(gates).toMatchObject([{ run }]);
    const decided = await ask(component, `/runs/${run}/approvals/${gates[0]?.gate}`, { as: "approve" });
    expect(decided.status).toBe(202);
    await reaches(component, run, "completed");
    const { body } = await ask(component, `/runs/${run}/ledger`);
    const calls = body["calls"] as readonly { readonly tool: string; readonly status: string }[];
    expect(calls.map(({ tool, status }) => [tool, status])).toEqual(tools.map((tool) => [tool, "succeeded"]));
    // Another component knows nothing of it.
    expect((await ask("Agents", `/runs/${run}`)).status).toBe(404);
  },
);
