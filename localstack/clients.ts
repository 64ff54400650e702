/**
 * A client for each service that a deployment needs. The address and the made-up keys are set here, so that none of
 * this can ever reach a real account.
 */
import { APIGatewayClient } from "@aws-sdk/client-api-gateway";
import { CloudWatchClient } from "@aws-sdk/client-cloudwatch";
import { CloudWatchLogsClient } from "@aws-sdk/client-cloudwatch-logs";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { IAMClient } from "@aws-sdk/client-iam";
import { KMSClient } from "@aws-sdk/client-kms";
import { LambdaClient } from "@aws-sdk/client-lambda";
import { S3Client } from "@aws-sdk/client-s3";
import { SchedulerClient } from "@aws-sdk/client-scheduler";
import { SFNClient } from "@aws-sdk/client-sfn";
import { SNSClient } from "@aws-sdk/client-sns";
import { SQSClient } from "@aws-sdk/client-sqs";
import { PLACE } from "./place.ts";

export const KEYS = { accessKeyId: "test", secretAccessKey: "test" };

export type Clients = ReturnType<typeof clientsOf>;

export function clientsOf(url: string) {
  const config = { endpoint: url, region: PLACE.region, credentials: KEYS };
  return {
    api: new APIGatewayClient(config),
    functions: new LambdaClient(config),
    keys: new KMSClient(config),
    logs: new CloudWatchLogsClient(config),
    machines: new SFNClient(config),
    objects: new S3Client(config),
    queues: new SQSClient(config),
    roles: new IAMClient(config),
    schedules: new SchedulerClient(config),
    tables: new DynamoDBClient(config),
    topics: new SNSClient(config),
    watches: new CloudWatchClient(config),
  };
}
