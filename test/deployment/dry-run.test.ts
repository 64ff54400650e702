/** What the dry run lists is what the description requests. */
import { describe, expect, test } from "vitest";
import { plannedDeployment } from "../../infra/dry-run.ts";
import type { PlannedResource } from "../../src/ports/planned-deployment.ts";
import { PLACE, STAGES, deployed } from "./deployed.ts";

/** The type of the engine and the input with the name, for each kind that has one resource for one line. */
const TYPES: { readonly [K in Exclude<PlannedResource["kind"], "alarms">]: readonly [type: string, input: string] } = {
  table: ["dynamodb/table:Table", "name"],
  bucket: ["s3/bucket:Bucket", "bucket"],
  stateMachine: ["sfn/stateMachine:StateMachine", "name"],
  api: ["apigateway/restApi:RestApi", "name"],
  schedule: ["scheduler/schedule:Schedule", "name"],
  queue: ["sqs/queue:Queue", "name"],
  dashboard: ["cloudwatch/dashboard:Dashboard", "dashboardName"],
  topic: ["sns/topic:Topic", "name"],
};

describe.each(STAGES)("the dry run of the stage %s", (stage) => {
  const { plan, all, names } = deployed(stage);
  const { resources, functions } = plannedDeployment(plan, { bundles: [], missing: [] });
  const real = (name: string): string =>
    name.replace("PREFIX", names.prefix).replace("ACCOUNT", PLACE.account).replace("REGION", PLACE.region);

  test.each(Object.entries(TYPES))("lists each %s that is requested, and no other", (kind, [type, input]) => {
    const listed = resources.filter((each) => each.kind === kind).map(({ name }) => real(name));
    expect(listed.toSorted()).toEqual(
      all(type)
        .map(({ inputs }) => String(inputs[input]))
        .toSorted(),
    );
  });

  test("counts the alarms", () => {
    const alarms = resources.find(({ kind }) => kind === "alarms");
    expect(alarms?.says).toBe(`${all("cloudwatch/metricAlarm:MetricAlarm").length} alarms`);
  });

  test("lists each function with its memory, time limit and reservation", () => {
    const requested = all("lambda/function:Function").map(({ inputs }) => ({
      ...{ name: inputs["name"], memoryMb: inputs["memorySize"], seconds: inputs["timeout"] },
      reserved: inputs["reservedConcurrentExecutions"] ?? null,
    }));
    const listed = functions.map(({ name, memoryMb, seconds, reserved }) => ({
      ...{ name: real(name), memoryMb, seconds, reserved },
    }));
    expect(listed.toSorted((one, other) => (one.name < other.name ? -1 : 1))).toEqual(
      requested.toSorted((one, other) => (String(one.name) < String(other.name) ? -1 : 1)),
    );
  });
});
