/**
 * The metrics that alarms and the dashboard read, each with its full CloudWatch identity. With a misspelled dimension a
 * metric never has data, and its alarm never fires.
 */
import type { TABLE } from "../src/adapters/aws/table/schema.ts";
import { DIMENSION, type MetricName, NAMESPACE } from "../src/adapters/aws/metrics.ts";
import type { DeployedFunction, LettersOf, Names } from "./names.ts";

/** One metric with its dimensions and statistic. */
export interface Series {
  readonly namespace: string;
  readonly metric: string;
  readonly dimensions: Readonly<Record<string, string>>;
  readonly stat: Stat;
}

export type Stat = "Sum" | "Maximum" | "p50" | "p99";

type Named = Pick<Names, "prefix" | "table" | "machineArn" | "functionName" | "lettersName">;

/** A metric that cairn records itself. */
export const ofCairn = ({ prefix }: Named, metric: MetricName, stat: "Sum" | "Maximum" = "Sum"): Series => ({
  ...{ namespace: NAMESPACE, metric, stat },
  dimensions: { [DIMENSION]: prefix },
});

export const ofFunction = (
  names: Named,
  fn: DeployedFunction,
  [metric, stat]:
    | readonly ["Throttles" | "Errors", "Sum"]
    | readonly ["Duration", Stat]
    | readonly ["IteratorAge", "Maximum"],
): Series => ({
  ...{ namespace: "AWS/Lambda", metric, stat },
  dimensions: { FunctionName: names.functionName(fn) },
});

export const ofTable = (
  { table }: Named,
  metric: "ReadThrottleEvents" | "WriteThrottleEvents" | "ConsumedReadCapacityUnits" | "ConsumedWriteCapacityUnits",
): Series => ({ ...{ namespace: "AWS/DynamoDB", metric, stat: "Sum" }, dimensions: { TableName: table } });

/** Throttled writes of an index. They delay the writes of its table, but only the index's own metric counts them. */
export const ofIndex = ({ table }: Named, index: IndexName, metric: "WriteThrottleEvents"): Series => ({
  ...{ namespace: "AWS/DynamoDB", metric, stat: "Sum" },
  dimensions: { TableName: table, GlobalSecondaryIndexName: index },
});

export type IndexName = (typeof TABLE.indexes)[number]["name"];

export const ofMachine = (
  { machineArn }: Named,
  metric: "ExecutionsFailed" | "ExecutionsTimedOut" | "ExecutionsAborted" | "ExecutionThrottled",
): Series => ({
  ...{ namespace: "AWS/States", metric, stat: "Sum" },
  dimensions: { StateMachineArn: machineArn },
});

export const ofLetters = ({ lettersName }: Named, letters: LettersOf): Series => ({
  ...{ namespace: "AWS/SQS", metric: "ApproximateNumberOfMessagesVisible", stat: "Maximum" },
  dimensions: { QueueName: lettersName(letters) },
});

/** A metric of the API over all routes. A deployment has one stage. */
export const ofApi = (
  { prefix }: Named,
  [metric, stat]: readonly ["5XXError", "Sum"] | readonly ["Latency", "p99"],
): Series => ({ ...{ namespace: "AWS/ApiGateway", metric, stat }, dimensions: { ApiName: prefix } });

/** Open executions of all state machines of the account, because they share its quotas. */
export const OPEN_EXECUTIONS: Series = {
  ...{ namespace: "AWS/States", metric: "OpenExecutionCount", stat: "Maximum" },
  dimensions: {},
};

export const STARTS_THROTTLED: Series = {
  ...{ namespace: "AWS/States", metric: "ThrottledEvents", stat: "Sum" },
  dimensions: { APIName: "StartExecution" },
};
