/** The functions: bundles that were made before, each with its own role, and the stream that calls the clean-up. */
import { createHash } from "node:crypto";
import { LIVE } from "../src/adapters/aws/machine-input.ts";
import { TABLE } from "../src/adapters/aws/schema.ts";
import { environmentOf } from "./environment.ts";
import { statementsOf, tlsOnly } from "./grants.ts";
import {
  type AgentFunction,
  type DeployedFunction,
  FUNCTIONS,
  type FunctionName,
  type LettersOf,
  kindOf,
} from "./names.ts";
import { type Options, type Plan, agentFunctionsOf, secondsOf, secretsOf } from "./plan.ts";
import type { Site } from "./site.ts";
import type { Storage } from "./storage.ts";
import { trustOf } from "./trust.ts";

export type Functions = Readonly<Record<FunctionName, sst.aws.Function>>;

/** Enough for a function that loads no agent; with memory comes processor time. */
const SMALL_MB = 512;
/** Of a record of the stream: the look for orphans finds what is given up. */
const STREAM_TRIES_MAX = 10;
/** Removals of one invocation, which has a minute for them; no process waits for one, so some of them are collected. */
const STREAM_BATCH = 50;
const STREAM_WINDOW_SECONDS = 30;
/** How long the dead letters of stream and schedules are kept: SQS keeps none for longer. */
const LETTER_DAYS = 14;

export function createFunctions(site: Site): Functions {
  const made = FUNCTIONS.map((fn) => [fn, createFunction(site, fn)] as const);
  return Object.fromEntries(made) as Record<FunctionName, sst.aws.Function>;
}

/** Of the agents whose beats run in a function of their own. */
export const createAgentFunctions = (site: Site): readonly AgentBeat[] =>
  agentFunctionsOf(site.plan).map((fn) => ({ fn, made: createFunction(site, fn) }));

export interface AgentBeat {
  readonly fn: AgentFunction;
  readonly made: sst.aws.Function;
}

function createFunction(site: Site, fn: DeployedFunction): sst.aws.Function {
  const { names, plan } = site;
  const { options } = plan;
  const isBeat = kindOf(fn) === "beat";
  const reserved = reservedFor(fn, options);
  return new sst.aws.Function(componentOf(fn), {
    name: names.functionName(fn),
    description: `cairn: ${fn}`,
    bundle: plan.folders[fn] ?? "",
    handler: "index.handler",
    runtime: "nodejs24.x",
    architecture: "arm64",
    timeout: `${secondsOf(fn, plan)} seconds`,
    memory: `${isBeat ? options.memoryMb : SMALL_MB} MB`,
    logging: { retention: options.logRetention, format: "json" },
    dev: false,
    // Executions call one version as long as they last. Those of deployments before this one stay.
    ...(isBeat ? { versioning: true } : {}),
    permissions: statementsOf(fn, names, { secrets: secretsOf(fn, plan), sealKey: options.seal?.kmsKey ?? null }),
    ...(reserved === undefined ? {} : { concurrency: { reserved } }),
    transform: {
      // SST lets every identity of the account take this role, and the managed policy lets it write any log.
      role: (role: aws.iam.RoleArgs) => {
        role.name = names.functionName(fn);
        role.assumeRolePolicy = trustOf(names, "lambda");
        role.managedPolicyArns = [];
      },
      // What SST adds serves its links, which no function of ours has.
      function: { environment: { variables: environmentOf(fn, site) } },
    },
  });
}

/** A reservation keeps that much for a function, and is as much as it may take. */
const reservedFor = (fn: DeployedFunction, { concurrencyMax, concurrencyReserved }: Options): number | undefined =>
  kindOf(fn) === "beat"
    ? (concurrencyMax ?? undefined)
    : concurrencyReserved[fn as keyof Options["concurrencyReserved"]];

/**
 * Executions that begin now belong to the version that was published last; with `rollout: "by-hand"` to those that
 * `cairn rollout` says, and only the first deployment says it for them. Where agents are isolated no new run begins in the
 * function that they share, which only stands in for functions that are not there: it has its newest version at once.
 */
export function publish(
  fn: DeployedFunction,
  made: sst.aws.Function,
  { plan, after = [] }: { readonly plan: Plan; readonly after?: readonly aws.lambda.Alias[] },
): aws.lambda.Alias {
  const { options, isolated } = plan;
  const isByHand = options.rollout === "by-hand" && (isolated.length === 0 || kindOf(fn) !== fn);
  const { name, version } = made.nodes.function;
  return new aws.lambda.Alias(
    `${componentOf(fn)}Live`,
    {
      name: LIVE,
      description: "cairn: the version of new executions",
      functionName: name,
      functionVersion: version,
    },
    { dependsOn: [...after], ...(isByHand ? { ignoreChanges: ["functionVersion", "routingConfig"] } : {}) },
  );
}

/** Components have names of letters and digits: those of agents would not differ in these alone. */
function componentOf(fn: DeployedFunction): string {
  if (kindOf(fn) === fn) return capitalized(fn);
  const digest = createHash("sha256").update(fn).digest("hex").slice(0, 8);
  return `BeatOf${capitalized(fn.replace(/^beat_/, "").replaceAll(/[^a-zA-Z0-9]/g, ""))}${digest}`;
}

/** Components have names of their own: `beat` is `Beat`. */
const capitalized = (name: string): string => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;

/** What is neither done nor tried again ends here, where an alarm sees it. */
export function createLetters({ names }: Site, of: LettersOf): aws.sqs.Queue {
  const queue = new aws.sqs.Queue(`${capitalized(of)}Letters`, {
    name: names.lettersName(of),
    messageRetentionSeconds: LETTER_DAYS * 24 * 3_600,
    sqsManagedSseEnabled: true,
  });
  new aws.sqs.QueuePolicy(`${capitalized(of)}LettersTls`, {
    queueUrl: queue.url,
    policy: JSON.stringify({
      Version: "2012-10-17",
      Statement: [tlsOnly({ actions: ["sqs:*"], resource: names.lettersArn(of) })],
    }),
  });
  return queue;
}

/**
 * Rows that are removed, by whomever, and nothing else. What that takes is among the function's own statements: a policy
 * beside those of its role would be taken away by the next change of the role.
 */
export function followStream(
  site: Site,
  { storage, cleanup }: { readonly storage: Storage; readonly cleanup: sst.aws.Function },
): void {
  const stream = storage.table.nodes.table.streamArn;
  const letters = createLetters(site, "stream");
  const removed = { eventName: ["REMOVE"], dynamodb: { Keys: { [TABLE.keys.sort]: { S: [TABLE.stream.item] } } } };
  new aws.lambda.EventSourceMapping("Removals", {
    eventSourceArn: stream,
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
