/** `deploy.eventStreams`: the function that streams events, its route, and that all else of the deployment stays. */
import { beforeAll, describe, expect, inject, test } from "vitest";
import { type Capture, type Resource, capture } from "../../infra/capture.ts";
import { statementsOf } from "../../infra/grants.ts";
import { EVENTS } from "../../infra/names.ts";
import { type Plan, functionsOf } from "../../infra/plan.ts";
import { kindOf } from "../../localstack/apply.ts";
import { environmentReadsOf } from "../support/aws/environment-reads.ts";
import { policyOf, tooWideStatements } from "../support/aws/iam-policies.ts";
import { PLACE, deployed } from "./deployed.ts";

const STAGE = "production";
const { plan: without, capture: before, names } = deployed(STAGE);
const concurrencyReserved = { ...without.options.concurrencyReserved, events: 7 };
const plan: Plan = { ...without, options: { ...without.options, eventStreams: true, concurrencyReserved } };

let after: Capture;

const captured = (options?: { readonly api: boolean }) =>
  capture({ plan, app: "cairn", stage: STAGE, place: PLACE, ...(options !== undefined && { options }) });

beforeAll(async () => {
  after = await captured();
});

const inputsOf = (type: string): readonly Resource["inputs"][] =>
  after.resources.filter((each) => each.type === `aws:${type}`).map(({ inputs }) => inputs);

const named = (type: string, name: string) => {
  const found = inputsOf(type).find((inputs) => inputs["name"] === name);
  if (found === undefined) throw new Error(`no ${type} is called ${name}`);
  return found;
};

/** The routes without IAM. */
const OPEN: ReadonlySet<string> = new Set(["GET /healthz", "POST /callbacks/{token}"]);

describe("the function of streams", () => {
  test("has its own time, a bound of readers, and exactly the variables that it reads", () => {
    expect(functionsOf(plan)).toContain(EVENTS);
    expect(functionsOf(without)).not.toContain(EVENTS);
    const made = named("lambda/function:Function", names.functionName(EVENTS));
    expect(made).toMatchObject({ timeout: 120, memorySize: 512, reservedConcurrentExecutions: 7 });
    const [bundle, ...more] = inject("deployed").bundles.filter(({ name }) => name === EVENTS);
    if (bundle === undefined || more.length > 0) throw new Error("it was not bundled once");
    const { variables } = made["environment"] as { readonly variables: Readonly<Record<string, string>> };
    expect(Object.keys(variables).toSorted()).toEqual([...environmentReadsOf(bundle)].toSorted());
  });

  test("has a role that reads runs, and neither deletes, starts, wakes nor seals", () => {
    const role = named("iam/role:Role", names.functionName(EVENTS));
    const [inline] = role["inlinePolicies"] as readonly { readonly policy: string }[];
    const { Statement } = policyOf(inline?.policy);
    const sealKey = plan.options.seal?.kmsKey ?? null;
    expect(Statement.map(({ Action, Resource }) => ({ actions: Action, resources: Resource }))).toEqual(
      statementsOf(EVENTS, names, { secrets: [], sealKey }),
    );
    expect(tooWideStatements({ Statement })).toEqual([]);
    expect(Statement.flatMap(({ Action = [] }) => Action).toSorted()).toEqual([
      ...["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem", "kms:Decrypt"],
      ...["logs:CreateLogStream", "logs:PutLogEvents", "s3:GetObject", "s3:ListBucket"],
    ]);
  });
});

describe("the API", () => {
  /** The path of each resource, by its reference. */
  function paths(): ReadonlyMap<string, string> {
    const found = new Map([["@{GatewayApi.rootResourceId}", ""]]);
    for (const { type, name, inputs } of after.resources) {
      if (type !== "aws:apigateway/resource:Resource") continue;
      found.set(`@{${name}.id}`, `${found.get(String(inputs["parentId"]))}/${String(inputs["pathPart"])}`);
    }
    return found;
  }

  test("streams the events of a run, and gives every other path and method to its function", () => {
    const pathOf = paths();
    const at = ({ resourceId, httpMethod }: Resource["inputs"]) =>
      `${String(httpMethod)} ${pathOf.get(String(resourceId))}`;
    const authorized = inputsOf("apigateway/method:Method").map((each) => [at(each), each["authorization"]]);
    const integrated = inputsOf("apigateway/integration:Integration").map((each) => {
      const [, fn = ""] = /:function:([\w-]+)\//.exec(String(each["uri"])) ?? [];
      return [at(each), [fn, each["responseTransferMode"], each["timeoutMilliseconds"]]];
    });
    const api = [names.functionName("api"), "BUFFERED", undefined];
    expect(Object.fromEntries(integrated)).toEqual({
      ...{ "ANY /{proxy+}": api, "ANY /runs": api, "ANY /runs/{run}": api, "ANY /runs/{run}/{proxy+}": api },
      "ANY /runs/{run}/events": api,
      "POST /callbacks/{token}": api,
      "GET /runs/{run}/events": [names.functionName(EVENTS), "STREAM", 120_000],
      "GET /healthz": ["", undefined, undefined],
    });
    expect(Object.fromEntries(authorized)).toEqual(
      Object.fromEntries(integrated.map(([route = ""]) => [route, OPEN.has(String(route)) ? "NONE" : "AWS_IAM"])),
    );
  });

  test("invokes the function by the call of Lambda that streams, and no other API may invoke it", () => {
    const uris = inputsOf("apigateway/integration:Integration").map(({ uri }) => uri);
    expect(uris).toContain(
      `arn:aws:apigateway:eu-west-1:lambda:path/2021-11-15/functions/${names.functionArn(EVENTS)}/response-streaming-invocations`,
    );
    const own = inputsOf("lambda/permission:Permission").filter(
      (each) => each["function"] === names.functionArn(EVENTS),
    );
    expect(own).toEqual([
      {
        ...{ action: "lambda:InvokeFunction", function: names.functionArn(EVENTS) },
        principal: "apigateway.amazonaws.com",
        sourceArn: "arn:aws:execute-api:eu-west-1:123456789012:@{GatewayApi.id}/*",
      },
    ]);
  });

  test("is refused in LocalStack, which buffers every response", () => {
    const stream = after.resources.find(({ inputs }) => inputs["responseTransferMode"] === "STREAM");
    const kind = stream && kindOf(stream);
    expect(() => kind?.check(stream?.inputs)).toThrow(/responseTransferMode/);
  });

  test("must exist: a component without an API refuses streams", async () => {
    await expect(captured({ api: false })).rejects.toThrow(
      /deploy\.eventStreams of cairn\.config\.ts is of the API, and api is false: take one out/,
    );
  });
});

test("streams that last raise no alarm of slowness, and all other alarms hold for their function too", () => {
  const alarms = inputsOf("cloudwatch/metricAlarm:MetricAlarm");
  const own = alarms.map(({ name }) => String(name)).filter((name) => name.startsWith(names.alarmName(EVENTS)));
  expect(own.toSorted()).toEqual([`${EVENTS}-errors`, `${EVENTS}-throttled`].map(names.alarmName));
  const slow = alarms.find(({ name }) => name === names.alarmName("api-slow"));
  expect(JSON.stringify(slow)).toContain(names.functionName("api"));
  expect(JSON.stringify(slow)).not.toContain("AWS/ApiGateway");
});

test("everything that a deployment without streams has, it has unchanged with them", () => {
  const found = new Map(after.resources.map((each) => [`${each.type} ${each.name}`, each.inputs]));
  // A new archive lies in the folder of its capture, a deployment lists its routes, and a dashboard all functions.
  const apart = /^aws:(s3\/bucketObjectv2:BucketObjectv2 \w+Code|apigateway\/deployment:|cloudwatch\/dashboard:)/;
  const changed = before.resources.filter(({ type, name, inputs }) => {
    const key = `${type} ${name}`;
    return !apart.test(key) && JSON.stringify(found.get(key)) !== JSON.stringify(inputs);
  });
  expect(changed.map(({ inputs }) => inputs["name"])).toEqual([names.alarmName("api-slow")]);
});
