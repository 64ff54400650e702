/** What is watched, as CloudWatch would be asked for it: every metric that is read is one that somebody writes. */
import { describe, expect, test } from "vitest";
import { DIMENSION, METRICS, NAMESPACE } from "../../src/adapters/aws/metrics.ts";
import type { Dashboard } from "../../infra/dashboard.ts";
import { functionsOf } from "../../infra/plan.ts";
import { watchesOf } from "../../infra/watches.ts";
import { type Deployed, type Inputs, STAGES, deployed } from "./deployed.ts";

interface Metric {
  readonly namespace: string;
  readonly metricName: string;
  readonly dimensions: Readonly<Record<string, string>>;
  readonly period: number;
}

interface Alarm extends Inputs, Partial<Metric> {
  readonly name: string;
  readonly alarmDescription: string;
  readonly metricQueries?: readonly {
    readonly id: string;
    readonly expression?: string;
    readonly [input: string]: unknown;
    readonly metric?: Metric;
  }[];
  readonly alarmActions: readonly string[];
  readonly evaluationPeriods: number;
  readonly datapointsToAlarm: number;
}

/** What AWS writes by itself, and under which dimensions; from its documentation. */
const BY_AWS: Readonly<Record<string, readonly [dimensions: string, ...metrics: string[]][]>> = {
  "AWS/Lambda": [["FunctionName", "Throttles", "Errors", "Duration", "IteratorAge"]],
  "AWS/DynamoDB": [
    [
      "TableName",
      "ReadThrottleEvents",
      "WriteThrottleEvents",
      "ConsumedReadCapacityUnits",
      "ConsumedWriteCapacityUnits",
    ],
    ["GlobalSecondaryIndexName,TableName", "WriteThrottleEvents"],
  ],
  "AWS/States": [
    ["StateMachineArn", "ExecutionsFailed", "ExecutionsTimedOut", "ExecutionsAborted", "ExecutionThrottled"],
    // Of the account.
    ["", "OpenExecutionCount"],
    ["APIName", "ThrottledEvents"],
  ],
  "AWS/ApiGateway": [["ApiName", "5XXError", "Latency"]],
  "AWS/SQS": [["QueueName", "ApproximateNumberOfMessagesVisible"]],
};

const alarmsOf = ({ all }: Deployed): readonly Alarm[] =>
  all("cloudwatch/metricAlarm:MetricAlarm").map(({ inputs }) => inputs as Alarm);

/** Of a plain alarm the one that it is, of one with an expression those that it is made of. */
const metricsOf = ({ metricQueries, namespace, metricName, dimensions, period }: Alarm): readonly Metric[] =>
  metricQueries?.flatMap(({ metric }) => metric ?? []) ?? [{ namespace, metricName, dimensions, period } as Metric];

const bodyOf = ({ one }: Deployed): Dashboard =>
  JSON.parse((one("cloudwatch/dashboard:Dashboard") as { readonly dashboardBody: string }).dashboardBody) as Dashboard;

/** Namespace, name and dimensions of each curve. */
function curvesOf(deployment: Deployed): readonly Omit<Metric, "period">[] {
  return bodyOf(deployment).widgets.flatMap((widget) => {
    if (widget.type !== "metric") return [];
    return widget.properties.metrics.map((curve) => {
      const [namespace = "", metricName = "", ...rest] = curve.filter((each) => typeof each === "string");
      const pairs = rest.flatMap((name, index) => (index % 2 === 0 ? [[name, rest[index + 1] ?? ""] as const] : []));
      return { namespace, metricName, dimensions: Object.fromEntries(pairs) };
    });
  });
}

/** Empty if somebody writes it. */
function unknownIn(
  { names }: Deployed,
  { namespace, metricName, dimensions }: Omit<Metric, "period">,
): readonly string[] {
  const keys = Object.keys(dimensions).toSorted().join(",");
  const isOurs =
    namespace === NAMESPACE && metricName in METRICS && keys === DIMENSION && dimensions[DIMENSION] === names.prefix;
  const isTheirs = (BY_AWS[namespace] ?? []).some(([of, ...metrics]) => of === keys && metrics.includes(metricName));
  return isOurs || isTheirs ? [] : [`${namespace} ${metricName} ${JSON.stringify(dimensions)}`];
}

/** What its dimensions may name. */
function thingsOf(deployment: Deployed): ReadonlySet<unknown> {
  const named = ["lambda/function:Function", "dynamodb/table:Table", "sqs/queue:Queue"].flatMap(deployment.all);
  const indexes = deployment.one("dynamodb/table:Table") as {
    readonly globalSecondaryIndexes: readonly { readonly name: string }[];
  };
  return new Set([
    ...named.map(({ inputs }) => inputs["name"]),
    ...indexes.globalSecondaryIndexes.map(({ name }) => name),
    deployment.names.machineArn,
    ...deployment.all("apigateway/restApi:RestApi").map(({ inputs }) => inputs["name"]),
    "StartExecution",
  ]);
}

describe.each(STAGES)("in %s", (stage) => {
  const deployment = deployed(stage);
  const alarms = alarmsOf(deployment);

  test("every watched resource has an alarm", () => {
    const watched = watchesOf(deployment.names, deployment.plan).map(({ name }) => deployment.names.alarmName(name));
    expect(alarms.map(({ name }) => name)).toEqual(watched.toSorted((one, other) => one.localeCompare(other)));
    expect(new Set(alarms.map(({ name }) => name)).size).toBe(alarms.length);
  });

  test("alarms notify the configured subscribers, and without subscribers there is no topic", () => {
    const topics = deployment.all("sns/topic:Topic").map(({ inputs }) => inputs["name"]);
    const actions = new Set(alarms.flatMap(({ alarmActions }) => alarmActions));
    if (stage === "dev") {
      expect({ topics, actions: [...actions] }).toEqual({ topics: [], actions: [] });
      return;
    }
    const arn = "arn:aws:sns:eu-west-1:123456789012:cairn-production-alarms";
    expect({ topics, actions: [...actions] }).toEqual({ topics: ["cairn-production-alarms"], actions: [arn] });
    expect(alarms.every(({ alarmActions }) => alarmActions.length === 1)).toBe(true);
    expect(deployment.one("sns/topicSubscription:TopicSubscription")).toMatchObject({
      ...{ topic: arn, protocol: "email", endpoint: "ops@example.org" },
    });
  });

  test("alarms and curves read metrics that some function writes, of deployed resources", () => {
    const read = [...alarms.flatMap(metricsOf), ...curvesOf(deployment)];
    expect(read.length).toBeGreaterThan(60);
    expect(read.flatMap((metric) => unknownIn(deployment, metric))).toEqual([]);
    const things = thingsOf(deployment);
    const ofAws = read.filter(({ namespace }) => namespace !== NAMESPACE);
    expect(ofAws.flatMap(({ dimensions }) => Object.values(dimensions)).filter((each) => !things.has(each))).toEqual(
      [],
    );
  });

  test("every metric that telemetry writes is read by an alarm or a curve", () => {
    const read = [...alarms.flatMap(metricsOf), ...curvesOf(deployment)].filter(
      ({ namespace }) => namespace === NAMESPACE,
    );
    expect(new Set(read.map(({ metricName }) => metricName))).toEqual(new Set(Object.keys(METRICS)));
  });

  test("a metric without a writer is detected", () => {
    const good = { namespace: NAMESPACE, metricName: "Beats", dimensions: { [DIMENSION]: deployment.names.prefix } };
    expect(unknownIn(deployment, good)).toEqual([]);
    expect(unknownIn(deployment, { ...good, metricName: "Beat" })).not.toEqual([]);
    expect(unknownIn(deployment, { ...good, dimensions: { [DIMENSION]: "cairn-other" } })).not.toEqual([]);
    expect(unknownIn(deployment, { ...good, dimensions: {} })).not.toEqual([]);
    const theirs = { namespace: "AWS/Lambda", metricName: "Throttles", dimensions: { FunctionName: "x" } };
    expect(unknownIn(deployment, theirs)).toEqual([]);
    expect(unknownIn(deployment, { ...theirs, metricName: "Throttled" })).not.toEqual([]);
    expect(unknownIn(deployment, { ...theirs, dimensions: { TableName: "x" } })).not.toEqual([]);
  });

  test("missing data raises no alarm, except for the sweeper", () => {
    const alarming = alarms.filter(({ treatMissingData }) => treatMissingData !== "notBreaching");
    expect(alarming.map(({ name, treatMissingData }) => ({ name, treatMissingData }))).toEqual([
      { name: deployment.names.alarmName("sweeper-silent"), treatMissingData: "breaching" },
    ]);
    // Three sweeps that did not come, and half an hour at least.
    const seconds = alarming.map(({ evaluationPeriods, period }) => evaluationPeriods * (period ?? 0));
    expect(seconds).toEqual([stage === "production" ? 3 * 15 * 60 : 30 * 60]);
    expect(alarming.every((each) => each.datapointsToAlarm === each.evaluationPeriods)).toBe(true);
  });

  test("takeovers are measured as a share of beats, and only of many beats", () => {
    const takeovers = alarms.find(({ name }) => name === deployment.names.alarmName("takeovers"));
    expect(takeovers).toMatchObject({ threshold: 5, comparisonOperator: "GreaterThanThreshold", evaluationPeriods: 1 });
    const { metricQueries = [] } = takeovers ?? ({} as Partial<Alarm>);
    expect(
      metricQueries.map(({ id, expression, metric, returnData = false }) => ({
        id,
        reads: expression ?? metric?.metricName,
        isReturned: returnData,
      })),
    ).toEqual([
      { id: "percent", reads: "IF(whole >= 100, 100 * part / whole, 0)", isReturned: true },
      { id: "part", reads: "Takeovers", isReturned: false },
      { id: "whole", reads: "Beats", isReturned: false },
    ]);
    expect(metricQueries.flatMap(({ metric }) => metric?.period ?? [])).toEqual([3_600, 3_600]);
  });

  test("queues, slow responses and model costs are watched according to the options of the plan", () => {
    const ofName = (name: string) => alarms.find((each) => each.name === deployment.names.alarmName(name));
    expect(ofName("api-slow")).toMatchObject({ extendedStatistic: "p99", metricName: "Latency", threshold: 5_000 });
    expect(ofName("api-slow")).not.toHaveProperty("statistic");
    expect(ofName("gates-old")).toMatchObject({ statistic: "Maximum", threshold: 24 * 3_600 });
    expect(ofName("runs-queued-long")).toMatchObject({ statistic: "Maximum", threshold: 15 * 60 });
    expect(ofName("beat-near-timeout")).toMatchObject({
      statistic: "Maximum",
      threshold: deployment.plan.beatSeconds * 900,
    });
    const dollars = stage === "dev" ? 100 : 5;
    expect(ofName("spent-per-day")).toMatchObject({ statistic: "Sum", period: 86_400, threshold: dollars * 1e6 });
    expect(ofName("executions-open")).toMatchObject({ dimensions: {}, threshold: 100_000 });
  });

  test("each alarm is valid for CloudWatch and says what to do", () => {
    for (const alarm of alarms) {
      const { name, alarmDescription, evaluationPeriods, datapointsToAlarm } = alarm;
      expect(name).toMatch(/^cairn-(dev|production)\.[a-z_-]+$/);
      expect(alarmDescription).toContain(". To do: ");
      expect(alarmDescription.length).toBeLessThanOrEqual(1_024);
      expect(datapointsToAlarm).toBeLessThanOrEqual(evaluationPeriods);
      for (const { period } of metricsOf(alarm)) {
        expect(period % 60).toBe(0);
        expect(period * evaluationPeriods).toBeLessThanOrEqual(24 * 3_600);
      }
    }
  });

  test("errors of functions are watched according to the function: a failed beat is taken over", () => {
    const names = (end: string) => functionsOf(deployment.plan).map((fn) => deployment.names.alarmName(`${fn}-${end}`));
    const own = alarms.map(({ name }) => name);
    expect(own).toEqual(expect.arrayContaining(names("throttled")));
    const beats = functionsOf(deployment.plan).filter((fn) => fn.startsWith("beat"));
    expect(names("errors").filter((name) => !own.includes(name))).toEqual(
      beats.map((fn) => deployment.names.alarmName(`${fn}-errors`)),
    );
  });

  test("the dashboard shows all alarms, and its widgets do not overlap", () => {
    const { widgets } = bodyOf(deployment);
    const [first] = widgets;
    expect(new Set(first?.type === "alarm" ? first.properties.alarms : [])).toEqual(
      new Set(alarms.map(({ name }) => `arn:aws:cloudwatch:eu-west-1:123456789012:alarm:${name}`)),
    );
    const cells = widgets.flatMap(({ x, y, width, height }) =>
      Array.from({ length: width * height }, (_, cell) => `${x + (cell % width)},${y + Math.floor(cell / width)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(Math.max(...widgets.map(({ x, width }) => x + width))).toBe(24);
    expect(deployment.one("cloudwatch/dashboard:Dashboard")).toMatchObject({ dashboardName: deployment.names.prefix });
  });
});
