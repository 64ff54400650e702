/** The clients of the services that only an operator's inspection needs. No function imports this. */
import { CloudWatchClient } from "@aws-sdk/client-cloudwatch";
import { LambdaClient } from "@aws-sdk/client-lambda";
import { SchedulerClient } from "@aws-sdk/client-scheduler";
import { STSClient } from "@aws-sdk/client-sts";
import { type AwsClients, type ClientOptions, awsClients, configOf } from "../clients.ts";

export interface ReadingClients extends AwsClients {
  readonly caller: STSClient;
  readonly functions: LambdaClient;
  readonly alarms: CloudWatchClient;
  readonly schedules: SchedulerClient;
}

const READ_MS = 5_000;

export function readingClients(options: ClientOptions = {}): ReadingClients {
  const config = configOf(options, READ_MS);
  return {
    ...awsClients(options),
    caller: new STSClient(config),
    functions: new LambdaClient(config),
    alarms: new CloudWatchClient(config),
    schedules: new SchedulerClient(config),
  };
}
