/** The policy checkers find what must not be deployed. */
import { expect, test } from "vitest";
import { type PolicyStatement, tooWideStatements, trustedService } from "../support/aws/iam-policies.ts";

const TABLE = "arn:aws:dynamodb:eu-west-1:123456789012:table/cairn-dev";
const allowing = (more: Partial<PolicyStatement>) => ({
  Statement: [{ Effect: "Allow" as const, Action: ["dynamodb:GetItem"], Resource: [TABLE], ...more }],
});

test.each<[string, Partial<PolicyStatement>]>([
  ["every action of a service", { Action: ["dynamodb:GetItem", "s3:*"] }],
  ["every action", { Action: "*" }],
  ["actions that begin alike", { Action: "s3:Get*" }],
  ["every resource", { Resource: "*" }],
  ["every table", { Resource: [TABLE, "arn:aws:dynamodb:eu-west-1:123456789012:table/*"] }],
  ["tables that begin alike", { Resource: `${TABLE}*` }],
  ["those of every account", { Resource: "arn:aws:dynamodb:eu-west-1:*:table/cairn-dev" }],
  ["every bucket", { Resource: "arn:aws:s3:::*" }],
  ["all but some", { NotAction: ["iam:*"] }],
  ["everything else", { NotResource: [TABLE] }],
  ["nothing that is said", { Resource: [] }],
])("a policy that allows %s is too wide", (_, statement) => {
  expect(tooWideStatements(allowing(statement))).not.toEqual([]);
});

test.each([
  TABLE,
  `${TABLE}/index/alive`,
  `${TABLE}/index/due`,
  "arn:aws:s3:::bucket/runs/*",
  "arn:aws:logs:eu-west-1:123456789012:log-group:/aws/lambda/cairn-dev-beat:*",
  "@{RunsTable.streamArn}",
])("a policy may allow single actions on %s", (resource) => {
  expect(tooWideStatements(allowing({ Resource: resource }))).toEqual([]);
});

test("a denial may be as wide as necessary", () => {
  expect(tooWideStatements({ Statement: [{ Effect: "Deny", Action: "s3:*", Resource: "*" }] })).toEqual([]);
});

test("a role may be assumed by one service only", () => {
  const by = (Principal: NonNullable<PolicyStatement["Principal"]>, more: Partial<PolicyStatement> = {}) =>
    trustedService({ Statement: [{ Effect: "Allow", Action: "sts:AssumeRole", Principal, ...more }] });
  expect(by({ Service: "lambda.amazonaws.com" })).toBe("lambda.amazonaws.com");
  expect(by({ Service: ["lambda.amazonaws.com", "states.amazonaws.com"] })).toBeNull();
  expect(by({ Service: "lambda.amazonaws.com", AWS: "arn:aws:iam::123456789012:root" })).toBeNull();
  expect(by({ AWS: "123456789012" })).toBeNull();
  expect(by("*")).toBeNull();
  expect(by({ Service: "lambda.amazonaws.com" }, { Action: ["sts:AssumeRole", "sts:TagSession"] })).toBeNull();
});
