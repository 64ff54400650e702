/**
 * The requests of the functions and their grants. LocalStack does not enforce policies, so these tests do each
 * function's work through recording clients and compare the requests with the policies of the deployment. Every call
 * must be granted, and every grant must be used.
 */
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { FUNCTIONS, type FunctionName } from "../../infra/bundle.ts";
import { type Deployment, deploy, undeploy } from "./deployment.ts";
import { type Grant, type Need, type Policy, allows, grantsOf } from "./iam.ts";
import { type Listened, listened } from "./listened.ts";
import { playAll } from "./scenes.ts";

const { lane } = inject("stacks");
const ARNS = {
  table: `arn:aws:dynamodb:us-east-1:000000000000:table/${lane.table}`,
  bucket: `arn:aws:s3:::${lane.bucket}`,
  machine: lane.machine,
};

/** Grants that no work in these tests uses. */
const UNUSED: readonly (readonly [what: RegExp, why: string])[] = [
  [/^logs:(CreateLogStream|PutLogEvents) /, "Lambda itself writes what a function prints"],
  [/^dynamodb:(DescribeStream|GetRecords|GetShardIterator|ListStreams) /, "Lambda itself reads the stream"],
  [/^ssm:GetParameters? /, "its client is loaded on use and not listened to: secrets.test.ts shows the calls"],
  [/^sqs:SendMessage /, "Lambda itself leaves the letters"],
];

/** The inline policy of its role, which covers its own code. */
function grantedTo(fn: FunctionName): readonly Grant[] {
  const role = lane.resources.find(
    ({ type, inputs }) => type === "aws:iam/role:Role" && inputs["name"] === `${lane.table}-${fn}`,
  );
  const inline = role?.inputs["inlinePolicies"] as readonly { readonly policy: string }[];
  return inline.flatMap(({ policy }) => grantsOf(JSON.parse(policy) as Policy));
}

const textOf = ({ action, resource }: Need | Grant): string => `${action} ${resource}`;

describe("a function", () => {
  let deployment: Deployment;
  let on: Listened;
  beforeAll(async () => {
    deployment = await deploy();
    on = listened(deployment, ARNS);
    await playAll(on);
  });
  afterAll(() => undeploy(deployment));

  test.each(FUNCTIONS)("%s is granted every call that it makes", (fn) => {
    const needs = on.needs.get(fn) ?? [];
    expect(needs).not.toEqual([]);
    const refused = needs.filter((need) => !grantedTo(fn).some((grant) => allows(grant, need)));
    expect([...new Set(refused.map(textOf))]).toEqual([]);
  });

  test.each(FUNCTIONS)("%s uses every grant that it has", (fn) => {
    const needs = on.needs.get(fn) ?? [];
    const idle = grantedTo(fn).filter((grant) => !needs.some((need) => allows(grant, need)));
    expect(idle.map(textOf).filter((grant) => !UNUSED.some(([what]) => what.test(grant)))).toEqual([]);
  });
});

describe("a grant", () => {
  const one = (Statement: Policy["Statement"]): Grant => grantsOf({ Statement })[0] as Grant;
  const put = one([{ Effect: "Allow", Action: ["s3:PutObject"], Resource: ["arn:aws:s3:::b/runs/*"] }]);
  const Condition = { StringLike: { "s3:prefix": ["runs/*"] } };
  const list = one([{ Effect: "Allow", Action: ["s3:ListBucket"], Resource: "arn:aws:s3:::b", Condition }]);
  const listing = { action: "s3:ListBucket", resource: "arn:aws:s3:::b" };

  test.each([
    [put, { action: "s3:PutObject", resource: "arn:aws:s3:::b/runs/x/y" }, true],
    [put, { action: "s3:PutObject", resource: "arn:aws:s3:::b/archive/x" }, false],
    [put, { action: "s3:GetObject", resource: "arn:aws:s3:::b/runs/x" }, false],
    [list, { ...listing, prefix: "runs/a/" }, true],
    [list, { ...listing, prefix: "archive/" }, false],
    [list, { ...listing, prefix: null }, false],
    [list, listing, false],
  ] as const)("%j is held to %j: %s", (grant, need, isAllowed) => {
    expect(allows(grant, need)).toBe(isAllowed);
  });

  test.each([
    [{ Effect: "Deny", Action: ["s3:*"], Resource: "*" }, /the effect Deny/],
    [
      { Effect: "Allow", Action: ["s3:*"], Resource: "*", Condition: { Bool: { "aws:SecureTransport": "true" } } },
      /it is not known what/,
    ],
  ] as const)("of unknown syntax is refused: %j", (statement, why) => {
    expect(() => grantsOf({ Statement: [statement] })).toThrow(why);
  });
});
