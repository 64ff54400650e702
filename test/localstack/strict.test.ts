/** The emulator refuses what AWS refuses by its quotas, each with the error of AWS. */
import {
  BatchGetItemCommand,
  BatchWriteItemCommand,
  PutItemCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import {
  CreatePolicyCommand,
  CreateRoleCommand,
  DeleteRoleCommand,
  DeleteRolePolicyCommand,
  PutRolePolicyCommand,
} from "@aws-sdk/client-iam";
import { CreateFunctionCommand } from "@aws-sdk/client-lambda";
import { DeleteObjectsCommand, PutBucketPolicyCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { StartExecutionCommand } from "@aws-sdk/client-sfn";
import { GetParametersCommand, PutParameterCommand, SSMClient } from "@aws-sdk/client-ssm";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { type Clients, clientsOf } from "../../localstack/clients.ts";
import { type Deployment, deploy, undeploy } from "./deployment.ts";

let deployment: Deployment;
let clients: Clients;
const parameters = new SSMClient();
const ROLE = "strict-role";

beforeAll(async () => {
  deployment = await deploy();
  clients = clientsOf(inject("stacks").url);
  await clients.roles.send(new CreateRoleCommand({ RoleName: ROLE, AssumeRolePolicyDocument: "{}" }));
});
afterAll(async () => {
  await clients.roles.send(new DeleteRolePolicyCommand({ RoleName: ROLE, PolicyName: "one" }));
  await clients.roles.send(new DeleteRoleCommand({ RoleName: ROLE }));
  await undeploy(deployment);
});

const KB = 1_024;
const list = <T>(length: number, of: (index: number) => T): T[] => Array.from({ length }, (_, index) => of(index));
const key = (run: string, item = "x") => ({ run: { S: run }, item: { S: item } });
const update = (UpdateExpression: string, values: Readonly<Record<string, { readonly N: string }>>) =>
  new UpdateItemCommand({
    TableName: deployment.table,
    Key: key("updated"),
    UpdateExpression,
    ExpressionAttributeValues: values,
  });
/** A policy with a resource of that many characters. */
const policyOf = (characters: number): string =>
  JSON.stringify({
    Version: "2012-10-17",
    Statement: [{ Effect: "Allow", Action: "s3:GetObject", Resource: `arn:aws:s3:::${"r".repeat(characters)}` }],
  });
const put = (row: number) => ({ PutRequest: { Item: key(`row-${row}`) } });

const REFUSED: readonly (readonly [what: string, name: string, says: RegExp, send: () => Promise<unknown>])[] = [
  [
    "an item over 400 KB",
    "ValidationException",
    /Item size has exceeded/,
    () =>
      clients.tables.send(
        new PutItemCommand({
          TableName: deployment.table,
          Item: { ...key("large"), body: { B: new Uint8Array(400 * KB) } },
        }),
      ),
  ],
  [
    "overlapping paths",
    "ValidationException",
    /path one: \[brief\], path two: \[brief, title\]/,
    () => clients.tables.send(update("SET brief = :a, brief.title = :a", { ":a": { N: "1" } })),
  ],
  [
    "300 operators",
    "ValidationException",
    /too many operators/,
    () => clients.tables.send(update(`SET a = :a${"+:a".repeat(301)}`, { ":a": { N: "1" } })),
  ],
  [
    "an expression over 4 KB",
    "ValidationException",
    /Expression size/,
    () => clients.tables.send(update(`SET ${"a".repeat(4 * KB)} = :a`, { ":a": { N: "1" } })),
  ],
  [
    "a partition key over 2 KB",
    "ValidationException",
    /hashkey/,
    () =>
      clients.tables.send(
        new UpdateItemCommand({
          TableName: deployment.table,
          Key: key("k".repeat(2_049)),
          UpdateExpression: "REMOVE b",
        }),
      ),
  ],
  [
    "a batch of 26 writes",
    "ValidationException",
    /Too many items/,
    () => clients.tables.send(new BatchWriteItemCommand({ RequestItems: { [deployment.table]: list(26, put) } })),
  ],
  [
    "a batch of 101 reads",
    "ValidationException",
    /Too many items/,
    () =>
      clients.tables.send(
        new BatchGetItemCommand({
          RequestItems: { [deployment.table]: { Keys: list(101, (index) => key(`${index}`)) } },
        }),
      ),
  ],
  [
    "a transaction over 4 MB",
    "ValidationException",
    /exceeds the limit of 4 MB/,
    () =>
      clients.tables.send(
        new TransactWriteItemsCommand({
          TransactItems: list(12, (index) => ({
            Put: { TableName: deployment.table, Item: { ...key(`${index}`), body: { S: "b".repeat(390 * KB) } } },
          })),
        }),
      ),
  ],
  [
    "a function's environment over 4 KB",
    "InvalidParameterValueException",
    /exceeded the 4KB limit/,
    () =>
      clients.functions.send(
        new CreateFunctionCommand({
          FunctionName: "strict",
          Role: "arn:aws:iam::000000000000:role/strict",
          Code: { ZipFile: new Uint8Array(1) },
          Environment: { Variables: { LONG: "v".repeat(4 * KB) } },
        }),
      ),
  ],
  [
    "a function's description over 256 characters",
    "ValidationException",
    /less than or equal to 256/,
    () =>
      clients.functions.send(
        new CreateFunctionCommand({
          FunctionName: "strict",
          Role: "arn:aws:iam::000000000000:role/strict",
          Code: { ZipFile: new Uint8Array(1) },
          Description: "d".repeat(257),
        }),
      ),
  ],
  [
    "policies of a role over 10,240 characters together",
    "LimitExceededException",
    /Maximum policy size of 10240/,
    async () => {
      const half = policyOf(5_200);
      const policy = (PolicyName: string) =>
        clients.roles.send(new PutRolePolicyCommand({ RoleName: ROLE, PolicyName, PolicyDocument: half }));
      await policy("one");
      await policy("two");
    },
  ],
  [
    "a managed policy over 6,144 characters",
    "LimitExceededException",
    /PolicySize: 6144/,
    () =>
      clients.roles.send(
        new CreatePolicyCommand({
          PolicyName: "strict",
          PolicyDocument: JSON.stringify({ Statement: "s".repeat(6_200) }),
        }),
      ),
  ],
  [
    "an execution's input over 256 KB",
    "ValidationException",
    /262144/,
    () =>
      deployment.clients.machine.send(
        new StartExecutionCommand({
          stateMachineArn: deployment.machine,
          input: JSON.stringify({ long: "i".repeat(256 * KB) }),
        }),
      ),
  ],
  [
    "an execution's name with a slash",
    "InvalidName",
    /Invalid Name/,
    () =>
      deployment.clients.machine.send(new StartExecutionCommand({ stateMachineArn: deployment.machine, name: "a/b" })),
  ],
  [
    "an object's key over 1,024 bytes",
    "KeyTooLongError",
    /too long/,
    () => clients.objects.send(new PutObjectCommand({ Bucket: deployment.bucket, Key: "k".repeat(1_025), Body: "x" })),
  ],
  [
    "metadata over 2 KB",
    "MetadataTooLarge",
    /metadata/,
    () =>
      clients.objects.send(
        new PutObjectCommand({
          Bucket: deployment.bucket,
          Key: "k",
          Body: "x",
          Metadata: { note: "n".repeat(2 * KB) },
        }),
      ),
  ],
  [
    "1,001 objects to delete",
    "MalformedXML",
    /not well-formed/,
    () =>
      clients.objects.send(
        new DeleteObjectsCommand({
          Bucket: deployment.bucket,
          Delete: { Objects: list(1_001, (index) => ({ Key: `k${index}` })) },
        }),
      ),
  ],
  [
    "a bucket's policy over 20 KB",
    "PolicyTooLarge",
    /maximum allowed size/,
    () =>
      clients.objects.send(
        new PutBucketPolicyCommand({ Bucket: deployment.bucket, Policy: JSON.stringify({ Sid: "p".repeat(20 * KB) }) }),
      ),
  ],
  [
    "eleven parameters at once",
    "ValidationException",
    /less than or equal to 10/,
    () => parameters.send(new GetParametersCommand({ Names: list(11, (index) => `p${index}`) })),
  ],
  [
    "a parameter over 4 KB",
    "ValidationException",
    /4096/,
    () => parameters.send(new PutParameterCommand({ Name: "strict", Type: "String", Value: "v".repeat(4_097) })),
  ],
];

test.each(REFUSED)("%s is refused as %s", async (_what, name, says, send) => {
  const error = await send().then(
    () => null,
    (thrown: unknown) => thrown as Error,
  );
  expect(error).toMatchObject({ name, message: expect.stringMatching(says) as unknown });
});

test("a signed request without a date is refused", async () => {
  const answer = await fetch(inject("stacks").url, {
    method: "POST",
    headers: {
      "content-type": "application/x-amz-json-1.0",
      "x-amz-target": "DynamoDB_20120810.ListTables",
      authorization:
        "AWS4-HMAC-SHA256 Credential=test/20270101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
    },
    body: "{}",
  });
  expect({ status: answer.status, text: await answer.text() }).toEqual({
    status: 400,
    text: expect.stringContaining("IncompleteSignatureException") as unknown,
  });
});
