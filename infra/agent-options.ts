/** Which options of a component hold for which function, and the check that each option can be obeyed. */
import { isByIam } from "./callers.ts";
import { type DeployedFunction, agentFunction, kindOf } from "./names.ts";
import type { AgentOptions, CairnOptions } from "./options.ts";
import type { Plan } from "./plan.ts";

type Agents = Pick<Plan, "agents" | "isolated">;

/** The options of a function that runs beats: those of the component, and those of its agent. Empty for another one. */
export function agentOptionsOf(fn: DeployedFunction, options: CairnOptions, plan: Agents): AgentOptions {
  if (kindOf(fn) !== "beat") return {};
  const agent = plan.agents.find((each) => functionOfAgent(each, plan) === fn);
  const own = agent === undefined ? {} : (options.agents?.[agent] ?? {});
  const { env = {}, permissions = [], layers = [] } = options;
  const memoryMb = own.memoryMb ?? options.memoryMb;
  const vpc = own.vpc ?? options.vpc;
  return {
    env: { ...env, ...own.env },
    permissions: [...permissions, ...(own.permissions ?? [])],
    layers: [...layers, ...(own.layers ?? [])],
    ...(memoryMb === undefined ? {} : { memoryMb }),
    ...(vpc === undefined ? {} : { vpc }),
  };
}

/** The function of an agent alone; null if it shares one. A deployment with one agent has one function of beats. */
function functionOfAgent(agent: string, { agents, isolated }: Agents): DeployedFunction | null {
  if (isolated.some((each) => each.agent === agent)) return agentFunction(agent);
  return agents.length === 1 && agents[0] === agent ? "beat" : null;
}

const MEMORY_MB = { min: 256, max: 10_240 };
/** Lambda reserves the prefixes AWS_ and LAMBDA_; cairn reserves CAIRN_. */
const ENV_NAME = /^(?!AWS_|CAIRN_|LAMBDA_)[A-Z][A-Z0-9_]*$/;
const KMS_KEY = /^arn:aws[\w-]*:kms:[\w-]+:\d{12}:key\/[\w-]+$/;
const TABLE = /^(arn:aws[\w-]*:dynamodb:[\w-]+:\d{12}:table\/)?[\w.-]{3,255}$/;
const BUCKET = /^(arn:aws[\w-]*:s3:::)?[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;

/** Refuses options that cannot be obeyed, before any resource is described. */
export function checkOptions(options: CairnOptions, plan: Agents & Pick<Plan, "options" | "access">): void {
  const { table, bucket, kmsKey, domain, api, agents = {} } = options;
  const tableName = plan.options.tableName;
  if (table !== undefined && tableName !== null)
    throw new Error(`two tables: ${table} in cairn(), and deploy.tableName ${tableName} in cairn.config.ts; keep one`);
  matches("table", table, { pattern: TABLE, wanted: "the name or the ARN of a DynamoDB table" });
  matches("bucket", bucket, { pattern: BUCKET, wanted: "the name or the ARN of an S3 bucket" });
  matches("kmsKey", kmsKey, { pattern: KMS_KEY, wanted: "the ARN of a KMS key (arn:aws:kms:REGION:ACCOUNT:key/ID)" });
  if (options.access !== undefined && (options.access.auth === "jwt") !== (options.access.jwt !== undefined))
    throw new Error('access: write jwt: { issuer, audience } together with auth: "jwt"');
  if (domain !== undefined && api === false) throw new Error("domain is of the API, and api is false: take one out");
  if (plan.options.eventStreams && api === false)
    throw new Error("deploy.eventStreams of cairn.config.ts is of the API, and api is false: take one out");
  checkConsole(options, plan);
  checkAgent("", options);
  for (const [agent, own] of Object.entries(agents)) {
    if (!plan.agents.includes(agent))
      throw new Error(
        `agents.${agent} names no agent of cairn.config.ts, which has ${plan.agents.join(", ") || "none"}`,
      );
    if (functionOfAgent(agent, plan) === null)
      throw new Error(
        `agents.${agent} needs a function of this agent alone: take deploy.isolation: "none" out of cairn.config.ts`,
      );
    checkAgent(`agents.${agent}.`, own);
  }
}

/** A browser needs an API, and signs no request for AWS. */
function checkConsole(options: CairnOptions, plan: Pick<Plan, "options" | "access">): void {
  if (!plan.options.console) return;
  const what = "deploy.console of cairn.config.ts";
  if (options.api === false) throw new Error(`${what} is shown by the API, and api is false: take one out`);
  if (isByIam(options, plan))
    throw new Error(
      `${what} needs callers with tokens, because a browser cannot sign requests for IAM: write access: { auth: "token" } in cairn.config.ts, or auth: "jwt" with the issuer of your users`,
    );
}

function checkAgent(path: string, { memoryMb, env = {} }: AgentOptions): void {
  const { min, max } = MEMORY_MB;
  if (memoryMb !== undefined && (!Number.isInteger(memoryMb) || memoryMb < min || memoryMb > max))
    throw new Error(`${path}memoryMb is ${memoryMb}: write a whole number from ${min} to ${max}`);
  for (const name of Object.keys(env))
    if (!ENV_NAME.test(name))
      throw new Error(
        `${path}env.${name}: write capitals, digits and _; AWS_, LAMBDA_ and CAIRN_ at the beginning are reserved`,
      );
}

function matches(
  option: string,
  value: string | undefined,
  { pattern, wanted }: { readonly pattern: RegExp; readonly wanted: string },
): void {
  if (value !== undefined && !pattern.test(value)) throw new Error(`${option} is ${value}: write ${wanted}`);
}
