/** Alarms, their topics and subscribers, and the dashboard. LocalStack sends no mail. */
import {
  type ComparisonOperator,
  type MetricDataQuery,
  PutDashboardCommand,
  PutMetricAlarmCommand,
  type Statistic,
} from "@aws-sdk/client-cloudwatch";
import { CreateTopicCommand, SetTopicAttributesCommand, SubscribeCommand } from "@aws-sdk/client-sns";
import * as z from "zod";
import { kind, policy } from "../kind.ts";

export const topic = kind(z.strictObject({ name: z.string() }), async ({ name: Name }, { clients: { topics } }) => {
  const { TopicArn = "" } = await topics.send(new CreateTopicCommand({ Name }));
  return { arn: TopicArn, id: TopicArn };
});

export const topicPolicy = kind(
  z.strictObject({ arn: z.string(), policy }),
  async ({ arn: TopicArn, policy: AttributeValue }, { clients: { topics } }) => {
    await topics.send(new SetTopicAttributesCommand({ TopicArn, AttributeName: "Policy", AttributeValue }));
    return {};
  },
);

export const subscription = kind(
  z.strictObject({ topic: z.string(), protocol: z.string(), endpoint: z.string() }),
  async ({ topic: TopicArn, protocol: Protocol, endpoint: Endpoint }, { clients: { topics } }) => {
    await topics.send(new SubscribeCommand({ TopicArn, Protocol, Endpoint }));
    return {};
  },
);

const dimensions = z.record(z.string(), z.string());
const metric = z.strictObject({
  ...{ namespace: z.string(), metricName: z.string(), stat: z.string(), period: z.int() },
  dimensions: dimensions.optional(),
});
const query = z.strictObject({
  id: z.string(),
  expression: z.string().optional(),
  label: z.string().optional(),
  returnData: z.boolean().optional(),
  metric: metric.optional(),
});

const inputs = z.strictObject({
  name: z.string(),
  alarmDescription: z.string(),
  namespace: z.string().optional(),
  metricName: z.string().optional(),
  dimensions: dimensions.optional(),
  // Percentiles use `extendedStatistic`.
  statistic: z.custom<Statistic>((given) => typeof given === "string").optional(),
  extendedStatistic: z.string().optional(),
  period: z.int().optional(),
  metricQueries: z.array(query).optional(),
  comparisonOperator: z.custom<ComparisonOperator>((given) => typeof given === "string"),
  threshold: z.number(),
  evaluationPeriods: z.int(),
  datapointsToAlarm: z.int(),
  treatMissingData: z.string(),
  alarmActions: z.array(z.string()),
});

export const alarm = kind(inputs, async (of, { clients: { watches } }) => {
  await watches.send(
    new PutMetricAlarmCommand({
      AlarmName: of.name,
      AlarmDescription: of.alarmDescription,
      Namespace: of.namespace,
      MetricName: of.metricName,
      Dimensions: dimensionsOf(of.dimensions),
      Statistic: of.statistic,
      ExtendedStatistic: of.extendedStatistic,
      Period: of.period,
      Metrics: of.metricQueries?.map(queryOf),
      ComparisonOperator: of.comparisonOperator,
      Threshold: of.threshold,
      EvaluationPeriods: of.evaluationPeriods,
      DatapointsToAlarm: of.datapointsToAlarm,
      TreatMissingData: of.treatMissingData,
      AlarmActions: of.alarmActions,
    }),
  );
  return {};
});

const dimensionsOf = (given: Readonly<Record<string, string>> | undefined) =>
  given && Object.entries(given).map(([Name, Value]) => ({ Name, Value }));

const queryOf = (of: z.output<typeof query>): MetricDataQuery => ({
  Id: of.id,
  Expression: of.expression,
  Label: of.label,
  ReturnData: of.returnData ?? false,
  MetricStat: of.metric && {
    Metric: {
      Namespace: of.metric.namespace,
      MetricName: of.metric.metricName,
      Dimensions: dimensionsOf(of.metric.dimensions),
    },
    Stat: of.metric.stat,
    Period: of.metric.period,
  },
});

export const dashboard = kind(
  z.strictObject({ dashboardName: z.string(), dashboardBody: z.string() }),
  async ({ dashboardName: DashboardName, dashboardBody: DashboardBody }, { clients: { watches } }) => {
    await watches.send(new PutDashboardCommand({ DashboardName, DashboardBody }));
    return {};
  },
);
