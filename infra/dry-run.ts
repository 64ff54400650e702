/**
 * What `sst deploy` would make of a project, as far as that is known without an account and without SST: from the plan,
 * by the same functions as the description of resources. A test compares it with what the description requests.
 */
import type {
  DeploymentLack,
  PlannedDeployment,
  PlannedFunction,
  PlannedResource,
} from "../src/ports/planned-deployment.ts";
import { LIVE } from "../src/adapters/aws/machine/machine-input.ts";
import { TABLE } from "../src/adapters/aws/table/schema.ts";
import type { Bundle } from "./bundle.ts";
import { environmentOf } from "./environment.ts";
import { refuseTooLongPolicy, statementsOf } from "./grants.ts";
import { type DeployedFunction, type Names, namesOf } from "./names.ts";
import {
  ORPHANS_RATE,
  type Plan,
  functionsOf,
  memoryOf,
  reservedFor,
  secondsOf,
  secretsOf,
  sweepRateOf,
} from "./plan.ts";
import { watchesOf } from "./watches.ts";

/** SST knows the app and the stage, and AWS the rest. */
const PREFIX = "PREFIX";
const PLACE = { partition: "aws", region: "REGION", account: "ACCOUNT" };

type Sized = Pick<Bundle, "name" | "startBytes" | "bytes" | "files">;

export function plannedDeployment(
  plan: Plan,
  { bundles, missing }: { readonly bundles: readonly Sized[]; readonly missing: PlannedDeployment["missing"] },
): PlannedDeployment {
  const names = namesOf(PREFIX, PLACE, { table: plan.options.tableName });
  const functions = functionsOf(plan).map((fn): PlannedFunction => {
    const bundle = bundles.find(({ name }) => name === fn);
    return {
      ...{ name: names.functionName(fn), memoryMb: memoryOf(fn, plan), seconds: secondsOf(fn, plan) },
      reserved: reservedFor(fn, plan) ?? null,
      bundle: bundle ? { startBytes: bundle.startBytes, bytes: bundle.bytes, files: bundle.files.length } : null,
    };
  });
  const ofWebhooks = plan.webhooks.map(({ secret }) => secret);
  const secrets = [...new Set([...plan.secrets, ...ofWebhooks])].toSorted();
  const tooLong = functionsOf(plan).flatMap((fn) => beyondQuotas(fn, { plan, names }));
  return { resources: resourcesOf(plan, names), functions, secrets, missing: [...missing, ...tooLong] };
}

/** What SST would refuse of a function. The names of the account are longer than those here, so a little more may be. */
function beyondQuotas(fn: DeployedFunction, { plan, names }: { readonly plan: Plan; readonly names: Names }) {
  const secrets = secretsOf(fn, plan);
  const grants = { secrets, sealKey: plan.options.seal?.kmsKey ?? null, hasWebhooks: plan.webhooks.length > 0 };
  const checks = [
    () => environmentOf(fn, { names, plan }),
    () => refuseTooLongPolicy(fn, statementsOf(fn, names, grants)),
  ];
  return checks.flatMap((check): readonly DeploymentLack[] => {
    try {
      check();
      return [];
    } catch (error) {
      const what = error instanceof Error ? error.message : String(error);
      return [{ code: "DeploymentInvalid", what, next: "edit cairn.config.ts, then type: npx cairn infra --dry-run" }];
    }
  });
}

function resourcesOf(plan: Plan, names: Names): readonly PlannedResource[] {
  const { options, access } = plan;
  const indexes = TABLE.indexes.map(({ name }) => name).join(", ");
  const schedule = (name: string, says: string): PlannedResource => ({ kind: "schedule", name, says });
  const streams = options.eventStreams ? ", streams events" : "";
  const shown = options.console ? ", shows the console" : "";
  return [
    { kind: "table", name: names.table, says: options.tableName === null ? `indexes ${indexes}` : "exists already" },
    { kind: "bucket", name: names.bucket, says: "versioned, private" },
    { kind: "stateMachine", name: names.prefix, says: `calls the alias ${LIVE} of each function that runs beats` },
    {
      kind: "api",
      name: names.prefix,
      says: `callers by ${access.auth ?? "iam"}, ${options.apiRate} requests per second${streams}${shown}`,
    },
    schedule("Sweep", sweepRateOf(plan)),
    schedule("Orphans", ORPHANS_RATE),
    ...plan.schedules.map(({ agent, expression, timezone }) => schedule(agent, `${expression}, ${timezone}`)),
    { kind: "queue", name: names.lettersName("stream"), says: "removals that could not be followed" },
    { kind: "queue", name: names.lettersName("schedule"), says: "firings that could not be delivered" },
    { kind: "alarms", name: names.alarmName("*"), says: `${watchesOf(names, plan).length} alarms` },
    { kind: "dashboard", name: names.prefix, says: "in CloudWatch" },
    ...(options.alarmEmail === null
      ? []
      : [{ kind: "topic", name: `${names.prefix}-alarms`, says: `mails ${options.alarmEmail}` } as const]),
  ];
}
