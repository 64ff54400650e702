/** The clients of AWS: which are missing, and what to type. */
import { expect, test } from "vitest";
import { AWS_PACKAGES, awsPackagesMissing } from "../../src/ports/aws-packages.ts";

test("what is missing is named in one command", () => {
  const found = awsPackagesMissing("the world aws", (name) => !/-(s3|sfn)$/.test(name));
  expect(found).toMatchObject({
    code: "PackageMissing",
    what: "the world aws needs 2 clients of AWS, which are not installed",
    next: "npm install @aws-sdk/client-s3 @aws-sdk/client-sfn",
  });
});

test("one that is missing is named itself", () => {
  const found = awsPackagesMissing("the key", () => false, ["@aws-sdk/client-kms"]);
  expect(found).toMatchObject({
    what: "the key needs @aws-sdk/client-kms, which is not installed",
    next: "npm install @aws-sdk/client-kms",
  });
});

test("nothing is wrong where all are there", () => {
  expect(AWS_PACKAGES.length).toBeGreaterThan(0);
  expect(awsPackagesMissing("the world aws", () => true)).toBeNull();
});
