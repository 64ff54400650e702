/**
 * Creates the functions from finished bundles, each with its own role, and the event source that calls the clean-up.
 */
import { createHash } from "node:crypto";
import { describedAs } from "../src/adapters/aws/described-agents.ts";
import { LIVE } from "../src/adapters/aws/machine/machine-input.ts";
import { TABLE } from "../src/adapters/aws/table/schema.ts";
import { accessVariable } from "./access.ts";
import { agentOptionsOf } from "./agent-options.ts";
import { LOADS_AGENTS, environmentOf } from "./environment.ts";
import { type Statement, refuseTooLongPolicy, statementsOf, tlsOnly } from "./grants.ts";
import {
  type AgentFunction,
  type DeployedFunction,
  EVENTS,
  FUNCTIONS,
  type FunctionKind,
  type FunctionName,
  type LettersOf,
  kindOf,
} from "./names.ts";
import { agentFunctionsOf, memoryOf, reservedFor, secondsOf, secretsOf } from "./plan.ts";
import type { Site } from "./site.ts";
import { FUNCTION_TRACES, TRACED_FUNCTION, isTraced } from "./tracing.ts";
import { trustOf } from "./trust.ts";

export type Functions = Readonly<Record<FunctionName, sst.aws.Function>>;

/** Attempts for a record of the stream. What they leave behind, the search for orphans finds. */
const STREAM_TRIES_MAX = 10;
/** Removals per invocation, which has one minute. No process waits for a removal, so the stream collects a batch. */
const STREAM_BATCH = 50;
const STREAM_WINDOW_SECONDS = 30;
/** How long the dead letters of the stream and of schedules are kept: the maximum of SQS. */
const LETTER_DAYS = 14;

export function createFunctions(site: Site): Functions {
  const made = FUNCTIONS.map((fn) => [fn, createFunction(site, fn)] as const);
  return Object.fromEntries(made) as Record<FunctionName, sst.aws.Function>;
}

/** The function that streams events. */
export const createEventsFunction = (site: Site): sst.aws.Function => createFunction(site, EVENTS);

/** The functions of isolated agents. */
export const createAgentFunctions = (site: Site): readonly AgentBeat[] =>
  agentFunctionsOf(site.plan).map((fn) => ({ fn, made: createFunction(site, fn) }));

export interface AgentBeat {
  readonly fn: AgentFunction;
  readonly made: sst.aws.Function;
}

function createFunction(site: Site, fn: DeployedFunction): sst.aws.Function {
  const { names, plan, called } = site;
  const { options } = plan;
  const isBeat = kindOf(fn) === "beat";
  const reserved = reservedFor(fn, plan);
  const { memoryMb, layers = [], permissions = [], vpc } = agentOptionsOf(fn, site.options, plan);
  const keys = { sealKey: options.seal?.kmsKey ?? null, storeKey: site.options.kmsKey };
  const grants = { secrets: secretsOf(fn, plan), ...keys, hasWebhooks: plan.webhooks.length > 0 };
  const statements = statementsOf(fn, names, grants);
  refuseTooLongPolicy(fn, statements);
  return new sst.aws.Function(called(componentOf(fn)), {
    name: names.functionName(fn),
    description: fn === "beat" ? describedAs(plan.agents) : `cairn: ${fn}`,
    bundle: plan.folders[fn] ?? "",
    handler: "index.handler",
    runtime: "nodejs24.x",
    architecture: "arm64",
    timeout: `${secondsOf(fn, plan)} seconds`,
    memory: `${memoryOf(fn, plan, memoryMb)} MB`,
    logging: { retention: options.logRetention, format: "json" },
    dev: false,
    // An execution calls the same version for its whole life, so versions of earlier deployments are kept.
    ...(isBeat ? { versioning: true } : {}),
    ...(layers.length === 0 ? {} : { layers: layers as $util.Input<string>[] }),
    ...(vpc === undefined ? {} : { vpc: vpc as SstVpc }),
    permissions: [
      ...statements,
      ...(vpc === undefined ? [] : [IN_VPC]),
      ...(isTraced(plan) ? [FUNCTION_TRACES] : []),
      ...(permissions as unknown as Statement[]),
    ],
    ...(reserved === undefined ? {} : { concurrency: { reserved } }),
    transform: {
      // By default SST lets every identity of the account assume this role, and its managed policy allows writes to any
      // log.
      role: (role: aws.iam.RoleArgs) => {
        role.name = names.functionName(fn);
        role.assumeRolePolicy = trustOf(names, "lambda");
        role.managedPolicyArns = [];
      },
      // SST adds variables for its links, which our functions do not have.
      function: { environment: { variables: variablesOf(fn, site) }, ...(isTraced(plan) && TRACED_FUNCTION) },
    },
  });
}

type SstVpc = Exclude<sst.aws.FunctionArgs["vpc"], undefined>;

/** What Lambda does with the role of a function in a network. AWS limits these actions to no resource. */
const IN_VPC: Statement = {
  actions: [
    ...["CreateNetworkInterface", "DeleteNetworkInterface", "DescribeNetworkInterfaces", "DescribeSubnets"],
    ...["AssignPrivateIpAddresses", "UnassignPrivateIpAddresses"],
  ].map((each) => `ec2:${each}`),
  resources: ["*"],
};

/** The functions that identify callers. */
const CALLED_OVER_HTTP: ReadonlySet<FunctionKind> = new Set(["api", EVENTS]);

/** The functions that load agents read the variables of all agents; only its own beats read those of one agent. */
function variablesOf(fn: DeployedFunction, site: Site): Record<string, $util.Input<string>> {
  const { options, plan } = site;
  const own = LOADS_AGENTS.has(kindOf(fn)) ? { ...options.env, ...agentOptionsOf(fn, options, plan).env } : {};
  const access = CALLED_OVER_HTTP.has(kindOf(fn)) ? accessVariable(options) : {};
  return { ...environmentOf(fn, site), ...(access as object), ...(own as Record<string, $util.Input<string>>) };
}

/**
 * Publishes a function under the alias that new executions call. The alias selects the newest version; with `rollout:
 * "by-hand"` only the first deployment sets it, and `cairn rollout` moves it afterwards.
 *
 * If agents are isolated, no new run begins in the shared function. It only replaces missing functions, so it always
 * has its newest version.
 */
export function publish(
  fn: DeployedFunction,
  made: sst.aws.Function,
  { plan, called }: Pick<Site, "plan" | "called">,
  after: readonly aws.lambda.Alias[] = [],
): aws.lambda.Alias {
  const { options, isolated } = plan;
  const isByHand = options.rollout === "by-hand" && (isolated.length === 0 || kindOf(fn) !== fn);
  const { name, version } = made.nodes.function;
  return new aws.lambda.Alias(
    called(`${componentOf(fn)}Live`),
    {
      name: LIVE,
      description: "cairn: the version of new executions",
      functionName: name,
      functionVersion: version,
    },
    { dependsOn: [...after], ...(isByHand ? { ignoreChanges: ["functionVersion", "routingConfig"] } : {}) },
  );
}

/**
 * The component name of a function. Component names may only have letters and digits, so a digest keeps the names of
 * different agents apart.
 */
function componentOf(fn: DeployedFunction): string {
  if (kindOf(fn) === fn) return capitalized(fn);
  const digest = createHash("sha256").update(fn).digest("hex").slice(0, 8);
  return `BeatOf${capitalized(fn.replace(/^beat_/, "").replaceAll(/[^a-zA-Z0-9]/g, ""))}${digest}`;
}

/** Component names are capitalized: `beat` becomes `Beat`. */
const capitalized = (name: string): string => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;

/** The queue of dead letters, which an alarm watches. It receives every event that failed and is not retried. */
export function createLetters({ names, called }: Site, of: LettersOf): aws.sqs.Queue {
  const queue = new aws.sqs.Queue(called(`${capitalized(of)}Letters`), {
    name: names.lettersName(of),
    messageRetentionSeconds: LETTER_DAYS * 24 * 3_600,
    sqsManagedSseEnabled: true,
  });
  new aws.sqs.QueuePolicy(called(`${capitalized(of)}LettersTls`), {
    queueUrl: queue.url,
    policy: JSON.stringify({
      Version: "2012-10-17",
      Statement: [tlsOnly({ actions: ["sqs:*"], resource: names.lettersArn(of) })],
    }),
  });
  return queue;
}

/**
 * Calls the clean-up for removed rows only, whatever process or expiry removed them. The permissions are among the
 * function's own statements: a separate policy on its role would be deleted by the next change of the role.
 */
export function followStream(
  site: Site,
  { streamArn, cleanup }: { readonly streamArn: $util.Output<string>; readonly cleanup: sst.aws.Function },
): void {
  const letters = createLetters(site, "stream");
  const removed = { eventName: ["REMOVE"], dynamodb: { Keys: { [TABLE.keys.sort]: { S: [TABLE.stream.item] } } } };
  new aws.lambda.EventSourceMapping(site.called("Removals"), {
    eventSourceArn: streamArn,
    functionName: cleanup.name,
    startingPosition: "TRIM_HORIZON",
    filterCriteria: { filters: [{ pattern: JSON.stringify(removed) }] },
    functionResponseTypes: ["ReportBatchItemFailures"],
    batchSize: STREAM_BATCH,
    maximumBatchingWindowInSeconds: STREAM_WINDOW_SECONDS,
    maximumRetryAttempts: STREAM_TRIES_MAX,
    bisectBatchOnFunctionError: true,
    destinationConfig: { onFailure: { destinationArn: letters.arn } },
  });
}
