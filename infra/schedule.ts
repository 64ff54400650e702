/**
 * Creates the schedules: of the sweeper, of the search for orphans, and of agents. The event of an agent's schedule
 * contains the agent and the scheduled time. Together they identify the run, so an event that is delivered twice starts
 * one run.
 */
import { createLetters, type Functions } from "./functions.ts";
import { ORPHANS_RATE, sweepRateOf } from "./plan.ts";
import type { Site } from "./site.ts";
import { trustOf } from "./trust.ts";

/** A sweep event that is not delivered within this time becomes a dead letter. The next event comes anyway. */
const SWEEP_AGE_SECONDS = 300;
const TRIES_MAX = 10;
/** Retries after the first attempt; the maximum of Lambda. */
const LAMBDA_TRIES_MAX = 2;

export function createSchedules(site: Site, { sweep, start }: Functions): void {
  const { names, plan, called } = site;
  const letters = createLetters(site, "schedule");
  const role = new aws.iam.Role(called("SchedulerRole"), {
    name: `${names.prefix}-scheduler`,
    assumeRolePolicy: trustOf(names, "scheduler"),
  });
  const policy = new aws.iam.RolePolicy(called("SchedulerCalls"), {
    name: "calls",
    role: role.name,
    policy: $jsonStringify({
      Version: "2012-10-17",
      Statement: [
        { Effect: "Allow", Action: ["lambda:InvokeFunction"], Resource: [sweep.arn, start.arn] },
        { Effect: "Allow", Action: ["sqs:SendMessage"], Resource: [letters.arn] },
      ],
    }),
  });
  // Two groups, because an agent may have the same name as a sweep's schedule.
  const sweeps = new aws.scheduler.ScheduleGroup(called("Sweeps"), { name: names.prefix });
  const firings = new aws.scheduler.ScheduleGroup(called("Firings"), { name: names.agentsGroup });
  const schedule = (
    name: string,
    of: {
      readonly group: aws.scheduler.ScheduleGroup;
      readonly expression: string;
      readonly timezone?: string;
      readonly fn: sst.aws.Function;
      readonly input: object;
      readonly ageSeconds: number;
    },
  ): void => {
    new aws.scheduler.Schedule(
      called(`${of.group === firings ? "Fires-" : ""}${name}`),
      {
        name,
        groupName: of.group.name,
        scheduleExpression: of.expression,
        scheduleExpressionTimezone: of.timezone ?? "UTC",
        flexibleTimeWindow: { mode: "OFF" },
        target: {
          arn: of.fn.arn,
          roleArn: role.arn,
          input: JSON.stringify(of.input),
          deadLetterConfig: { arn: letters.arn },
          retryPolicy: { maximumEventAgeInSeconds: of.ageSeconds, maximumRetryAttempts: TRIES_MAX },
        },
      },
      { dependsOn: [policy] },
    );
  };
  // Scheduler only hands the event to Lambda's asynchronous queue. Events that Lambda gives up must become dead letters
  // as well.
  for (const fn of [sweep, start]) {
    new aws.lambda.FunctionEventInvokeConfig(called(`${fn === sweep ? "Sweep" : "Start"}GivenUp`), {
      functionName: fn.name,
      maximumRetryAttempts: LAMBDA_TRIES_MAX,
      destinationConfig: { onFailure: { destination: letters.arn } },
    });
  }
  const own = { group: sweeps, fn: sweep, ageSeconds: SWEEP_AGE_SECONDS };
  schedule("Sweep", { ...own, expression: sweepRateOf(plan), input: { kind: "sweep" } });
  schedule("Orphans", { ...own, expression: ORPHANS_RATE, input: { kind: "orphans" } });
  for (const { agent, expression, timezone, maximumEventAgeSec, event } of plan.schedules) {
    schedule(agent, { group: firings, expression, timezone, fn: start, ageSeconds: maximumEventAgeSec, input: event });
  }
}
