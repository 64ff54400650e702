import { operation } from "./operation.ts";
import { PAUSED } from "./outcomes.ts";
import { pauseSchedule, scheduledAgent } from "./steer-schedule.ts";
import { agentInput } from "./values.ts";
import type { Syntaxes } from "./syntax.ts";

export const resumeScheduleOperation = operation({
  scope: "runs:write",
  writes: true,
  typed: [{ command: "schedules", option: "resume" }],
  help: "let a paused schedule go on with its next firing",
  input: agentInput,
  run: async (context, { agent }) => pauseSchedule(context.world, await scheduledAgent(context, agent), false),
  outcomes: PAUSED,
  over: ["store", "http"],
  http: { method: "post", path: "/schedules/{agent}/resume", repeatable: true },
});

export const resumeScheduleSyntax = (): Syntaxes => ({ "schedules resume": { words: "AGENT" } });
