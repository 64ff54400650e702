import * as z from "zod";
import { operation, respond } from "./operation.ts";
import { START_OUTCOMES, UNSCHEDULED } from "./outcomes.ts";
import { type RunNowOutcome, runScheduleNow, scheduledAgent } from "./steer-schedule.ts";
import { agentInput } from "./values.ts";
import type { Syntaxes } from "./syntax.ts";

export const runScheduleOperation = operation({
  scope: "runs:write",
  writes: true,
  typed: [{ command: "schedules", option: "run" }],
  help: "start a run of a scheduled agent now, beside its schedule",
  input: agentInput.extend({ key: z.string().nullable().default(null) }),
  run: async (context, { agent, key }): Promise<RunNowOutcome> =>
    runScheduleNow(context.world, { ...context, ...(await scheduledAgent(context, agent)), key }),
  outcomes: {
    ...START_OUTCOMES,
    ...UNSCHEDULED,
    overlaps: respond.refused("Overlaps", "The run that the schedule started last has not ended."),
  },
  over: ["store", "http"],
  http: { method: "post", path: "/schedules/{agent}/runs", key: "key" },
});

export const runScheduleSyntax = (): Syntaxes => ({
  "schedules run": {
    words: "AGENT",
    flags: [{ flag: "--key <key>", help: "with run: idempotency key, the same key gives the same run" }],
  },
});
