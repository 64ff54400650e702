/**
 * Creates the alarms of a deployment, the topic that notifies operators, and the dashboard, from the tables of watches.
 */
import { dashboardOf } from "./dashboard.ts";
import { tlsOnly } from "./grants.ts";
import type { Names } from "./names.ts";
import type { Series } from "./series.ts";
import type { Site } from "./site.ts";
import type { Watch, Watched } from "./watch.ts";
import { watchesOf } from "./watches.ts";

/** Creates everything with which operators watch a deployment. */
export function createAlarms(site: Site): void {
  const { names, plan, called } = site;
  const topics = createTopic(site);
  const watches = watchesOf(names, plan);
  for (const watch of watches) {
    const { name, periods, periodsToAlarm, side, threshold, silence } = watch;
    new aws.cloudwatch.MetricAlarm(called(`Alarm-${name}`), {
      name: names.alarmName(name),
      alarmDescription: descriptionOf(watch),
      ...queryOf(watch.of, watch.periodSeconds),
      comparisonOperator: side === "above" ? "GreaterThanThreshold" : "LessThanThreshold",
      ...{ threshold, evaluationPeriods: periods, datapointsToAlarm: periodsToAlarm },
      treatMissingData: silence === "fine" ? "notBreaching" : "breaching",
      alarmActions: topics,
    });
  }
  new aws.cloudwatch.Dashboard(called("Dashboard"), {
    dashboardName: names.prefix,
    dashboardBody: JSON.stringify(dashboardOf(names, { watches, plan })),
  });
}

/** Creates the topic of alarms. It is not encrypted with a key of the account: its messages name no run. */
function createTopic({ names, plan, called }: Site): $util.Output<string>[] {
  const { alarmEmail } = plan.options;
  if (alarmEmail === null) return [];
  const topic = new aws.sns.Topic(called("Alarms"), { name: `${names.prefix}-alarms` });
  new aws.sns.TopicPolicy(called("AlarmsPolicy"), { arn: topic.arn, policy: topicPolicy(names) });
  new aws.sns.TopicSubscription(called("AlarmsEmail"), { topic: topic.arn, protocol: "email", endpoint: alarmEmail });
  return [topic.arn];
}

/**
 * The topic's policy. It replaces the default policy of SNS, so it must also allow the alarms of this account to
 * publish.
 */
const topicPolicy = ({ account, alarmsTopicArn }: Names): string =>
  JSON.stringify({
    Version: "2012-10-17",
    Statement: [
      {
        ...{ Effect: "Allow", Principal: { Service: "cloudwatch.amazonaws.com" } },
        ...{ Action: ["sns:Publish"], Resource: alarmsTopicArn },
        Condition: { StringEquals: { "aws:SourceAccount": account } },
      },
      tlsOnly({ actions: ["sns:Publish"], resource: alarmsTopicArn }),
    ],
  });

const descriptionOf = ({ means, todo }: Watch): string => `${means}. To do: ${todo}`;

function queryOf(of: Watched, period: number): Partial<aws.cloudwatch.MetricAlarmArgs> {
  if (of.kind === "series") {
    const { namespace, metric, dimensions, stat } = of.series;
    // CloudWatch has a separate field for percentiles.
    const statistic = stat === "p50" || stat === "p99" ? { extendedStatistic: stat } : { statistic: stat };
    return { namespace, metricName: metric, dimensions, ...statistic, period };
  }
  const query = (id: string, { namespace, metric, dimensions, stat }: Series) => ({
    id,
    metric: { namespace, metricName: metric, dimensions, stat, period },
  });
  const expression = `IF(whole >= ${of.wholeMin}, 100 * part / whole, 0)`;
  return {
    metricQueries: [
      { id: "percent", expression, label: "percent", returnData: true },
      query("part", of.part),
      query("whole", of.whole),
    ],
  };
}
