/** Simulates the answers of AWS for a capture: ARNs in AWS's format, and references by name for everything else. */
import { TABLE } from "../src/adapters/aws/table/schema.ts";
import type { Place } from "./names.ts";

interface Asked {
  readonly type: string;
  readonly name: string;
  readonly inputs: Readonly<Record<string, unknown>>;
}

type Computed = Readonly<Record<string, string>>;

/** The computed attributes of a resource after its creation. */
export function computedOf({ type, name, inputs }: Asked, place: Place): Computed {
  const { partition, region, account } = place;
  const arn = (service: string, resource: string): string =>
    `arn:${partition}:${service}:${region}:${account}:${resource}`;
  const text = (input: string): string => {
    const given = inputs[input];
    return typeof given === "string" ? given : reference(input);
  };
  const reference = (attribute: string): string => `@{${name}.${attribute}}`;
  const own = text("name");
  switch (type) {
    case "aws:dynamodb/table:Table": {
      const table = arn("dynamodb", `table/${own}`);
      return { arn: table, streamArn: reference("streamArn") };
    }
    case "aws:s3/bucket:Bucket":
      return { arn: `arn:${partition}:s3:::${text("bucket")}`, id: text("bucket") };
    case "aws:lambda/function:Function": {
      const fn = arn("lambda", `function:${own}`);
      const invokeArn = `arn:${partition}:apigateway:${region}:lambda:path/2015-03-31/functions/${fn}/invocations`;
      return { arn: fn, invokeArn, id: own, version: reference("version") };
    }
    case "aws:lambda/alias:Alias":
      return { arn: arn("lambda", `function:${text("functionName")}:${own}`) };
    case "aws:iam/role:Role":
      return { arn: `arn:${partition}:iam::${account}:role/${own}`, id: own };
    case "aws:sqs/queue:Queue":
      return { arn: arn("sqs", own), url: reference("url"), id: reference("url") };
    case "aws:sns/topic:Topic":
      return { arn: arn("sns", own) };
    case "aws:sfn/stateMachine:StateMachine":
      return { arn: arn("states", `stateMachine:${own}`) };
    case "aws:cloudwatch/logGroup:LogGroup":
      return { arn: arn("logs", `log-group:${own}`) };
    case "aws:apigateway/restApi:RestApi":
      return {
        rootResourceId: reference("rootResourceId"),
        executionArn: arn("execute-api", reference("id")),
      };
    case "aws:apigateway/account:Account":
      return { cloudwatchRoleArn: "" };
    case "random:index/randomBytes:RandomBytes":
      return { base64: reference("base64") };
    default:
      return {};
  }
}

/** The answers to look-ups. */
export function answerOf(
  token: string,
  inputs: Readonly<Record<string, unknown>>,
  place: Place,
): Record<string, unknown> {
  const { partition, region, account } = place;
  switch (token) {
    case "aws:index/getPartition:getPartition":
      return { partition, id: partition };
    case "aws:index/getRegion:getRegion":
      return { region, id: region, name: region };
    case "aws:index/getCallerIdentity:getCallerIdentity":
      return { accountId: account, id: account };
    case "aws:dynamodb/getTable:getTable":
      return FITTING_TABLE;
    case "aws:s3/getBucket:getBucket":
      return { bucket: inputs["bucket"], id: inputs["bucket"], bucketRegion: region };
    case "aws:iam/getPolicyDocument:getPolicyDocument":
      return { statements: inputs["statements"], json: policyOf(inputs["statements"] as readonly StatementInput[]) };
    default:
      throw new Error(`the description asks AWS for ${token}: say what it answers`);
  }
}

/** An existing table as cairn needs it. */
export const FITTING_TABLE = {
  hashKey: TABLE.keys.partition,
  rangeKey: TABLE.keys.sort,
  attributes: [
    ...[TABLE.keys.partition, TABLE.keys.sort].map((name) => ({ name, type: "S" })),
    ...TABLE.indexes.flatMap(({ partition, sort }) => [partition, sort]),
  ],
  globalSecondaryIndexes: TABLE.indexes.map(({ name, partition, sort, projected }) => ({
    ...{ name, hashKey: partition.name, rangeKey: sort.name, nonKeyAttributes: [...projected] },
    projectionType: projected.length === 0 ? "KEYS_ONLY" : "INCLUDE",
  })),
  ...{ streamEnabled: true, streamViewType: TABLE.stream.view },
  ttl: { enabled: true, attributeName: TABLE.timeToLive },
};

interface StatementInput {
  readonly effect?: string;
  readonly actions?: readonly string[];
  readonly resources?: readonly string[];
  readonly principals?: readonly { readonly type: string; readonly identifiers: readonly string[] }[];
  readonly conditions?: readonly {
    readonly test: string;
    readonly variable: string;
    readonly values: readonly string[];
  }[];
}

/** A policy document in the format of the AWS provider. */
function policyOf(statements: readonly StatementInput[]): string {
  const Statement = statements.map(({ effect = "Allow", actions, resources, principals = [], conditions = [] }) => ({
    Effect: effect,
    Action: actions,
    Resource: resources,
    ...(principals.length === 0
      ? {}
      : {
          Principal: principals.some(({ type }) => type === "*")
            ? "*"
            : Object.fromEntries(principals.map(({ type, identifiers }) => [type, identifiers])),
        }),
    ...(conditions.length === 0 ? {} : { Condition: conditionOf(conditions) }),
  }));
  return JSON.stringify({ Version: "2012-10-17", Statement });
}

function conditionOf(conditions: NonNullable<StatementInput["conditions"]>): Record<string, Record<string, unknown>> {
  const found: Record<string, Record<string, unknown>> = {};
  for (const { test, variable, values } of conditions)
    found[test] = { ...found[test], [variable]: values.length === 1 ? values[0] : values };
  return found;
}
