/** Permissions: no role allows more than the port operations of its function need. */
import { describe, expect, test } from "vitest";
import { statementsOf } from "../../infra/grants.ts";
import { FUNCTIONS } from "../../infra/names.ts";
import { type Policy, type PolicyStatement, listOf, policyOf, tooWide, trusted } from "../support/policies.ts";
import { type Deployed, type Inputs, STAGES, deployed } from "./deployed.ts";

interface Role extends Inputs {
  readonly name?: string;
  readonly assumeRolePolicy: unknown;
  readonly managedPolicyArns?: readonly string[];
  readonly inlinePolicies?: readonly { readonly name: string; readonly policy: string }[];
}

/**
 * SST's own role, once per account and region, with which API Gateway writes access logs; AWS allows no narrower one.
 */
const OF_SST = "APIGatewayPushToCloudWatchLogsRole";
const PUSHES_LOGS = "arn:aws:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs";

const rolesOf = ({ all }: Deployed) =>
  all("iam/role:Role").map(({ name, inputs }) => ({ ...(inputs as Role), resource: name }));

/** Inline policies, however they are declared. */
function policiesOf({ all }: Deployed, role: Role): readonly Policy[] {
  const beside = all("iam/rolePolicy:RolePolicy").filter(({ inputs }) => inputs["role"] === role.name);
  const inline = role.inlinePolicies ?? [];
  return [...inline.map(({ policy }) => policyOf(policy)), ...beside.map(({ inputs }) => policyOf(inputs["policy"]))];
}

describe.each(STAGES)("in %s", (stage) => {
  const on = deployed(stage);
  const roleOf = (fn: string): Role => on.one("iam/role:Role", { name: on.names.functionName(fn) }) as Role;

  test("no role allows all actions, or an action on all resources", () => {
    const roles = rolesOf(on);
    const policies = roles.flatMap((role) => policiesOf(on, role));
    expect(roles).toHaveLength(FUNCTIONS.length + 3);
    // One policy per function, one of the state machine and one of the scheduler.
    expect(policies).toHaveLength(FUNCTIONS.length + 2);
    expect(policies.flatMap(tooWide)).toEqual([]);
  });

  test("each role is assumed by one service, on behalf of this account only", () => {
    const ofAccount = (role: Role) => policyOf(role.assumeRolePolicy).Statement.map(({ Condition }) => Condition);
    for (const role of rolesOf(on)) {
      if (role.resource === OF_SST) continue;
      expect(ofAccount(role), role.resource).toEqual([{ StringEquals: { "aws:SourceAccount": "123456789012" } }]);
    }
  });

  test("each role is assumed by one service", () => {
    expect(
      Object.fromEntries(rolesOf(on).map((role) => [role.resource, trusted(policyOf(role.assumeRolePolicy))])),
    ).toEqual({
      ...Object.fromEntries(
        FUNCTIONS.map((fn) => [`${fn.charAt(0).toUpperCase()}${fn.slice(1)}Role`, "lambda.amazonaws.com"]),
      ),
      MachineRole: "states.amazonaws.com",
      SchedulerRole: "scheduler.amazonaws.com",
      [OF_SST]: "apigateway.amazonaws.com",
    });
  });

  test("no role has a managed policy except the one that AWS requires", () => {
    const managed = rolesOf(on).flatMap((role) => (role.managedPolicyArns ?? []).map((arn) => [role.resource, arn]));
    expect(managed).toEqual([[OF_SST, PUSHES_LOGS]]);
    const others = on.resources.filter(({ type }) => /PolicyAttachment|iam\/policy:/.test(type));
    expect(others).toEqual([]);
  });

  test.each(FUNCTIONS)("%s may do what it is granted and nothing else", (fn) => {
    const [own, ...more] = policiesOf(on, roleOf(fn));
    const { secrets, options } = on.plan;
    expect(own?.Statement).toEqual(
      statementsOf(fn, on.names, { secrets, sealKey: options.seal?.kmsKey ?? null }).map(writtenAs),
    );
    // A separate policy would be removed by the next change of the role.
    expect(more).toEqual([]);
  });

  test("listing objects is allowed in this deployment only, and below the runs prefix for roles that read no object", () => {
    const listing = rolesOf(on).flatMap((role) => {
      const statements = policiesOf(on, role).flatMap(({ Statement }) => Statement);
      const reads = statements.some(({ Action }) => listOf(Action).includes("s3:GetObject"));
      return statements
        .filter(({ Action }) => listOf(Action).includes("s3:ListBucket"))
        .map(({ Condition, Resource }) => ({ reads, Condition, Resource }));
    });
    expect(listing.filter(({ reads }) => reads)).toHaveLength(4);
    expect(listing).toHaveLength(5);
    for (const { reads, Condition, Resource } of listing) {
      // S3 reports a missing object only to callers that may list, and that request has no prefix.
      expect(Condition).toEqual(reads ? undefined : { StringLike: { "s3:prefix": "runs/*" } });
      expect(Resource).toEqual([on.names.bucketArn]);
    }
  });

  test("the state machine may call its three functions, and the scheduler the two with schedules", () => {
    const { names } = on;
    const arns = (...functions: readonly string[]) => functions.map(names.functionArn);
    const statements = (name: string) =>
      policiesOf(on, on.one("iam/role:Role", { name: `${names.prefix}-${name}` }) as Role).flatMap(
        (each) => each.Statement,
      );
    expect(statements("machine")).toEqual([
      // With and without version: executions from before published versions call the function without one.
      { Effect: "Allow", Action: ["lambda:InvokeFunction"], Resource: arns("beat", "beat:*", "park", "sweep") },
    ]);
    expect(statements("scheduler")).toEqual([
      { Effect: "Allow", Action: ["lambda:InvokeFunction"], Resource: arns("sweep", "start") },
      { Effect: "Allow", Action: ["sqs:SendMessage"], Resource: [queueArn(names.lettersName("schedule"))] },
    ]);
  });

  test("queues and the topic deny requests without TLS", () => {
    const denied = (Resource: string, ...Action: readonly string[]) => ({
      ...{ Effect: "Deny", Principal: "*", Action, Resource },
      Condition: { Bool: { "aws:SecureTransport": "false" } },
    });
    const letters = (["schedule", "stream"] as const).map(on.names.lettersArn);
    const queues = on.all("sqs/queuePolicy:QueuePolicy").map(({ inputs }) => policyOf(inputs["policy"]).Statement);
    expect(queues).toEqual(letters.map((arn) => [denied(arn, "sqs:*")]));
    const topics = on.all("sns/topicPolicy:TopicPolicy").map(({ inputs }) => policyOf(inputs["policy"]).Statement);
    const arn = "arn:aws:sns:eu-west-1:123456789012:cairn-production-alarms";
    const ofAlarms = {
      ...{ Effect: "Allow", Principal: { Service: "cloudwatch.amazonaws.com" } },
      ...{ Action: ["sns:Publish"], Resource: arn },
      Condition: { StringEquals: { "aws:SourceAccount": "123456789012" } },
    };
    expect(topics).toEqual(stage === "dev" ? [] : [[ofAlarms, denied(arn, "sns:Publish")]]);
  });

  test("a planted s3:* of one function is found", () => {
    const role = roleOf("beat");
    const planted: PolicyStatement = { Effect: "Allow", Action: "s3:*", Resource: `${on.names.bucketArn}/runs/*` };
    const policies = policiesOf(on, role).map(({ Statement }) => ({ Statement: [...Statement, planted] }));
    expect(policies.flatMap(tooWide)).toEqual(["s3:*"]);
  });
});

const queueArn = (name: string): string => `arn:aws:sqs:eu-west-1:123456789012:${name}`;

/** A grant as the provider writes it. */
const writtenAs = ({ actions, resources, conditions }: ReturnType<typeof statementsOf>[number]) => ({
  ...{ Effect: "Allow", Action: actions, Resource: resources },
  ...(conditions === undefined
    ? {}
    : {
        Condition: Object.fromEntries(
          conditions.map(({ test, variable, values }) => [
            test,
            { [variable]: values.length === 1 ? values[0] : values },
          ]),
        ),
      }),
});
