import { operation } from "./operation.ts";
import { PAUSED } from "./outcomes.ts";
import { pauseSchedule, scheduledAgent } from "./steer-schedule.ts";
import { agentInput } from "./values.ts";
import type { Syntaxes } from "./syntax.ts";

export const pauseScheduleOperation = operation({
  scope: "runs:write",
  writes: true,
  typed: [{ command: "schedules", option: "pause" }],
  help: "pause the schedule of an agent: its firings start nothing, and are not made up for",
  input: agentInput,
  run: async (context, { agent }) => pauseSchedule(context.world, await scheduledAgent(context, agent), true),
  outcomes: PAUSED,
  over: ["store", "http"],
  http: { method: "post", path: "/schedules/{agent}/pause", repeatable: true },
});

export const pauseScheduleSyntax = (): Syntaxes => ({ "schedules pause": { words: "AGENT" } });
