/**
 * The names of all resources of one deployment. Names are fixed, so ARNs can be composed. The functions know the state
 * machine and the state machine knows the functions, and neither waits for the creation of the other.
 *
 * Bucket names are unique across all of AWS, so they include account and region.
 */

import { parameterOf } from "../src/adapters/aws/table/keys.ts";

/**
 * The functions of every deployment. They are listed here, not beside their bundles, because the description of
 * resources cannot import the bundler.
 */
export const FUNCTIONS = ["beat", "park", "start", "sweep", "cleanup", "api"] as const;

export type FunctionName = (typeof FUNCTIONS)[number];

/** The function that streams the events of runs. Only a deployment with `deploy.eventStreams` has it. */
export const EVENTS = "events";

/**
 * The name of a function that runs the beats of one agent. No prefix contains an underscore, so no other deployment can
 * have a function with this name.
 */
export type AgentFunction = `beat_${string}`;

/** Every function of a deployment. */
export type DeployedFunction = FunctionKind | AgentFunction;

/** Functions of one kind have the same code, environment and permissions, but for their agents. */
export type FunctionKind = FunctionName | typeof EVENTS;

export const agentFunction = (agent: string): AgentFunction => `beat_${agent}`;

/**
 * The kind of a function, which determines its code, environment and permissions. The functions of isolated agents are
 * of the kind `beat`.
 */
export const kindOf = (fn: DeployedFunction): FunctionKind => (isOfAgent(fn) ? "beat" : fn);

const isOfAgent = (fn: DeployedFunction): fn is AgentFunction => fn.startsWith("beat_");

/** The AWS partition, region and account of a deployment, as used in ARNs. */
export interface Place {
  /** Always `aws`. Deployments to other partitions are refused. */
  readonly partition: string;
  readonly region: string;
  readonly account: string;
}

/** The names and ARNs of a deployment. */
export interface Names {
  /** The name of the state machine and, unless it was restored, of the table; also the prefix of all other names. */
  readonly prefix: string;
  readonly bucket: string;
  /** The prefix, or the name of a table that existed before. */
  readonly table: string;
  /** The ID of the store, which table and bucket share and no other deployment has. */
  readonly store: string;
  readonly tableArn: string;
  readonly bucketArn: string;
  readonly machineArn: string;
  readonly region: string;
  readonly account: string;
  /** The group of agents' schedules. The sweeper's schedules are in a group named like the prefix. */
  readonly agentsGroup: string;
  readonly alarmsTopicArn: string;
  readonly alarmName: (alarm: string) => string;
  readonly alarmArn: (alarm: string) => string;
  /** The ARN of the parameter that holds the secret. */
  readonly parameterArn: (secret: string) => string;
  readonly functionName: (fn: string) => string;
  readonly functionArn: (fn: string) => string;
  readonly logGroup: (fn: string) => string;
  readonly logGroupArn: (fn: string) => string;
  /** The queue of dead letters. */
  readonly lettersName: (of: LettersOf) => string;
  readonly lettersArn: (of: LettersOf) => string;
}

/** The sources of dead letters. */
export type LettersOf = "stream" | "schedule";

/** AWS allows 64 characters for the name of a function or role. The longest suffix is that of a role. */
const NAME_CHARACTERS_MAX = 64;
const PREFIX_CHARACTERS_MAX = 40;
/** AWS allows 63 characters for a bucket, which include account and region. */
const BUCKET_CHARACTERS_MAX = 63;

/** Lower case only: `Dev` and `dev` would otherwise have the same names. */
const WORDS = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

/**
 * The prefix of an app and stage, in characters that every service allows. No two deployments share one: after an app
 * that contains a `-`, two of them precede the stage. So app `a-b` with stage `c` is `a-b--c`, and `a` with `b-c` is
 * `a-b-c`.
 */
export function prefixOf(app: string, stage: string): string {
  const prefix = `${app}${app.includes("-") ? "--" : "-"}${stage}`;
  const isFit = WORDS.test(app) && WORDS.test(stage) && /^[a-z]/.test(app);
  if (!isFit || prefix.length > PREFIX_CHARACTERS_MAX) {
    throw new Error(
      `${prefix} cannot name a deployment: take an app and a stage of lower-case letters, digits and single -, together ${PREFIX_CHARACTERS_MAX - 2} characters at most`,
    );
  }
  return prefix;
}

/** The component whose names are those of its app and stage alone. */
export const DEFAULT_COMPONENT = "Cairn";

export const isDefault = (component: string): boolean => component === DEFAULT_COMPONENT;

/**
 * The prefix of a component. Three `-` precede its name, which neither app nor stage contains, so no two components
 * share one. Its capitals become `-` and a small letter: `BackOffice` of `shop-dev` is `shop-dev---back-office`.
 */
export function componentPrefix(of: {
  readonly app: string;
  readonly stage: string;
  readonly component: string;
}): string {
  const { app, stage, component } = of;
  const before = prefixOf(app, stage);
  if (isDefault(component)) return before;
  const words = component.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const prefix = `${before}--${words}`;
  if (!/^[A-Z][A-Za-z0-9]*$/.test(component) || prefix.length > PREFIX_CHARACTERS_MAX) {
    throw new Error(
      `cairn("${component}") cannot be named ${prefix}: begin with a capital, take letters and digits only, and together with app and stage ${PREFIX_CHARACTERS_MAX} characters at most`,
    );
  }
  return prefix;
}

/** Refuses agents whose functions AWS would refuse. Role names are compared without regard to case. */
export function checkAgentFunctions({ functionName }: Pick<Names, "functionName">, agents: readonly string[]): void {
  const others = new Map<string, string>();
  for (const agent of agents) {
    const name = functionName(agentFunction(agent));
    const other = others.get(agent.toLowerCase());
    others.set(agent.toLowerCase(), agent);
    if (name.length > NAME_CHARACTERS_MAX) {
      const surplus = name.length - NAME_CHARACTERS_MAX;
      throw new Error(
        `${name} cannot name the function of agent ${agent}: AWS takes ${NAME_CHARACTERS_MAX} characters; make the stage or the agent's name ${surplus} shorter, or set deploy.isolation to "none" in cairn.config.ts`,
      );
    }
    if (other !== undefined) {
      throw new Error(
        `agents ${other} and ${agent} cannot both have a function of their own: AWS compares the names of roles without regard to case; rename one, or set deploy.isolation to "none" in cairn.config.ts`,
      );
    }
  }
}

/** Stores that exist already, by name or ARN. */
export interface ExistingStores {
  readonly table?: string | null | undefined;
  readonly bucket?: string | undefined;
}

/** Composes all names. */
export function namesOf(prefix: string, { partition, region, account }: Place, existing: ExistingStores = {}): Names {
  const table = existing.table?.replace(/^arn:.*:table\//, "") ?? prefix;
  // The state machine's definition has Lambda's ARN in the format of this partition.
  if (partition !== "aws") throw new Error(`cairn is not deployed to the partition ${partition} yet`);
  const arn = (service: string, resource: string): string =>
    `arn:${partition}:${service}:${region}:${account}:${resource}`;
  const bucket = existing.bucket?.replace(/^arn:.*:::/, "") ?? `${prefix}-${account}-${region}`;
  if (bucket.length > BUCKET_CHARACTERS_MAX)
    throw new Error(`${bucket} is too long for a bucket: take a shorter app or stage`);
  const alarmName = (alarm: string): string => `${prefix}.${alarm}`;
  const functionName = (fn: string): string => `${prefix}-${fn}`;
  const lettersName = (of: LettersOf): string => `${prefix}-${of}-letters`;
  const logGroup = (fn: string): string => `/aws/lambda/${functionName(fn)}`;
  return {
    ...{ prefix, bucket, table, region, account, functionName, logGroup },
    // No stage contains a dot. So the stage `dev-agents` has another group, and the alarm `unreadable` of `dev-history`
    // another name.
    agentsGroup: `${prefix}.agents`,
    alarmsTopicArn: arn("sns", `${prefix}-alarms`),
    store: `${account}/${region}/${prefix}`,
    tableArn: arn("dynamodb", `table/${table}`),
    bucketArn: `arn:${partition}:s3:::${bucket}`,
    machineArn: arn("states", `stateMachine:${prefix}`),
    alarmName,
    alarmArn: (alarm) => arn("cloudwatch", `alarm:${alarmName(alarm)}`),
    parameterArn: (secret) => arn("ssm", `parameter${parameterOf(prefix, secret)}`),
    functionArn: (fn) => arn("lambda", `function:${functionName(fn)}`),
    logGroupArn: (fn) => arn("logs", `log-group:${logGroup(fn)}`),
    lettersName,
    lettersArn: (of) => arn("sqs", lettersName(of)),
  };
}
