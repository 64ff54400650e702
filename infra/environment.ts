/**
 * The environment variables of each function: those that it reads (`function-environment.ts`), and no others.
 * `functions/` reads the variables by their full names, and a test compares these names with the bundles.
 */
import { type FunctionVariable, READ } from "../src/adapters/aws/function-environment.ts";
import { type DeployedFunction, type FunctionKind, type Names, kindOf } from "./names.ts";
import { type Plan, secretsOf } from "./plan.ts";

/** Functions that load agents. Agents may read the `env` of their deployment. */
export const LOADS_AGENTS: ReadonlySet<FunctionKind> = new Set(["beat", "start", "api"]);

/**
 * How long a park keeps its execution open: three sweeps. A sweep starts the next execution of a run ahead of its time by
 * half of that, so one that comes half an interval late is still in time.
 */
const openParkMsOf = ({ options }: Plan): number => 3 * options.sweepMinutes * 60_000;

/** The variables of one function. */
export function environmentOf(
  fn: DeployedFunction,
  { names, plan }: { readonly names: Names; readonly plan: Plan },
): Readonly<Record<string, string>> {
  const { seal } = plan.options;
  const { limits: _limits, ...access } = plan.access;
  const kind = kindOf(fn);
  const values: Readonly<Record<FunctionVariable, string>> = {
    CAIRN_TABLE: names.table,
    CAIRN_BUCKET: names.bucket,
    CAIRN_MACHINE: names.machineArn,
    CAIRN_BEAT_SECONDS: String(plan.beatSeconds),
    CAIRN_LIMITS: JSON.stringify({ openParkMs: openParkMsOf(plan), ...plan.limits }),
    CAIRN_STATUS_SHARDS: plan.options.statusShards === 1 ? "" : String(plan.options.statusShards),
    CAIRN_PARAMETERS: kind === "sweep" && plan.webhooks.length === 0 ? "" : JSON.stringify(secretsOf(fn, plan)),
    CAIRN_ACCESS: Object.keys(access).length === 0 ? "" : JSON.stringify(access),
    CAIRN_WEBHOOKS: plan.webhooks.length === 0 ? "" : JSON.stringify(plan.webhooks),
    CAIRN_SWEEP: plan.webhooks.length === 0 ? "" : names.functionName("sweep"),
    CAIRN_DEPLOYMENT: plan.deployment,
    CAIRN_SEAL_KMS_KEY: seal?.kmsKey ?? "",
    CAIRN_SEAL: seal?.required === true ? "required" : "",
  };
  const variables = {
    ...Object.fromEntries(READ[kind].map((name) => [name, values[name]]).filter(([, value]) => value !== "")),
    ...(LOADS_AGENTS.has(kind) ? plan.options.env : {}),
  };
  refuseTooLong(fn, variables);
  return variables;
}

/** In bytes, of the JSON of all variables together (AWS Lambda Developer Guide, "Lambda quotas"). */
const ENVIRONMENT_MAX = 4 * 1_024;

/** Lambda would refuse it in the middle of a deployment. */
function refuseTooLong(fn: DeployedFunction, variables: Readonly<Record<string, string>>): void {
  const bytes = bytesOf(variables);
  if (bytes <= ENVIRONMENT_MAX) return;
  const largest = Object.entries(variables)
    .map(([name, value]) => ({ name, bytes: bytesOf({ [name]: value }) }))
    .toSorted((one, other) => other.bytes - one.bytes)
    .slice(0, 3)
    .map((each) => `${each.name} (${each.bytes})`);
  throw new Error(
    `the variables of the function ${fn} have ${bytes} bytes, and Lambda takes ${ENVIRONMENT_MAX}. ` +
      `The largest: ${largest.join(", ")}. Shorten deploy.env, or name fewer secrets and webhooks in cairn.config.ts`,
  );
}

const bytesOf = (variables: Readonly<Record<string, string>>): number => Buffer.byteLength(JSON.stringify(variables));
