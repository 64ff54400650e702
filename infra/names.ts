/**
 * What everything of one deployment is called. Names are fixed, so that ARNs are composed: the functions know the machine,
 * the machine knows the functions, and neither waits for the other. A bucket's name is taken once in all of AWS, so it
 * carries account and region.
 */

import { parameterOf } from "../src/adapters/aws/keys.ts";

/** Here and not with their bundles: whoever describes resources cannot load what makes those. */
export const FUNCTIONS = ["beat", "park", "start", "sweep", "cleanup", "api"] as const;

export type FunctionName = (typeof FUNCTIONS)[number];

/** A function that runs the beats of one agent. No prefix has an underscore, so no stage has a function of this name. */
export type AgentFunction = `beat_${string}`;

/** Every function of a deployment. */
export type DeployedFunction = FunctionName | AgentFunction;

export const agentFunction = (agent: string): AgentFunction => `beat_${agent}`;

/** Whose code it runs, and with it what it reads and may do: those of agents are functions of beats. */
export const kindOf = (fn: DeployedFunction): FunctionName => (isOfAgent(fn) ? "beat" : fn);

const isOfAgent = (fn: DeployedFunction): fn is AgentFunction => fn.startsWith("beat_");

/** Where a deployment lies, as ARNs say it. */
export interface Place {
  /** `aws`; there are others, to which nothing is deployed. */
  readonly partition: string;
  readonly region: string;
  readonly account: string;
}

export interface Names {
  /** Of the machine and, unless it was restored, of the table; and what every other name begins with. */
  readonly prefix: string;
  readonly bucket: string;
  /** The prefix, or that of a table that was restored from a backup. */
  readonly table: string;
  /** Of table and bucket together: the same for both, and for no other deployment. */
  readonly store: string;
  readonly tableArn: string;
  readonly bucketArn: string;
  readonly machineArn: string;
  readonly region: string;
  readonly account: string;
  /** Of the schedules of agents; those of the sweeper are in one of the prefix's own name. */
  readonly agentsGroup: string;
  readonly alarmsTopicArn: string;
  readonly alarmName: (alarm: string) => string;
  readonly alarmArn: (alarm: string) => string;
  /** Of the parameter that holds that secret. */
  readonly parameterArn: (secret: string) => string;
  readonly functionName: (fn: string) => string;
  readonly functionArn: (fn: string) => string;
  readonly logGroup: (fn: string) => string;
  readonly logGroupArn: (fn: string) => string;
  /** The queue of dead letters. */
  readonly lettersName: (of: LettersOf) => string;
  readonly lettersArn: (of: LettersOf) => string;
}

/** What may leave dead letters behind. */
export type LettersOf = "stream" | "schedule";

/** AWS takes 64 characters for a function and a role; the longest ending is that of a role. */
const NAME_CHARACTERS_MAX = 64;
const PREFIX_CHARACTERS_MAX = 40;
/** AWS takes 63 for a bucket, and account and region take their part. */
const BUCKET_CHARACTERS_MAX = 63;

/** Lower case: `Dev` and `dev` would have the same names. */
const WORDS = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

/**
 * The words of an app and its stage, in the characters that every service takes. No two deployments have the same: where
 * the app has a `-` itself, two of them show where its stage begins (`a-b--c` and `a-b-c`).
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

/** Refuses agents whose functions AWS would refuse. Names of roles are compared without regard to case. */
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

export function namesOf(prefix: string, { partition, region, account }: Place, restored: string | null = null): Names {
  const table = restored ?? prefix;
  // The machine calls Lambda by an ARN that is written so in this partition alone.
  if (partition !== "aws") throw new Error(`cairn is not deployed to the partition ${partition} yet`);
  const arn = (service: string, resource: string): string =>
    `arn:${partition}:${service}:${region}:${account}:${resource}`;
  const bucket = `${prefix}-${account}-${region}`;
  if (bucket.length > BUCKET_CHARACTERS_MAX)
    throw new Error(`${bucket} is too long for a bucket: take a shorter app or stage`);
  const alarmName = (alarm: string): string => `${prefix}.${alarm}`;
  const functionName = (fn: string): string => `${prefix}-${fn}`;
  const lettersName = (of: LettersOf): string => `${prefix}-${of}-letters`;
  const logGroup = (fn: string): string => `/aws/lambda/${functionName(fn)}`;
  return {
    ...{ prefix, bucket, table, region, account, functionName, logGroup },
    // No stage has a dot: `dev-agents` has another group, and the alarm `unreadable` of `dev-history` another name.
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
