/** The triggers of functions: the state machine, the API, schedules, and the table's stream. */
import { describe, expect, test } from "vitest";
import { definitionOf } from "../../src/adapters/aws/machine/asl.ts";
import { machineTimesOf } from "../../infra/plan.ts";
import type { Task } from "../../src/protocol/chain.ts";
import { createApiHarness } from "../support/harness/api-harness.ts";
import { type Inputs, STAGES, deployed } from "./deployed.ts";

interface Method extends Inputs {
  readonly authorization: string;
  readonly httpMethod: string;
  readonly resourceId: string;
}

interface Schedule extends Inputs {
  readonly name: string;
  readonly scheduleExpression: string;
  readonly scheduleExpressionTimezone: string;
  readonly target: {
    readonly arn: string;
    readonly roleArn: string;
    readonly input: string;
    readonly deadLetterConfig: { readonly arn: string };
    readonly retryPolicy: { readonly maximumEventAgeInSeconds: number; readonly maximumRetryAttempts: number };
  };
}

describe.each(STAGES)("in %s", (stage) => {
  const deployment = deployed(stage);
  const { names, plan } = deployment;

  test("the state machine implements the chain, with the right type and name", () => {
    const machine = deployment.one("sfn/stateMachine:StateMachine") as { readonly definition: string };
    expect(machine).toMatchObject({
      ...{ name: names.prefix, type: "STANDARD" },
      roleArn: `arn:aws:iam::123456789012:role/${names.prefix}-machine`,
    });
    const { functionArn } = names;
    expect(JSON.parse(machine.definition)).toEqual(
      definitionOf({
        functions: {
          ...{ beat: functionArn("beat"), park: functionArn("park"), sweep: functionArn("sweep") },
          ...(plan.isolated.length === 0 ? {} : { agents: functionArn("beat_{}") }),
        },
        ...machineTimesOf(plan),
      }),
    );
  });

  test("every route of the API requires authentication except the health check and callbacks", () => {
    const paths = new Map(
      deployment.all("apigateway/resource:Resource").map(({ name, inputs }) => [`@{${name}.id}`, inputs["pathPart"]]),
    );
    const methods = deployment.all("apigateway/method:Method").map(({ inputs }) => inputs as Method);
    expect(
      methods.map((each) => ({
        method: each.httpMethod,
        path: paths.get(each.resourceId),
        authorization: each.authorization,
      })),
    ).toEqual([
      { method: "ANY", path: "{proxy+}", authorization: "AWS_IAM" },
      { method: "POST", path: "{token}", authorization: "NONE" },
      { method: "GET", path: "healthz", authorization: "NONE" },
    ]);
  });

  test("the access log has no path: that of a callback is a secret", () => {
    const { accessLogSettings } = deployment.one("apigateway/stage:Stage") as {
      readonly accessLogSettings: { readonly format: string };
    };
    expect(accessLogSettings.format).toContain("$context.requestId");
    expect(accessLogSettings.format).not.toContain("$context.path");
  });

  test("the API is regional, and no other API may call its function", () => {
    expect(deployment.one("apigateway/restApi:RestApi")).toMatchObject({
      ...{ name: names.prefix, endpointConfiguration: { types: "REGIONAL" } },
    });
    const permissions = deployment.all("lambda/permission:Permission").map(({ inputs }) => inputs);
    // SST makes one for each route that reaches the function.
    expect(permissions).toHaveLength(2);
    for (const permission of permissions) {
      expect(permission).toEqual({
        ...{ action: "lambda:InvokeFunction", function: names.functionArn("api") },
        principal: "apigateway.amazonaws.com",
        sourceArn: "arn:aws:execute-api:eu-west-1:123456789012:@{GatewayApi.id}/*",
      });
    }
    const integrations = deployment.all("apigateway/integration:Integration").map(({ inputs }) => inputs);
    const uri = `arn:aws:apigateway:eu-west-1:lambda:path/2015-03-31/functions/${names.functionArn("api")}/invocations`;
    expect(integrations.map((each) => ({ type: each["type"], uri: each["uri"] }))).toEqual([
      { type: "AWS_PROXY", uri },
      { type: "AWS_PROXY", uri },
      { type: "MOCK", uri: undefined },
    ]);
  });

  test("API Gateway answers the open route without a function, with the response of the API", async () => {
    const { resourceId } = deployment.one("apigateway/method:Method", {
      httpMethod: "GET",
      authorization: "NONE",
    }) as Method;
    expect(deployment.one("apigateway/integration:Integration", { resourceId })).toMatchObject({
      ...{ type: "MOCK", requestTemplates: { "application/json": '{"statusCode":200}' } },
    });
    const at = { resourceId, httpMethod: "GET", statusCode: "200" };
    const { responseParameters, responseTemplates } = deployment.one(
      "apigateway/integrationResponse:IntegrationResponse",
      at,
    ) as {
      readonly responseParameters: Readonly<Record<string, string>>;
      readonly responseTemplates: Readonly<Record<string, string>>;
    };
    const health = await createApiHarness().ask({ path: "/healthz" });
    expect(responseTemplates).toEqual({ "application/json": health.text });
    for (const [name, value] of Object.entries(responseParameters)) {
      const header = name.replace("method.response.header.", "");
      expect(value).toBe(`'${health.headers.get(header)}'`);
    }
    const declared = deployment.one("apigateway/methodResponse:MethodResponse", at)["responseParameters"] as object;
    expect(Object.keys(declared)).toEqual(Object.keys(responseParameters));
  });

  test("each route of the API is throttled, the open route the most", () => {
    const settings = deployment.all("apigateway/methodSettings:MethodSettings").map(({ inputs }) => inputs);
    const rate = plan.options.apiRate;
    const throttled = (methodPath: string, of: number) => ({
      ...{ restApi: "@{GatewayApi.id}", stageName: stage, methodPath },
      settings: { throttlingRateLimit: of, throttlingBurstLimit: 2 * of },
    });
    expect(settings).toEqual([throttled("*/*", rate), throttled("healthz/GET", 10)]);
    expect(rate).toBe(stage === "dev" ? 50 : 20);
  });

  const scheduleOf = (name: string) => deployment.one("scheduler/schedule:Schedule", { name }) as Schedule;
  const firesAt = (name: string) => {
    const { scheduleExpression, scheduleExpressionTimezone, target } = scheduleOf(name);
    return [scheduleExpression, scheduleExpressionTimezone, target.arn, JSON.parse(target.input) as unknown];
  };

  test("the sweeper runs as often as the plan says, and the search for orphans goes on every ten minutes", () => {
    const rate = `rate(${plan.options.sweepMinutes} minutes)`;
    const [sweep, orphans] = [{ kind: "sweep" }, { kind: "orphans" }] as const satisfies readonly Pick<Task, "kind">[];
    expect(firesAt("Sweep")).toEqual([rate, "UTC", names.functionArn("sweep"), sweep]);
    expect(firesAt("Orphans")).toEqual(["rate(10 minutes)", "UTC", names.functionArn("sweep"), orphans]);
  });

  test("the schedule of an agent has its time zone, and its firing contains the scheduled time", () => {
    expect(deployment.all("scheduler/schedule:Schedule")).toHaveLength(2 + plan.schedules.length);
    for (const { agent, expression, timezone } of plan.schedules) {
      const input = expect.objectContaining({ agent, scheduledTime: "<aws.scheduler.scheduled-time>" }) as unknown;
      expect(firesAt(agent)).toEqual([expression, timezone, names.functionArn("start"), input]);
    }
  });

  test("a failed delivery is retried and then becomes a dead letter", () => {
    const agents = new Set(plan.schedules.map(({ agent }) => agent));
    for (const { inputs } of deployment.all("scheduler/schedule:Schedule")) {
      const schedule = inputs as Schedule;
      // An agent may have the name Sweep.
      const groupName = agents.has(schedule.name) ? names.agentsGroup : names.prefix;
      expect(schedule).toMatchObject({
        ...{ groupName, flexibleTimeWindow: { mode: "OFF" } },
        target: {
          roleArn: `arn:aws:iam::123456789012:role/${names.prefix}-scheduler`,
          deadLetterConfig: { arn: `arn:aws:sqs:eu-west-1:123456789012:${names.lettersName("schedule")}` },
        },
      });
      const { maximumEventAgeInSeconds, maximumRetryAttempts } = schedule.target.retryPolicy;
      expect(maximumEventAgeInSeconds).toBeGreaterThanOrEqual(300);
      expect(maximumRetryAttempts).toBeGreaterThan(0);
    }
  });

  test("the stream sends only removed rows to the clean-up, and failures to a queue", () => {
    const mapping = deployment.one("lambda/eventSourceMapping:EventSourceMapping") as {
      readonly filterCriteria: { readonly filters: readonly { readonly pattern: string }[] };
    };
    expect(mapping).toMatchObject({
      ...{ eventSourceArn: "@{RunsTable.streamArn}", functionName: names.functionName("cleanup") },
      ...{ functionResponseTypes: ["ReportBatchItemFailures"], startingPosition: "TRIM_HORIZON" },
      ...{ batchSize: 50, maximumBatchingWindowInSeconds: 30 },
      destinationConfig: {
        onFailure: { destinationArn: `arn:aws:sqs:eu-west-1:123456789012:${names.lettersName("stream")}` },
      },
    });
    expect(mapping.filterCriteria.filters.map(({ pattern }) => JSON.parse(pattern) as unknown)).toEqual([
      { eventName: ["REMOVE"], dynamodb: { Keys: { item: { S: ["row"] } } } },
    ]);
  });

  test("dead letters are encrypted and kept for the maximum time of SQS", () => {
    const queues = deployment.all("sqs/queue:Queue").map(({ inputs }) => inputs);
    expect(queues).toEqual(
      (["schedule", "stream"] as const).map((of) => ({
        ...{ name: names.lettersName(of), messageRetentionSeconds: 14 * 24 * 3_600, sqsManagedSseEnabled: true },
      })),
    );
  });
});
