/**
 * The permissions that a client's call needs on AWS, and whether a policy allows them: the part of IAM that cairn's
 * policies use. The emulator does not enforce policies, so this code does.
 */
import type { MeteredCall } from "../../src/adapters/aws/meter.ts";

/** An action on a resource; `prefix` is that of a listing, or null. */
export interface Need {
  readonly action: string;
  readonly resource: string;
  readonly prefix?: string | null;
}

export interface Policy {
  readonly Statement: readonly Statement[];
}

interface Statement {
  readonly Effect: string;
  readonly Action: readonly string[];
  readonly Resource: string | readonly string[];
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;
}

/** One action on one pattern of resources. */
export interface Grant {
  readonly action: string;
  readonly resource: string;
  readonly prefixes: readonly string[] | null;
}

/** Throws on syntax that it does not know, because that might allow or deny anything. */
export function grantsOf({ Statement }: Policy): readonly Grant[] {
  return Statement.flatMap(({ Effect, Action, Resource, Condition }) => {
    if (Effect !== "Allow") throw new Error(`a policy of a function has the effect ${Effect}`);
    const prefixes = prefixesIn(Condition);
    return Action.flatMap((action) => [Resource].flat().map((resource) => ({ action, resource, prefixes })));
  });
}

function prefixesIn(condition: Statement["Condition"]): Grant["prefixes"] {
  if (condition === undefined) return null;
  const { StringLike: { "s3:prefix": prefixes, ...others } = {}, ...tests } = condition;
  if (prefixes === undefined || Object.keys({ ...others, ...tests }).length > 0)
    throw new Error(`it is not known what ${JSON.stringify(condition)} allows`);
  return [prefixes].flat();
}

/** A condition on a key that the request does not have is not met. */
export const allows = ({ action, resource, prefixes }: Grant, need: Need): boolean =>
  isLike(action, need.action) &&
  isLike(resource, need.resource) &&
  (prefixes === null || prefixes.some((pattern) => need.prefix != null && isLike(pattern, need.prefix)));

function isLike(pattern: string, text: string): boolean {
  const quoted = pattern
    .replace(/[\\^$.|+()[\]{}]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  return new RegExp(`^${quoted}$`, "s").test(text);
}

/** The ARNs in the policies that correspond to the called resources. */
export interface Arns {
  readonly table: string;
  readonly bucket: string;
  readonly machine: string;
}

export function needsOf({ service, operation, input }: MeteredCall, arns: Arns): readonly Need[] {
  switch (service) {
    case "table":
      return rowNeeds(operation, input, arns);
    case "bucket":
      return objectNeeds(operation, input, arns);
    case "machine":
      return [{ action: `states:${operation}`, resource: machineOf(input, arns) }];
  }
}

/** An execution's ARN contains its machine's name. Answering a token needs permission for the waiting machine. */
function machineOf({ executionArn }: Input, { machine }: Arns): string {
  const name = typeof executionArn === "string" ? executionArn.split(":").at(-1) : undefined;
  return name === undefined ? machine : `${machine.replace(":stateMachine:", ":execution:")}:${name}`;
}

type Input = MeteredCall["input"];

function rowNeeds(operation: string, input: Input, { table }: Arns): readonly Need[] {
  const need = (name: string): Need => ({ action: `dynamodb:${name}`, resource: table });
  switch (operation) {
    case "TransactWriteItems":
      // Each part needs its own permission.
      return (input["TransactItems"] as readonly object[]).flatMap((part) =>
        Object.keys(part).map((kind) => need(kind === "ConditionCheck" ? "ConditionCheckItem" : `${kind}Item`)),
      );
    case "Query": {
      const index = input["IndexName"];
      return [typeof index === "string" ? { ...need("Query"), resource: `${table}/index/${index}` } : need("Query")];
    }
    default:
      return [need(operation)];
  }
}

function objectNeeds(operation: string, input: Input, { bucket }: Arns): readonly Need[] {
  const at = (key: unknown): string => `${bucket}/${String(key)}`;
  const listing = (prefix: unknown): Need => ({
    ...{ action: "s3:ListBucket", resource: bucket },
    prefix: typeof prefix === "string" ? prefix : null,
  });
  switch (operation) {
    case "GetObject":
      // S3 reports a missing object only to callers that may list, and that request has no prefix.
      return [{ action: "s3:GetObject", resource: at(input["Key"]) }, listing(null)];
    case "PutObject":
      return [{ action: "s3:PutObject", resource: at(input["Key"]) }];
    case "ListObjectsV2":
      return [listing(input["Prefix"])];
    case "DeleteObjects":
      return (input["Delete"] as { readonly Objects: readonly { readonly Key: string }[] }).Objects.map(({ Key }) => ({
        ...{ action: "s3:DeleteObject", resource: at(Key) },
      }));
    default:
      throw new Error(`it is not known what ${operation} needs`);
  }
}
