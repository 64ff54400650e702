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
  const kind = kindOf(fn);
  const values: Readonly<Record<FunctionVariable, string>> = {
    CAIRN_TABLE: names.table,
    CAIRN_BUCKET: names.bucket,
    CAIRN_MACHINE: names.machineArn,
    CAIRN_BEAT_SECONDS: String(plan.beatSeconds),
    CAIRN_LIMITS: JSON.stringify({ openParkMs: openParkMsOf(plan), ...plan.limits }),
    CAIRN_STATUS_SHARDS: plan.options.statusShards === 1 ? "" : String(plan.options.statusShards),
    CAIRN_PARAMETERS: kind === "sweep" && plan.webhooks.length === 0 ? "" : JSON.stringify(secretsOf(fn, plan)),
    CAIRN_ACCESS: Object.keys(plan.access).length === 0 ? "" : JSON.stringify(plan.access),
    CAIRN_WEBHOOKS: plan.webhooks.length === 0 ? "" : JSON.stringify(plan.webhooks),
    CAIRN_SWEEP: plan.webhooks.length === 0 ? "" : names.functionName("sweep"),
    CAIRN_DEPLOYMENT: plan.deployment,
    CAIRN_SEAL_KMS_KEY: seal?.kmsKey ?? "",
    CAIRN_SEAL: seal?.required === true ? "required" : "",
  };
  return {
    ...Object.fromEntries(READ[kind].map((name) => [name, values[name]]).filter(([, value]) => value !== "")),
    ...(LOADS_AGENTS.has(kind) ? plan.options.env : {}),
  };
}
