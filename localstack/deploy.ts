/**
 * Puts a deployment of cairn on LocalStack. It captures everything that `sst deploy` would ask of AWS and applies it,
 * so the emulator needs no second description of a deployment. A repeated run updates functions and machine; runs stay,
 * and go on with the new code.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Bundle, type Instead, bundleFunctions } from "../infra/bundle.ts";
import { type Capture, type Resource, capture } from "../infra/capture.ts";
import { prefixOf } from "../infra/names.ts";
import { planOf } from "../infra/plan.ts";
import { type DeployedSchedule, schedulesOf } from "../infra/schedules.ts";
import { type AgentSecrets, agentSecretsOf } from "../infra/secrets.ts";
import { type Config, isolatedOf } from "../src/sdk/config.ts";
import { DEFAULT_TENANT } from "../src/core/ids.ts";
import type { Limits } from "../src/protocol/limits.ts";
import { apply } from "./apply.ts";
import { clientsOf } from "./clients.ts";
import { PLACE } from "./place.ts";

/** The name of the app in `sst.config.ts`. */
const APP = "cairn";

export interface StageOptions {
  readonly url: string;
  /** The stage of the deployment: every name in it is `cairn-{stage}` or begins with that. */
  readonly stage: string;
  readonly config: Pick<Config, "beatSeconds" | "deploy" | "access">;
  /** Changed limits. */
  readonly limits?: Partial<Limits>;
  /** More environment variables for every function on this machine. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface DeployOptions extends StageOptions {
  /** The config with absolute paths. */
  readonly config: Pick<Config, "agents" | "beatSeconds" | "deploy" | "access">;
}

export interface Deployment {
  readonly table: string;
  readonly bucket: string;
  /** The ARN of the state machine. */
  readonly machine: string;
  /** Where the HTTP API answers. */
  readonly api: string;
}

export interface Deployed extends Deployment {
  /** The resources that were applied. */
  readonly resources: readonly Resource[];
}

export function deploy(options: DeployOptions): Promise<Deployed> {
  const { agents: agentFiles, deploy: { isolation, console } = {} } = options.config;
  return withParts({ agentFiles, isolation, console }, (parts) => deployParts(parts, options));
}

type Isolation = NonNullable<Config["deploy"]>["isolation"];

/** What is built from agents. Several stages can be deployed from it. */
export interface Parts {
  readonly bundles: readonly Bundle[];
  readonly schedules: readonly DeployedSchedule[];
  readonly agents: readonly AgentSecrets[];
}

/** From what the parts of stages are built. */
export interface PartsOf {
  readonly agentFiles: readonly string[];
  readonly instead?: Instead;
  /** That of the stages; `agent` unless told. */
  readonly isolation?: Isolation | undefined;
  /** Whether the stages show the console; default false. */
  readonly console?: boolean | undefined;
}

/** Builds the parts for `work`. The bundles exist until `work` is done. */
export async function withParts<T>(wanted: PartsOf, work: (parts: Parts) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "cairn-bundles-"));
  try {
    return await work(await partsIn(folder, wanted));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Builds the parts, with the bundles in this folder, which is emptied first. */
export async function partsIn(folder: string, wanted: PartsOf): Promise<Parts> {
  const { agentFiles, isolation = "agent", console = false } = wanted;
  const agents = await agentSecretsOf(agentFiles);
  const isolated = isolatedOf({ isolation }, agents).map(({ agent }) => agent);
  const instead = { ...SIGNED, ...wanted.instead };
  const bundles = await bundleFunctions({ folder, agentFiles, isolated, console, instead });
  return { bundles, schedules: await schedulesOf({ agentFiles, tenant: DEFAULT_TENANT }), agents };
}

/** LocalStack checks no signature and names no caller, so this wrapper of the API does both. */
const SIGNED: Instead = { api: join(import.meta.dirname, "signed-api.ts") };

export async function deployParts({ bundles, schedules, agents }: Parts, options: StageOptions): Promise<Deployed> {
  const { url, stage, config, limits, env = {} } = options;
  const archives = mkdtempSync(join(tmpdir(), "cairn-archives-"));
  try {
    const plan = planOf(config, bundles, { schedules, agents });
    const found = await capture({
      ...{ app: APP, stage, place: PLACE, archives },
      plan: { ...plan, limits: { ...plan.limits, ...limits } },
    });
    const { outputs, resources } = await applied(found, { url, env, prefix: prefixOf(APP, stage) });
    return { ...deploymentOf(url, outputs as Outputs), resources };
  } finally {
    rmSync(archives, { recursive: true, force: true });
  }
}

/** Deploys what the `sst.config.ts` of another project describes. It returns its components, each under a name. */
export async function deployProject(of: {
  readonly url: string;
  /** The folder of `sst.config.ts`, absolute. */
  readonly project: string;
  readonly app: string;
  readonly stage: string;
  readonly env: Readonly<Record<string, string>>;
}): Promise<Readonly<Record<string, Deployment>>> {
  const { url, project, app, stage, env } = of;
  const archives = mkdtempSync(join(tmpdir(), "cairn-archives-"));
  try {
    const found = await capture({ project, app, stage, place: PLACE, archives });
    const { outputs } = await applied(found, { url, env, prefix: prefixOf(app, stage) });
    const components = Object.entries(outputs as Readonly<Record<string, Outputs>>);
    return Object.fromEntries(components.map(([name, told]) => [name, deploymentOf(url, told)]));
  } finally {
    rmSync(archives, { recursive: true, force: true });
  }
}

/** What the description of a component returns. */
type Outputs = Readonly<Record<"table" | "bucket" | "machine" | "url", string>>;

const deploymentOf = (url: string, { table, bucket, machine, url: api }: Outputs): Deployment => ({
  ...{ table, bucket, machine },
  api: localUrl(url, api),
});

async function applied(
  found: Capture,
  of: Pick<StageOptions, "url"> & { readonly env: Readonly<Record<string, string>>; readonly prefix: string },
): Promise<{ readonly outputs: unknown; readonly resources: readonly Resource[] }> {
  const resources = found.resources.map((each) => withEnv(each, of.env));
  const outputs = await apply({ clients: clientsOf(of.url), capture: { ...found, resources }, prefix: of.prefix });
  return { outputs, resources };
}

function withEnv(resource: Resource, env: Readonly<Record<string, string>>): Resource {
  if (resource.type !== "aws:lambda/function:Function") return resource;
  const { variables } = resource.inputs["environment"] as { readonly variables: object };
  return { ...resource, inputs: { ...resource.inputs, environment: { variables: { ...variables, ...env } } } };
}

/** The local address of the API. `api` is `https://{id}.execute-api.{region}.amazonaws.com/{stage}/`. */
function localUrl(url: string, api: string): string {
  const { hostname, pathname } = new URL(api);
  const [id = ""] = hostname.split(".");
  return `${url}/_aws/execute-api/${id}${pathname.replace(/\/$/, "")}`;
}
