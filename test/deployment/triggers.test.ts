/** What sets functions off: the machine, the API, time, and the table's stream. */
import { describe, expect, test } from "vitest";
import { definitionOf } from "../../src/adapters/aws/asl.ts";
import { machineTimesOf } from "../../infra/plan.ts";
import type { Task } from "../../src/protocol/chain.ts";
import { desk } from "../support/api.ts";
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
  const on = deployed(stage);
  const { names, plan } = on;

  test("the machine is the chain, of its kind and under its name", () => {
    const machine = on.one("sfn/stateMachine:StateMachine") as { readonly definition: string };
    expect(machine).toMatchObject({
      ...{ name: names.prefix, type: "STANDARD" },
      roleArn: `arn:aws:iam::123456789012:role/${names.prefix}-machine`,
    });
    const { functionArn } = names;
    expect(JSON.parse(machine.definition)).toEqual(
      definitionOf({
        functions: { beat: functionArn("beat"), park: functionArn("park"), sweep: functionArn("sweep") },
        ...machineTimesOf(plan),
      }),
    );
  });

  test("every route of the API asks who calls, but the one that only says that somebody answers", () => {
    const paths = new Map(
      on.all("apigateway/resource:Resource").map(({ name, inputs }) => [`@{${name}.id}`, inputs["pathPart"]]),
    );
    const methods = on.all("apigateway/method:Method").map(({ inputs }) => inputs as Method);
    expect(methods.map((each) => [each.httpMethod, paths.get(each.resourceId), each.authorization])).toEqual([
      ["ANY", "{proxy+}", "AWS_IAM"],
      ["GET", "healthz", "NONE"],
    ]);
  });

  test("the API lies in its region, and no other one calls its function", () => {
    expect(on.one("apigateway/restApi:RestApi")).toMatchObject({
      ...{ name: names.prefix, endpointConfiguration: { types: "REGIONAL" } },
    });
    const permissions = on.all("lambda/permission:Permission").map(({ inputs }) => inputs);
    expect(permissions).toHaveLength(1);
    for (const permission of permissions) {
      expect(permission).toEqual({
        ...{ action: "lambda:InvokeFunction", function: names.functionArn("api") },
        principal: "apigateway.amazonaws.com",
        sourceArn: "arn:aws:execute-api:eu-west-1:123456789012:@{GatewayApi.id}/*",
      });
    }
    const integrations = on.all("apigateway/integration:Integration").map(({ inputs }) => inputs);
    expect(integrations.map(({ type, uri }) => [type, uri])).toEqual([
      [
        "AWS_PROXY",
        `arn:aws:apigateway:eu-west-1:lambda:path/2015-03-31/functions/${names.functionArn("api")}/invocations`,
      ],
      ["MOCK", undefined],
    ]);
  });

  test("API Gateway answers the open route by itself, as the API does, and no function is called", async () => {
    const { resourceId } = on.one("apigateway/method:Method", { authorization: "NONE" }) as Method;
    expect(on.one("apigateway/integration:Integration", { resourceId })).toMatchObject({
      ...{ type: "MOCK", requestTemplates: { "application/json": '{"statusCode":200}' } },
    });
    const at = { resourceId, httpMethod: "GET", statusCode: "200" };
    const { responseParameters, responseTemplates } = on.one(
      "apigateway/integrationResponse:IntegrationResponse",
      at,
    ) as {
      readonly responseParameters: Readonly<Record<string, string>>;
      readonly responseTemplates: Readonly<Record<string, string>>;
    };
    const health = await desk().ask({ path: "/healthz" });
    expect(responseTemplates).toEqual({ "application/json": health.text });
    for (const [name, value] of Object.entries(responseParameters)) {
      const header = name.replace("method.response.header.", "");
      expect(value).toBe(`'${health.headers.get(header)}'`);
    }
    const declared = on.one("apigateway/methodResponse:MethodResponse", at)["responseParameters"] as object;
    expect(Object.keys(declared)).toEqual(Object.keys(responseParameters));
  });

  test("each route of the API is throttled, the open one the most", () => {
    const settings = on.all("apigateway/methodSettings:MethodSettings").map(({ inputs }) => inputs);
    const rate = plan.options.apiRate;
    const throttled = (methodPath: string, of: number) => ({
      ...{ restApi: "@{GatewayApi.id}", stageName: stage, methodPath },
      settings: { throttlingRateLimit: of, throttlingBurstLimit: 2 * of },
    });
    expect(settings).toEqual([throttled("*/*", rate), throttled("healthz/GET", 10)]);
    expect(rate).toBe(stage === "dev" ? 50 : 20);
  });

  const scheduleOf = (name: string) => on.one("scheduler/schedule:Schedule", { name }) as Schedule;
  const firesAt = (name: string) => {
    const { scheduleExpression, scheduleExpressionTimezone, target } = scheduleOf(name);
    return [scheduleExpression, scheduleExpressionTimezone, target.arn, JSON.parse(target.input) as unknown];
  };

  test("the sweeper is called as often as the plan says, and the look for orphans once a day", () => {
    const rate = `rate(${plan.options.sweepMinutes} minutes)`;
    const [sweep, orphans] = [{ kind: "sweep" }, { kind: "orphans" }] as const satisfies readonly Pick<Task, "kind">[];
    expect(firesAt("Sweep")).toEqual([rate, "UTC", names.functionArn("sweep"), sweep]);
    expect(firesAt("Orphans")).toEqual(["rate(1 day)", "UTC", names.functionArn("sweep"), orphans]);
  });

  test("the schedule of an agent has its time zone, and its firing the time that the scheduler puts in", () => {
    expect(on.all("scheduler/schedule:Schedule")).toHaveLength(2 + plan.schedules.length);
    for (const { agent, expression, timezone } of plan.schedules) {
      const input = expect.objectContaining({ agent, scheduledTime: "<aws.scheduler.scheduled-time>" }) as unknown;
      expect(firesAt(agent)).toEqual([expression, timezone, names.functionArn("start"), input]);
    }
  });

  test("what is not delivered is tried again, and leaves a letter", () => {
    const agents = new Set(plan.schedules.map(({ agent }) => agent));
    for (const { inputs } of on.all("scheduler/schedule:Schedule")) {
      const schedule = inputs as Schedule;
      // An agent may be called Sweep.
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

  test("the stream tells the clean-up of removed rows and of nothing else, and gives up into a queue", () => {
    const mapping = on.one("lambda/eventSourceMapping:EventSourceMapping") as {
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

  test("letters are encrypted and kept for as long as SQS keeps them", () => {
    const queues = on.all("sqs/queue:Queue").map(({ inputs }) => inputs);
    expect(queues).toEqual(
      (["schedule", "stream"] as const).map((of) => ({
        ...{ name: names.lettersName(of), messageRetentionSeconds: 14 * 24 * 3_600, sqsManagedSseEnabled: true },
      })),
    );
  });
});
