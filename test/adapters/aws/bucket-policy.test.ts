/** Which policies of a bucket count, and which only look as if they did. */
import { expect, test } from "vitest";
import { guaranteesOf } from "../../../src/adapters/aws/bucket/bucket-policy.ts";
import { NAMES, TLS_ONLY, denialOf, policyOf } from "../../support/aws/healthy-deployment.ts";

const PREFIXES = ["runs/", "archive/"];
const of = (...statements: readonly object[]) =>
  guaranteesOf(policyOf(...statements), { bucket: NAMES.bucket, prefixes: PREFIXES });

const runs = denialOf("runs/");
const bucket = `arn:aws:s3:::${NAMES.bucket}`;
const { Null, Bool } = runs.Condition;

test.each([
  ["AWS's own form", runs, ["runs/"]],
  ["without room for multipart uploads", { ...runs, Condition: { Null } }, ["runs/"]],
  ["of all of the bucket", { ...runs, Resource: `${bucket}/*` }, PREFIXES],
  ["of several prefixes", { ...runs, Resource: PREFIXES.map((prefix) => `${bucket}/${prefix}*`) }, PREFIXES],
  ["of another partition", { ...runs, Resource: `arn:aws-cn:s3:::${NAMES.bucket}/runs/*` }, ["runs/"]],
  [
    "of every action, with other letters",
    { ...runs, Action: ["S3:*"], Condition: { Null: { "S3:If-None-Match": true } } },
    ["runs/"],
  ],
] as const)("a denial %s counts", (_, statement, putOnce) => {
  expect(of(statement)).toEqual({ putOnce, tlsOnly: false });
});

test.each([
  ["for one caller", { ...runs, Principal: { AWS: "arn:aws:iam::1:role/x" } }],
  ["for whom nobody says", { ...runs, Principal: undefined }],
  ["of reads", { ...runs, Action: "s3:GetObject" }],
  ["of another bucket", { ...runs, Resource: "arn:aws:s3:::other/runs/*" }],
  ["of a part of the prefix", { ...runs, Resource: `${bucket}/runs/a*` }],
  ["of what has the header", { ...runs, Condition: { Null: { "s3:if-none-match": "false" }, Bool } }],
  ["on one more condition", { ...runs, Condition: { Null, Bool, StringEquals: { "aws:PrincipalArn": "x" } } }],
  ["without its condition", { ...runs, Condition: { Bool } }],
  ["that allows", { ...runs, Effect: "Allow" }],
])("a denial %s does not count", (_, statement) => {
  expect(of(statement)).toEqual({ putOnce: [], tlsOnly: false });
});

test("TLS is demanded of the bucket and of its objects", () => {
  expect(of(TLS_ONLY, runs)).toEqual({ putOnce: ["runs/"], tlsOnly: true });
  expect(of({ ...TLS_ONLY, Resource: `${bucket}/*` })?.tlsOnly).toBe(false);
  expect(of({ ...TLS_ONLY, Action: "s3:PutObject" })?.tlsOnly).toBe(false);
  expect(of(TLS_ONLY, { ...TLS_ONLY, Condition: { Bool: { "aws:SecureTransport": "true" } } })?.tlsOnly).toBe(true);
});

test.each(["{", "[]", '{"Statement":[{}]}', '{"Statement":7}'])("%s is no policy", (document) => {
  expect(guaranteesOf(document, { bucket: NAMES.bucket, prefixes: PREFIXES })).toBeNull();
});

test("one statement may stand alone", () => {
  const document = JSON.stringify({ Statement: runs });
  expect(guaranteesOf(document, { bucket: NAMES.bucket, prefixes: PREFIXES })?.putOnce).toEqual(["runs/"]);
});
