/** Who may do what: no role can do more than its function's operations of the ports come down to. */
import { describe, expect, test } from "vitest";
import { statementsOf } from "../../infra/grants.ts";
import { functionsOf, secretsOf } from "../../infra/plan.ts";
import {
  type Policy,
  type PolicyStatement,
  listOf,
  policyOf,
  tooWideStatements,
  trustedService,
} from "../support/aws/iam-policies.ts";
import { type Deployed, type Inputs, STAGES, deployed } from "./deployed.ts";

interface Role extends Inputs {
  readonly name?: string;
  readonly assumeRolePolicy: unknown;
  readonly managedPolicyArns?: readonly string[];
  readonly inlinePolicies?: readonly { readonly name: string; readonly policy: string }[];
}

/** SST's own, once for each account and region, so that API Gateway can write its access log; AWS knows no narrower way. */
const OF_SST = "APIGatewayPushToCloudWatchLogsRole";
const PUSHES_LOGS = "arn:aws:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs";

const rolesOf = ({ all }: Deployed) =>
  all("iam/role:Role").map(({ name, inputs }) => ({ ...(inputs as Role), resource: name }));

/** Inline policies, whichever way they are given. */
function policiesOf({ all }: Deployed, role: Role): readonly Policy[] {
  const beside = all("iam/rolePolicy:RolePolicy").filter(({ inputs }) => inputs["role"] === role.name);
  const inline = role.inlinePolicies ?? [];
  return [...inline.map(({ policy }) => policyOf(policy)), ...beside.map(({ inputs }) => policyOf(inputs["policy"]))];
}

describe.each(STAGES)("in %s", (stage) => {
  const deployment = deployed(stage);
  const functions = functionsOf(deployment.plan);
  const roleOf = (fn: string): Role =>
    deployment.one("iam/role:Role", { name: deployment.names.functionName(fn) }) as Role;

  test("no role may use all actions, or any action on all resources", () => {
    const roles = rolesOf(deployment);
    const policies = roles.flatMap((role) => policiesOf(deployment, role));
    expect(roles).toHaveLength(functions.length + 3);
    // A policy for each function, the machine's and the scheduler's.
    expect(policies).toHaveLength(functions.length + 2);
    // The machine may call what would be named as the function of an agent of this deployment.
    expect(policies.flatMap(tooWideStatements)).toEqual([deployment.names.functionArn("beat_*")]);
  });

  test("each role is assumed by one service, on behalf of this account alone", () => {
    const ofAccount = (role: Role) => policyOf(role.assumeRolePolicy).Statement.map(({ Condition }) => Condition);
    for (const role of rolesOf(deployment)) {
      if (role.resource === OF_SST) continue;
      expect(ofAccount(role), role.resource).toEqual([{ StringEquals: { "aws:SourceAccount": "123456789012" } }]);
    }
  });

  test("each role is assumed by one service", () => {
    const services = rolesOf(deployment).map((role) => [
      role.resource === OF_SST ? OF_SST : role.name,
      trustedService(policyOf(role.assumeRolePolicy)),
    ]);
    const { prefix, functionName } = deployment.names;
    expect(Object.fromEntries(services)).toEqual({
      ...Object.fromEntries(functions.map((fn) => [functionName(fn), "lambda.amazonaws.com"])),
      [`${prefix}-machine`]: "states.amazonaws.com",
      [`${prefix}-scheduler`]: "scheduler.amazonaws.com",
      [OF_SST]: "apigateway.amazonaws.com",
    });
  });

  test("no role has a managed policy, except the one that AWS requires", () => {
    const managed = rolesOf(deployment).flatMap((role) =>
      (role.managedPolicyArns ?? []).map((arn) => [role.resource, arn]),
    );
    expect(managed).toEqual([[OF_SST, PUSHES_LOGS]]);
    const others = deployment.resources.filter(({ type }) => /PolicyAttachment|iam\/policy:/.test(type));
    expect(others).toEqual([]);
  });

  test.each(functions)("%s has exactly its granted permissions", (fn) => {
    const [own, ...more] = policiesOf(deployment, roleOf(fn));
    const { options } = deployment.plan;
    const secrets = secretsOf(fn, deployment.plan);
    expect(own?.Statement).toEqual(
      statementsOf(fn, deployment.names, {
        ...{ secrets, sealKey: options.seal?.kmsKey ?? null },
        hasWebhooks: deployment.plan.webhooks.length > 0,
      }).map(writtenAs),
    );
    // One beside the role's own would be taken away by the next change of the role.
    expect(more).toEqual([]);
  });

  test("a role that lists objects lists those of this deployment, below the prefix of runs if it reads none", () => {
    const listing = rolesOf(deployment).flatMap((role) => {
      const statements = policiesOf(deployment, role).flatMap(({ Statement }) => Statement);
      const reads = statements.some(({ Action }) => listOf(Action).includes("s3:GetObject"));
      return statements
        .filter(({ Action }) => listOf(Action).includes("s3:ListBucket"))
        .map(({ Condition, Resource }) => ({ reads, Condition, Resource }));
    });
    const agents = deployment.plan.isolated.length;
    expect(listing.filter(({ reads }) => reads)).toHaveLength(4 + agents);
    expect(listing).toHaveLength(5 + agents);
    for (const { reads, Condition, Resource } of listing) {
      // To be told that an object is missing one has to be allowed to list, and that request has no prefix.
      expect(Condition).toEqual(reads ? undefined : { StringLike: { "s3:prefix": "runs/*" } });
      expect(Resource).toEqual([deployment.names.bucketArn]);
    }
  });

  test("the machine calls its functions and agent functions by name pattern, and the scheduler two functions", () => {
    const { names } = deployment;
    const arns = (...functions: readonly string[]) => functions.map(names.functionArn);
    const statements = (name: string) =>
      policiesOf(deployment, deployment.one("iam/role:Role", { name: `${names.prefix}-${name}` }) as Role).flatMap(
        (each) => each.Statement,
      );
    expect(statements("machine")).toEqual([
      // Whole and by version: executions that began before versions were published call the function as it is.
      // AWS says that a function is not there only to a caller that may invoke it.
      {
        ...{ Effect: "Allow", Action: ["lambda:InvokeFunction"] },
        Resource: arns("beat", "beat:*", "park", "sweep", "beat_*"),
      },
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
    const letters = (["schedule", "stream"] as const).map(deployment.names.lettersArn);
    const queues = deployment
      .all("sqs/queuePolicy:QueuePolicy")
      .map(({ inputs }) => policyOf(inputs["policy"]).Statement);
    expect(queues).toEqual(letters.map((arn) => [denied(arn, "sqs:*")]));
    const topics = deployment
      .all("sns/topicPolicy:TopicPolicy")
      .map(({ inputs }) => policyOf(inputs["policy"]).Statement);
    const arn = "arn:aws:sns:eu-west-1:123456789012:cairn-production-alarms";
    const ofAlarms = {
      ...{ Effect: "Allow", Principal: { Service: "cloudwatch.amazonaws.com" } },
      ...{ Action: ["sns:Publish"], Resource: arn },
      Condition: { StringEquals: { "aws:SourceAccount": "123456789012" } },
    };
    expect(topics).toEqual(stage === "dev" ? [] : [[ofAlarms, denied(arn, "sns:Publish")]]);
  });

  test("a planted s3:* of one function is detected", () => {
    const role = roleOf("beat");
    const planted: PolicyStatement = {
      Effect: "Allow",
      Action: "s3:*",
      Resource: `${deployment.names.bucketArn}/runs/*`,
    };
    const policies = policiesOf(deployment, role).map(({ Statement }) => ({ Statement: [...Statement, planted] }));
    expect(policies.flatMap(tooWideStatements)).toEqual(["s3:*"]);
  });
});

const queueArn = (name: string): string => `arn:aws:sqs:eu-west-1:123456789012:${name}`;

/** A grant, as the provider writes it. */
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
