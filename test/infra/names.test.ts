/** The names of a deployment: deterministic, distinct, and accepted by every service. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FUNCTIONS, componentPrefix, namesOf, prefixOf } from "../../infra/names.ts";

const PLACE = { partition: "aws", region: "eu-west-1", account: "123456789012" };

describe("the prefix of a deployment", () => {
  test.each([
    ["cairn", "dev", "cairn-dev"],
    ["cairn", "production", "cairn-production"],
    ["my-app", "ann", "my-app--ann"],
    ["cairn", "pr-17", "cairn-pr-17"],
    ["a", "b", "a-b"],
    ["cairn", "a".repeat(34), `cairn-${"a".repeat(34)}`],
  ])("of %s and %s is %s", (app, stage, prefix) => {
    expect(prefixOf(app, stage)).toBe(prefix);
  });

  test.each([
    ["cairn", ""],
    ["", "dev"],
    ["cairn", "a_b"],
    ["cairn", "a.b"],
    ["cairn", "größe"],
    ["1cairn", "dev"],
    ["cairn", "dev-"],
    ["cairn", "pr 17"],
    ["cairn", "a".repeat(35)],
    ["cairn", "a/../b"],
    // Both would get the names of `dev`.
    ["cairn", "Dev"],
    ["Cairn", "dev"],
    ["cairn", "a--b"],
    ["cairn", "-dev"],
  ])("is refused for %s and %s", (app, stage) => {
    expect(() => prefixOf(app, stage)).toThrow(
      /cannot name a deployment: take an app and a stage of lower-case letters, digits and single -/,
    );
  });
});

test("differs between all deployments of an account", () => {
  const words = fc
    .array(fc.constantFrom("a", "b", "1"), { minLength: 1, maxLength: 4 })
    .map((parts) => parts.join("-"));
  const deployment = fc.tuple(
    words.map((app) => `x${app}`),
    words,
  );
  fc.assert(
    fc.property(deployment, deployment, (one, other) => {
      const isSame = one.join("/") === other.join("/");
      expect(prefixOf(...one) === prefixOf(...other)).toBe(isSame);
    }),
    { numRuns: 2_000 },
  );
  expect(prefixOf("a-b", "c")).not.toBe(prefixOf("a", "b-c"));
});

describe("the prefix of a component", () => {
  test.each([
    ["Cairn", "shop-dev"],
    ["Agents", "shop-dev---agents"],
    ["BackOffice2", "shop-dev---back-office2"],
  ])("%s of one app and stage is %s", (component, prefix) => {
    expect(componentPrefix({ app: "shop", stage: "dev", component })).toBe(prefix);
  });

  test.each(["agents", "My-Agents", "", "A".repeat(20)])("is refused for %j", (component) => {
    expect(() => componentPrefix({ app: "shop", stage: "dev", component })).toThrow(
      /^cairn\("\w*-?\w*"\) cannot be named .+: begin with a capital, take letters and digits only/,
    );
  });

  test("differs from that of every other component of an account", () => {
    const words = fc.array(fc.constantFrom("a", "b1"), { minLength: 1, maxLength: 3 }).map((parts) => parts.join("-"));
    const component = fc.array(fc.constantFrom("A", "B", "Ab", "A1"), { minLength: 1, maxLength: 3 });
    const any = fc.record({
      app: words,
      stage: words,
      component: fc.oneof(
        fc.constant("Cairn"),
        component.map((parts) => parts.join("")),
      ),
    });
    fc.assert(
      fc.property(any, any, (one, other) => {
        const isSame = Object.values(one).join("/") === Object.values(other).join("/");
        expect(componentPrefix(one) === componentPrefix(other)).toBe(isSame);
      }),
      { numRuns: 2_000 },
    );
  });
});

test("stores that exist are named by their name or their ARN", () => {
  const byName = namesOf("shop-dev", PLACE, { table: "runs", bucket: "objects" });
  const arns = { table: "arn:aws:dynamodb:eu-west-1:123456789012:table/runs", bucket: "arn:aws:s3:::objects" };
  expect(namesOf("shop-dev", PLACE, arns)).toMatchObject({ table: "runs", bucket: "objects" });
  expect(byName).toMatchObject({
    tableArn: arns.table,
    bucketArn: arns.bucket,
    store: "123456789012/eu-west-1/shop-dev",
  });
});

describe("the names of a deployment", () => {
  const names = namesOf("cairn-dev", PLACE);

  test("equal those that AWS composes", () => {
    expect(names).toMatchObject({
      ...{ bucket: "cairn-dev-123456789012-eu-west-1", store: "123456789012/eu-west-1/cairn-dev" },
      tableArn: "arn:aws:dynamodb:eu-west-1:123456789012:table/cairn-dev",
      bucketArn: "arn:aws:s3:::cairn-dev-123456789012-eu-west-1",
      machineArn: "arn:aws:states:eu-west-1:123456789012:stateMachine:cairn-dev",
    });
    expect(names.functionArn("beat")).toBe("arn:aws:lambda:eu-west-1:123456789012:function:cairn-dev-beat");
    expect(names.logGroupArn("beat")).toBe("arn:aws:logs:eu-west-1:123456789012:log-group:/aws/lambda/cairn-dev-beat");
    expect(names.alarmArn("takeovers")).toBe("arn:aws:cloudwatch:eu-west-1:123456789012:alarm:cairn-dev.takeovers");
    expect(names.lettersName("stream")).toBe("cairn-dev-stream-letters");
  });

  test("are in the one partition for which the machine's definition is written", () => {
    const place = { partition: "aws-cn", region: "cn-north-1", account: "123456789012" };
    expect(() => namesOf("cairn-dev", place)).toThrow(/not deployed to the partition aws-cn/);
  });

  test("fit the limits of functions and roles, even with the longest prefix", () => {
    const longest = namesOf(prefixOf("a", "b".repeat(38)), { ...PLACE, region: "eu-west-1", account: "1" });
    const ends = [
      ...FUNCTIONS.map(longest.functionName),
      `${longest.prefix}-scheduler`,
      longest.lettersName("schedule"),
    ];
    expect(Math.max(...ends.map((name) => name.length))).toBeLessThanOrEqual(64);
  });

  test("are refused with what to do when the bucket's name would be too long", () => {
    const place = { ...PLACE, region: "ap-southeast-1" };
    expect(() => namesOf("cairn-production-of-somebody", place)).not.toThrow();
    expect(() => namesOf("cairn-production-of-somebody-else-far-away", place)).toThrow(
      /is too long for a bucket: take a shorter app or stage/,
    );
  });
});
