/** The state machine, log groups, dead-letter queues and schedules. LocalStack keeps schedules and never fires them. */
import { CreateLogGroupCommand, PutRetentionPolicyCommand } from "@aws-sdk/client-cloudwatch-logs";
import {
  type ActionAfterCompletion,
  CreateScheduleCommand,
  CreateScheduleGroupCommand,
  type FlexibleTimeWindowMode,
  UpdateScheduleCommand,
} from "@aws-sdk/client-scheduler";
import { CreateStateMachineCommand, DescribeStateMachineCommand, UpdateStateMachineCommand } from "@aws-sdk/client-sfn";
import { CreateQueueCommand, GetQueueUrlCommand, SetQueueAttributesCommand } from "@aws-sdk/client-sqs";
import * as z from "zod";
import { found, kind, policy } from "../kind.ts";
import { PLACE } from "../place.ts";

export const machine = kind(
  z.strictObject({ name: z.string(), type: z.literal("STANDARD"), roleArn: z.string(), definition: z.string() }),
  async ({ definition, ...of }, { clients: { machines } }) => {
    const { partition, region, account } = PLACE;
    const stateMachineArn = `arn:${partition}:states:${region}:${account}:stateMachine:${of.name}`;
    const asked = machines.send(new DescribeStateMachineCommand({ stateMachineArn }));
    const known = await found(asked, "StateMachineDoesNotExist");
    if (known === null) await machines.send(new CreateStateMachineCommand({ ...of, definition }));
    else if (known.definition !== definition || known.roleArn !== of.roleArn)
      await machines.send(new UpdateStateMachineCommand({ stateMachineArn, definition, roleArn: of.roleArn }));
    return { arn: stateMachineArn };
  },
);

export const logGroup = kind(
  z.strictObject({ name: z.string(), retentionInDays: z.int().optional() }),
  async ({ name: logGroupName, retentionInDays }, { clients: { logs } }) => {
    await found(logs.send(new CreateLogGroupCommand({ logGroupName })), "ResourceAlreadyExistsException");
    if (retentionInDays !== undefined)
      await logs.send(new PutRetentionPolicyCommand({ logGroupName, retentionInDays }));
    return { name: logGroupName };
  },
);

export const queue = kind(
  z.strictObject({
    name: z.string(),
    messageRetentionSeconds: z.int(),
    sqsManagedSseEnabled: z.boolean(),
  }),
  async (of, { clients: { queues } }) => {
    const Attributes = {
      MessageRetentionPeriod: String(of.messageRetentionSeconds),
      SqsManagedSseEnabled: String(of.sqsManagedSseEnabled),
    };
    const asked = queues.send(new GetQueueUrlCommand({ QueueName: of.name }));
    const known = await found(asked, "QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue");
    const { QueueUrl = "" } = known ?? (await queues.send(new CreateQueueCommand({ QueueName: of.name, Attributes })));
    if (known !== null) await queues.send(new SetQueueAttributesCommand({ QueueUrl, Attributes }));
    return { url: QueueUrl, id: QueueUrl };
  },
);

export const queuePolicy = kind(
  z.strictObject({ queueUrl: z.string(), policy }),
  async ({ queueUrl: QueueUrl, policy: Policy }, { clients: { queues } }) => {
    await queues.send(new SetQueueAttributesCommand({ QueueUrl, Attributes: { Policy } }));
    return {};
  },
);

export const scheduleGroup = kind(z.strictObject({ name: z.string() }), async ({ name }, { clients }) => {
  await found(clients.schedules.send(new CreateScheduleGroupCommand({ Name: name })), "ConflictException");
  return { name };
});

const target = z.strictObject({
  arn: z.string(),
  roleArn: z.string(),
  input: z.string(),
  deadLetterConfig: z.strictObject({ arn: z.string() }),
  retryPolicy: z.strictObject({ maximumEventAgeInSeconds: z.int(), maximumRetryAttempts: z.int() }),
});

export const schedule = kind(
  z.strictObject({
    name: z.string(),
    groupName: z.string(),
    scheduleExpression: z.string(),
    scheduleExpressionTimezone: z.string(),
    flexibleTimeWindow: z.strictObject({
      mode: z.custom<FlexibleTimeWindowMode>((given) => given === "OFF"),
    }),
    target,
  }),
  async (of, { clients: { schedules } }) => {
    const { arn, roleArn, input, deadLetterConfig, retryPolicy } = of.target;
    const wanted = {
      ...{ Name: of.name, GroupName: of.groupName },
      ScheduleExpression: of.scheduleExpression,
      ScheduleExpressionTimezone: of.scheduleExpressionTimezone,
      FlexibleTimeWindow: { Mode: of.flexibleTimeWindow.mode },
      Target: {
        ...{ Arn: arn, RoleArn: roleArn, Input: input, DeadLetterConfig: { Arn: deadLetterConfig.arn } },
        RetryPolicy: {
          MaximumEventAgeInSeconds: retryPolicy.maximumEventAgeInSeconds,
          MaximumRetryAttempts: retryPolicy.maximumRetryAttempts,
        },
      },
      ActionAfterCompletion: "NONE" satisfies ActionAfterCompletion,
    } as const;
    const updated = await found(schedules.send(new UpdateScheduleCommand(wanted)), "ResourceNotFoundException");
    if (updated === null) await schedules.send(new CreateScheduleCommand(wanted));
    return { name: of.name };
  },
);
