/**
 * What each function may do, and nothing else: the actions that its operations of the ports come down to. No action is
 * `*`, and no resource is.
 */
import { STORE } from "../src/adapters/aws/keys.ts";
import { type DeployedFunction, type FunctionName, type LettersOf, type Names, kindOf } from "./names.ts";

export interface Statement {
  readonly actions: string[];
  readonly resources: string[];
  readonly conditions?: { readonly test: string; readonly variable: string; readonly values: string[] }[];
}

interface Grant {
  /** Actions on items of the table. */
  readonly rows: readonly string[];
  readonly index?: "alive";
  /** Actions on objects of runs. */
  readonly objects?: readonly ("GetObject" | "PutObject" | "DeleteObject")[];
  /** May put the archive of a run whose end it tells. Nobody may read or delete one. */
  readonly archives?: true;
  /** May read the name of the store that the bucket belongs to. */
  readonly store?: true;
  /** May start executions, and see what became of them. */
  readonly starts?: true;
  /** May wake what waits on a token. */
  readonly wakes?: true;
  /** May read the stream of the table: Lambda does, in its name. */
  readonly follows?: true;
  /** May read the secrets that agents declare, and no others. */
  readonly secrets?: true;
  /** Writes runs: may get a data key to seal with, and read those of others. */
  readonly seals?: true;
  /** Where Lambda leaves what it gave up, in its name. */
  readonly letters?: LettersOf;
}

/** Messages: absorbed and removed. */
const INBOX = ["Query", "BatchGetItem", "BatchWriteItem"];
/** A message is delivered in a transaction, whose parts are allowed one by one. */
const DELIVER = ["GetItem", "PutItem", "UpdateItem"];
/**
 * A row that has expired is deleted before another one takes its place; the tombstone of the key is checked in the
 * transaction that puts the row; a start that is repeated may hand over.
 */
const CREATE = ["GetItem", "PutItem", "ConditionCheckItem", "DeleteItem", "UpdateItem"];
const KEEP = ["GetObject", "PutObject"] as const;

const GRANTS: Readonly<Record<FunctionName, Grant>> = {
  beat: { rows: [...DELIVER, ...INBOX], objects: KEEP, archives: true, wakes: true, secrets: true, seals: true },
  park: { rows: ["UpdateItem"], wakes: true },
  start: { rows: CREATE, objects: KEEP, starts: true, letters: "schedule", secrets: true, seals: true },
  sweep: {
    rows: [...DELIVER, ...INBOX],
    index: "alive",
    objects: [...KEEP, "DeleteObject"],
    ...{ archives: true, store: true, starts: true, wakes: true, letters: "schedule", seals: true },
  },
  cleanup: {
    ...{ rows: ["GetItem", "Query", "BatchWriteItem"], objects: ["DeleteObject"] },
    ...{ follows: true, letters: "stream" },
  },
  api: { rows: [...CREATE, "Query"], objects: KEEP, starts: true, wakes: true, secrets: true, seals: true },
};

/**
 * `secrets`: the names of those that the function may read. The key that encrypts them is AWS's, and needs no other grant. `sealKey`: the
 * ARN of the KMS key that the deployment seals with.
 */
export function statementsOf(
  fn: DeployedFunction,
  names: Names,
  { secrets, sealKey = null }: { readonly secrets: readonly string[]; readonly sealKey?: string | null },
): Statement[] {
  const grant = GRANTS[kindOf(fn)];
  const { rows, index, archives, store, starts, wakes, follows, letters } = grant;
  const parameters = grant.secrets === true ? secrets.map(names.parameterArn) : [];
  const { tableArn, bucketArn, machineArn } = names;
  return [
    { actions: actionsOf("dynamodb", rows), resources: [tableArn] },
    ...(index === undefined ? [] : [{ actions: ["dynamodb:Query"], resources: [`${tableArn}/index/${index}`] }]),
    ...objectStatements(grant, bucketArn),
    ...(archives === undefined ? [] : [{ actions: ["s3:PutObject"], resources: [`${bucketArn}/archive/*`] }]),
    ...(store === undefined ? [] : [{ actions: ["s3:GetObject"], resources: [`${bucketArn}/${STORE.key}`] }]),
    ...(starts === undefined
      ? []
      : [
          { actions: ["states:StartExecution"], resources: [machineArn] },
          {
            actions: ["states:DescribeExecution"],
            resources: [`${machineArn.replace(":stateMachine:", ":execution:")}:*`],
          },
        ]),
    ...(wakes === undefined ? [] : [{ actions: ["states:SendTaskSuccess"], resources: [machineArn] }]),
    ...(follows === undefined ? [] : [{ actions: FOLLOW, resources: [`${tableArn}/stream/*`] }]),
    ...(parameters.length === 0 ? [] : [{ actions: ["ssm:GetParameter"], resources: parameters }]),
    ...(sealKey === null || grant.seals === undefined ? [] : [{ actions: SEAL, resources: [sealKey] }]),
    ...(letters === undefined ? [] : [{ actions: ["sqs:SendMessage"], resources: [names.lettersArn(letters)] }]),
    {
      actions: ["logs:CreateLogStream", "logs:PutLogEvents"],
      resources: [`${names.logGroupArn(fn)}:*`],
    },
  ];
}

const FOLLOW = ["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"].map((each) => `dynamodb:${each}`);

const SEAL = ["kms:GenerateDataKey", "kms:Decrypt"];

const RUNS = "runs/*";

/**
 * An object that is missing reads as denied to whoever may not list, and such a request has no prefix that a condition could
 * ask for; the look for orphans goes from key to key without one. Who only deletes lists below a prefix.
 */
function objectStatements({ objects = [] }: Grant, bucketArn: string): Statement[] {
  if (objects.length === 0) return [];
  const listing = { actions: ["s3:ListBucket"], resources: [bucketArn] };
  const below = [{ test: "StringLike", variable: "s3:prefix", values: [RUNS] }];
  return [
    { actions: actionsOf("s3", objects), resources: [`${bucketArn}/${RUNS}`] },
    objects.includes("GetObject") ? listing : { ...listing, conditions: below },
  ];
}

/** A statement of a resource's own policy: what comes without TLS is denied to every caller. */
export const tlsOnly = ({ actions, resource }: { readonly actions: readonly string[]; readonly resource: string }) => ({
  ...{ Effect: "Deny", Principal: "*", Action: actions, Resource: resource },
  Condition: { Bool: { "aws:SecureTransport": "false" } },
});

const actionsOf = (service: string, names: readonly string[]): string[] =>
  [...new Set(names)].map((name) => `${service}:${name}`);
