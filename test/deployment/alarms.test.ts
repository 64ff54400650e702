/** Alarms and dashboard as CloudWatch gets them: every metric that they read is one that is written. */
import { describe, expect, test } from "vitest";
import { DIMENSION, METRICS, NAMESPACE } from "../../src/adapters/aws/metrics.ts";
import type { Dashboard } from "../../infra/dashboard.ts";
import { FUNCTIONS } from "../../infra/names.ts";
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

/** The metrics that AWS writes itself, with their dimensions; from its documentation. */
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
    // A metric of the account.
    ["", "OpenExecutionCount"],
    ["APIName", "ThrottledEvents"],
  ],
  "AWS/ApiGateway": [["ApiName", "5XXError", "Latency"]],
  "AWS/SQS": [["QueueName", "ApproximateNumberOfMessagesVisible"]],
};

const alarmsOf = ({ all }: Deployed): readonly Alarm[] =>
  all("cloudwatch/metricAlarm:MetricAlarm").map(({ inputs }) => inputs as Alarm);

/** The metrics of an alarm: one for a plain alarm, all inputs for one with an expression. */
const metricsOf = ({ metricQueries, namespace, metricName, dimensions, period }: Alarm): readonly Metric[] =>
  metricQueries?.flatMap(({ metric }) => metric ?? []) ?? [{ namespace, metricName, dimensions, period } as Metric];

const bodyOf = ({ one }: Deployed): Dashboard =>
  JSON.parse((one("cloudwatch/dashboard:Dashboard") as { readonly dashboardBody: string }).dashboardBody) as Dashboard;

/** The namespace, name and dimensions of each curve. */
function curvesOf(on: Deployed): readonly Omit<Metric, "period">[] {
  return bodyOf(on).widgets.flatMap((widget) => {
    if (widget.type !== "metric") return [];
    return widget.properties.metrics.map((curve) => {
      const [namespace = "", metricName = "", ...rest] = curve.filter((each) => typeof each === "string");
      const pairs = rest.flatMap((name, index) => (index % 2 === 0 ? [[name, rest[index + 1] ?? ""] as const] : []));
      return { namespace, metricName, dimensions: Object.fromEntries(pairs) };
    });
  });
}

/** Empty if the metric is written; otherwise what is wrong. */
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

/** The values that its dimensions may have. */
function thingsOf(on: Deployed): ReadonlySet<unknown> {
  const named = ["lambda/function:Function", "dynamodb/table:Table", "sqs/queue:Queue"].flatMap(on.all);
  const indexes = on.one("dynamodb/table:Table") as {
    readonly globalSecondaryIndexes: readonly { readonly name: string }[];
  };
  return new Set([
    ...named.map(({ inputs }) => inputs["name"]),
    ...indexes.globalSecondaryIndexes.map(({ name }) => name),
    on.names.machineArn,
    ...on.all("apigateway/restApi:RestApi").map(({ inputs }) => inputs["name"]),
    "StartExecution",
  ]);
}

describe.each(STAGES)("in %s", (stage) => {
  const on = deployed(stage);
  const alarms = alarmsOf(on);

  test("there is an alarm for each watch", () => {
    const watched = watchesOf(on.names, on.plan).map(({ name }) => on.names.alarmName(name));
    expect(alarms.map(({ name }) => name)).toEqual(watched.toSorted((one, other) => one.localeCompare(other)));
    expect(new Set(alarms.map(({ name }) => name)).size).toBe(alarms.length);
  });

  test("alarms go to the configured address, and without one there is no topic", () => {
    const topics = on.all("sns/topic:Topic").map(({ inputs }) => inputs["name"]);
    const actions = new Set(alarms.flatMap(({ alarmActions }) => alarmActions));
    if (stage === "dev") {
      expect([topics, [...actions]]).toEqual([[], []]);
      return;
    }
    const arn = "arn:aws:sns:eu-west-1:123456789012:cairn-production-alarms";
    expect([topics, [...actions]]).toEqual([["cairn-production-alarms"], [arn]]);
    expect(alarms.every(({ alarmActions }) => alarmActions.length === 1)).toBe(true);
    expect(on.one("sns/topicSubscription:TopicSubscription")).toMatchObject({
      ...{ topic: arn, protocol: "email", endpoint: "ops@example.org" },
    });
  });

  test("alarms and curves read metrics that are written, of deployed resources", () => {
    const read = [...alarms.flatMap(metricsOf), ...curvesOf(on)];
    expect(read.length).toBeGreaterThan(60);
    expect(read.flatMap((metric) => unknownIn(on, metric))).toEqual([]);
    const things = thingsOf(on);
    const ofAws = read.filter(({ namespace }) => namespace !== NAMESPACE);
    expect(ofAws.flatMap(({ dimensions }) => Object.values(dimensions)).filter((each) => !things.has(each))).toEqual(
      [],
    );
  });

  test("every metric of telemetry is read by an alarm or a curve", () => {
    const read = [...alarms.flatMap(metricsOf), ...curvesOf(on)].filter(({ namespace }) => namespace === NAMESPACE);
    expect(new Set(read.map(({ metricName }) => metricName))).toEqual(new Set(Object.keys(METRICS)));
  });

  test("detects a metric that is never written", () => {
    const good = { namespace: NAMESPACE, metricName: "Beats", dimensions: { [DIMENSION]: on.names.prefix } };
    expect(unknownIn(on, good)).toEqual([]);
    expect(unknownIn(on, { ...good, metricName: "Beat" })).not.toEqual([]);
    expect(unknownIn(on, { ...good, dimensions: { [DIMENSION]: "cairn-other" } })).not.toEqual([]);
    expect(unknownIn(on, { ...good, dimensions: {} })).not.toEqual([]);
    const theirs = { namespace: "AWS/Lambda", metricName: "Throttles", dimensions: { FunctionName: "x" } };
    expect(unknownIn(on, theirs)).toEqual([]);
    expect(unknownIn(on, { ...theirs, metricName: "Throttled" })).not.toEqual([]);
    expect(unknownIn(on, { ...theirs, dimensions: { TableName: "x" } })).not.toEqual([]);
  });

  test("missing data is no alarm, except for the sweeper's", () => {
    const alarming = alarms.filter(({ treatMissingData }) => treatMissingData !== "notBreaching");
    expect(alarming.map(({ name, treatMissingData }) => [name, treatMissingData])).toEqual([
      [on.names.alarmName("sweeper-silent"), "breaching"],
    ]);
    // Three missed sweeps, and at least half an hour.
    const seconds = alarming.map(({ evaluationPeriods, period }) => evaluationPeriods * (period ?? 0));
    expect(seconds).toEqual([stage === "production" ? 3 * 15 * 60 : 30 * 60]);
    expect(alarming.every((each) => each.datapointsToAlarm === each.evaluationPeriods)).toBe(true);
  });

  test("takeovers alarm as a share of beats, above a minimum of beats", () => {
    const takeovers = alarms.find(({ name }) => name === on.names.alarmName("takeovers"));
    expect(takeovers).toMatchObject({ threshold: 5, comparisonOperator: "GreaterThanThreshold", evaluationPeriods: 1 });
    const { metricQueries = [] } = takeovers ?? ({} as Partial<Alarm>);
    expect(
      metricQueries.map(({ id, expression, metric, returnData = false }) => [
        id,
        expression ?? metric?.metricName,
        returnData,
      ]),
    ).toEqual([
      ["percent", "IF(whole >= 100, 100 * part / whole, 0)", true],
      ["part", "Takeovers", false],
      ["whole", "Beats", false],
    ]);
    expect(metricQueries.flatMap(({ metric }) => metric?.period ?? [])).toEqual([3_600, 3_600]);
  });

  test("waiting work, slow responses and model cost have alarms with the limits of the plan", () => {
    const ofName = (name: string) => alarms.find((each) => each.name === on.names.alarmName(name));
    expect(ofName("api-slow")).toMatchObject({ extendedStatistic: "p99", metricName: "Latency", threshold: 5_000 });
    expect(ofName("api-slow")).not.toHaveProperty("statistic");
    expect(ofName("gates-old")).toMatchObject({ statistic: "Maximum", threshold: 24 * 3_600 });
    expect(ofName("runs-queued-long")).toMatchObject({ statistic: "Maximum", threshold: 15 * 60 });
    expect(ofName("beat-near-timeout")).toMatchObject({ statistic: "Maximum", threshold: on.plan.beatSeconds * 900 });
    const dollars = stage === "dev" ? 100 : 5;
    expect(ofName("spent-per-day")).toMatchObject({ statistic: "Sum", period: 86_400, threshold: dollars * 1e6 });
    expect(ofName("executions-open")).toMatchObject({ dimensions: {}, threshold: 100_000 });
  });

  test("each alarm has the form that CloudWatch accepts, and says what to do", () => {
    for (const alarm of alarms) {
      const { name, alarmDescription, evaluationPeriods, datapointsToAlarm } = alarm;
      expect(name).toMatch(/^cairn-(dev|production)\.[a-z-]+$/);
      expect(alarmDescription).toContain(". To do: ");
      expect(alarmDescription.length).toBeLessThanOrEqual(1_024);
      expect(datapointsToAlarm).toBeLessThanOrEqual(evaluationPeriods);
      for (const { period } of metricsOf(alarm)) {
        expect(period % 60).toBe(0);
        expect(period * evaluationPeriods).toBeLessThanOrEqual(24 * 3_600);
      }
    }
  });

  test("functions have error alarms, except for beats, whose failures are retried", () => {
    const names = (end: string) => FUNCTIONS.map((fn) => on.names.alarmName(`${fn}-${end}`));
    const own = alarms.map(({ name }) => name);
    expect(own).toEqual(expect.arrayContaining(names("throttled")));
    expect(names("errors").filter((name) => !own.includes(name))).toEqual([on.names.alarmName("beat-errors")]);
  });

  test("the dashboard shows all alarms, and its widgets do not overlap", () => {
    const { widgets } = bodyOf(on);
    const [first] = widgets;
    expect(new Set(first?.type === "alarm" ? first.properties.alarms : [])).toEqual(
      new Set(alarms.map(({ name }) => `arn:aws:cloudwatch:eu-west-1:123456789012:alarm:${name}`)),
    );
    const cells = widgets.flatMap(({ x, y, width, height }) =>
      Array.from({ length: width * height }, (_, cell) => `${x + (cell % width)},${y + Math.floor(cell / width)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(Math.max(...widgets.map(({ x, width }) => x + width))).toBe(24);
    expect(on.one("cloudwatch/dashboard:Dashboard")).toMatchObject({ dashboardName: on.names.prefix });
  });
});
