/**
 * Reads the schedules of agents, in the format of EventBridge Scheduler. They are declared in agents' code, which only
 * a separate process (`infra/plan-process.ts`) imports, not the deployment itself.
 */
import { loadAgentFile } from "../src/sdk/load.ts";
import { LATE_MS } from "../src/protocol/firing.ts";

export interface DeployedSchedule {
  readonly agent: string;
  /** `ScheduleExpression` and `ScheduleExpressionTimezone`. */
  readonly expression: string;
  readonly timezone: string;
  /** `RetryPolicy.MaximumEventAgeInSeconds`: how late a firing may still be delivered. */
  readonly maximumEventAgeSec: number;
  /** The event for the function `start`. Scheduler replaces a placeholder in it with the scheduled time. */
  readonly event: { readonly agent: string; readonly tenant: string; readonly scheduledTime: string };
}

const DAY_SEC = 24 * 3_600;

/** `agentFiles`: the agent files of cairn.config.ts, as absolute paths. `tenant`: the tenant of the started runs. */
export async function schedulesOf(of: {
  readonly agentFiles: readonly string[];
  readonly tenant: string;
}): Promise<readonly DeployedSchedule[]> {
  const found: DeployedSchedule[] = [];
  for (const file of of.agentFiles) {
    for (const { name, schedule } of await loadAgentFile(file)) {
      if (!schedule) continue;
      const { every, timezone, missed } = schedule;
      found.push({
        ...{ agent: name, expression: every, timezone },
        maximumEventAgeSec: missed === "latest" ? DAY_SEC : LATE_MS / 1_000,
        event: { agent: name, tenant: of.tenant, scheduledTime: "<aws.scheduler.scheduled-time>" },
      });
    }
  }
  return found;
}
