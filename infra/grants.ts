/**
 * The permissions of each function: the AWS actions that its port operations need, and no others. No action is `*`, and
 * no resource is `*`.
 */
import { STORE } from "../src/adapters/aws/table/keys.ts";
import { type DeployedFunction, type FunctionKind, type LettersOf, type Names, kindOf } from "./names.ts";

/** A policy statement that allows actions on resources. */
export interface Statement {
  readonly actions: string[];
  readonly resources: string[];
  readonly conditions?: { readonly test: string; readonly variable: string; readonly values: string[] }[];
}

interface Grant {
  /** Actions on items of the table. */
  readonly rows: readonly string[];
  readonly indexes?: readonly string[];
  /** Actions on the objects of runs. */
  readonly objects?: readonly ("GetObject" | "PutObject" | "DeleteObject")[];
  /** May write the archive of a run when its end is delivered. No function may read or delete an archive. */
  readonly archives?: true;
  /** May read the object that names the bucket's store. */
  readonly store?: true;
  /** May start executions and read their status. */
  readonly starts?: true;
  /** May wake an execution that waits for a task token. */
  readonly wakes?: true;
  /** May read the stream of the table. Lambda reads it with the role of this function. */
  readonly follows?: true;
  /** May ask the sweep to deliver notifications, if the config names webhooks. */
  readonly asksToDeliver?: true;
  /** May read its secrets (`secretsOf`), and no others: those that agents declare, or that sign webhooks. */
  readonly secrets?: true;
  /** Writes runs: may get data keys for sealing, and decrypt the data keys of other writers. */
  readonly seals?: true;
  /** Only reads runs: may decrypt the data keys of their writers. */
  readonly unseals?: true;
  /** The dead-letter queue to which Lambda sends failed events, with the role of this function. */
  readonly letters?: LettersOf;
}

/** Reading and removing messages. `Query` also reads the journal of a row, for each function that reads rows. */
const INBOX = ["Query", "BatchGetItem", "BatchWriteItem"];
/** Delivering a message. This is a transaction, and each of its parts needs its own permission. */
const DELIVER = ["GetItem", "PutItem", "UpdateItem"];
/**
 * Creating a run. An expired row is deleted before its replacement is written. The transaction that writes the row also
 * checks the tombstone of the idempotency key. A repeated start may hand the run over.
 */
const CREATE = ["GetItem", "PutItem", "ConditionCheckItem", "DeleteItem", "UpdateItem"];
const KEEP = ["GetObject", "PutObject"] as const;

const GRANTS: Readonly<Record<FunctionKind, Grant>> = {
  beat: {
    // It makes child runs: their transaction checks the parent's row, and then their executions are started.
    ...{ rows: [...DELIVER, ...INBOX, "ConditionCheckItem"], objects: KEEP, archives: true },
    ...{ starts: true, wakes: true, asksToDeliver: true, secrets: true, seals: true },
  },
  park: { rows: ["GetItem", "Query", "UpdateItem"], wakes: true },
  start: { rows: [...CREATE, "Query"], objects: KEEP, starts: true, letters: "schedule", secrets: true, seals: true },
  sweep: {
    rows: [...DELIVER, ...INBOX],
    indexes: ["alive", "due"],
    objects: [...KEEP, "DeleteObject"],
    ...{ archives: true, store: true, starts: true, wakes: true, letters: "schedule", secrets: true, seals: true },
  },
  cleanup: {
    ...{ rows: ["GetItem", "Query", "BatchWriteItem"], objects: ["DeleteObject"] },
    ...{ follows: true, letters: "stream" },
  },
  api: {
    // Its health counts the live runs.
    ...{ rows: [...CREATE, "Query", "BatchGetItem"], indexes: ["byStatus", "alive"], objects: KEEP },
    ...{ starts: true, wakes: true, secrets: true, seals: true },
  },
  // It writes no run. It counts the requests of a tenant, and notes that a run has a reader.
  events: { rows: ["GetItem", "Query", "PutItem", "UpdateItem"], objects: ["GetObject"], unseals: true },
};

/**
 * The policy statements of a function. `secrets`: the names of the secrets that it may read; AWS's own key encrypts
 * them and needs no grant. `sealKey`: the ARN of the KMS key with which the deployment seals. `storeKey`: the one that
 * encrypts table and bucket. `hasWebhooks`: the config names some.
 */
export function statementsOf(
  fn: DeployedFunction,
  names: Names,
  {
    secrets,
    sealKey = null,
    storeKey,
    hasWebhooks = false,
  }: {
    readonly secrets: readonly string[];
    readonly sealKey?: string | null;
    readonly storeKey?: string | undefined;
    readonly hasWebhooks?: boolean;
  },
): Statement[] {
  const grant = GRANTS[kindOf(fn)];
  const { rows, indexes = [], archives, store, starts, wakes, follows, letters } = grant;
  const parameters = grant.secrets === true ? secrets.map(names.parameterArn) : [];
  const { tableArn, bucketArn, machineArn } = names;
  return [
    { actions: actionsOf("dynamodb", rows), resources: [tableArn] },
    ...indexes.map((index) => ({ actions: ["dynamodb:Query"], resources: [`${tableArn}/index/${index}`] })),
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
    ...(hasWebhooks && grant.asksToDeliver === true
      ? [{ actions: ["lambda:InvokeFunction"], resources: [names.functionArn("sweep")] }]
      : []),
    ...(follows === undefined ? [] : [{ actions: FOLLOW, resources: [`${tableArn}/stream/*`] }]),
    ...(parameters.length === 0 ? [] : [{ actions: ["ssm:GetParameter", "ssm:GetParameters"], resources: parameters }]),
    ...(sealKey === null || grant.seals === undefined ? [] : [{ actions: SEAL, resources: [sealKey] }]),
    ...(sealKey === null || grant.unseals === undefined ? [] : [{ actions: UNSEAL, resources: [sealKey] }]),
    ...(storeKey === undefined ? [] : [storeKeyStatement(storeKey, names)]),
    ...(letters === undefined ? [] : [{ actions: ["sqs:SendMessage"], resources: [names.lettersArn(letters)] }]),
    {
      actions: ["logs:CreateLogStream", "logs:PutLogEvents"],
      resources: [`${names.logGroupArn(fn)}:*`],
    },
  ];
}

/** Characters of all inline policies of a role together (AWS IAM User Guide, "IAM and AWS STS quotas"). */
const POLICIES_MAX = 10_240;
/** What the policies of a deployment have besides: those of a network, of traces, and of `deploy.permissions`. */
const POLICIES_SPARE = 1_024;

/** IAM would refuse it in the middle of a deployment. The names of secrets take most of it. */
export function refuseTooLongPolicy(fn: DeployedFunction, statements: readonly Statement[]): void {
  const length = JSON.stringify(
    statements.map(({ actions: Action, resources: Resource, conditions }) => ({
      Effect: "Allow",
      Action,
      Resource,
      Condition: conditions,
    })),
  ).length;
  if (length <= POLICIES_MAX - POLICIES_SPARE) return;
  throw new Error(
    `the policy of the function ${fn} has ${length} characters, and IAM takes ${POLICIES_MAX} for a role ` +
      `(${POLICIES_SPARE} are kept for what is added). Declare fewer secrets, or set deploy.isolation to "agent": ` +
      "then each agent has a function that may read its own secrets only",
  );
}

const FOLLOW = ["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"].map((each) => `dynamodb:${each}`);

const SEAL = ["kms:GenerateDataKey", "kms:Decrypt"];

const UNSEAL = ["kms:Decrypt"];

/** The table and the bucket use the key on behalf of the function that reads or writes them, and only so. */
const storeKeyStatement = (storeKey: string, { region }: Names): Statement => ({
  actions: ["Encrypt", "Decrypt", "ReEncryptFrom", "ReEncryptTo", "GenerateDataKey", "DescribeKey", "CreateGrant"].map(
    (each) => `kms:${each}`,
  ),
  resources: [storeKey],
  conditions: [
    {
      test: "StringEquals",
      variable: "kms:ViaService",
      values: ["dynamodb", "s3"].map((service) => `${service}.${region}.amazonaws.com`),
    },
  ],
});

const RUNS = "runs/*";

/**
 * Statements for objects. S3 reports a missing object as denied to a caller that may not list, and such a request has
 * no prefix to test. So a function that reads may list the whole bucket; the search for orphans lists it without a
 * prefix, too. A function that only deletes may list below `runs/` only.
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

/** A statement for a resource's own policy, which denies requests without TLS to every caller. */
export const tlsOnly = ({ actions, resource }: { readonly actions: readonly string[]; readonly resource: string }) => ({
  ...{ Effect: "Deny", Principal: "*", Action: actions, Resource: resource },
  Condition: { Bool: { "aws:SecureTransport": "false" } },
});

const actionsOf = (service: string, names: readonly string[]): string[] =>
  [...new Set(names)].map((name) => `${service}:${name}`);
