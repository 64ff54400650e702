/** The operations on schedules, as rows of the operation table. */
import * as z from "zod";
import type { Agent } from "../ports/agent.ts";
import { HELP } from "./help.ts";
import { type OperationContext, operation, respond } from "./operation.ts";
import { type ScheduleList, listSchedules } from "./schedules.ts";
import { type PauseOutcome, type RunNowOutcome, pauseSchedule, runScheduleNow } from "./steer-schedule.ts";
import { START_OUTCOMES } from "./steering.ts";

const UNSCHEDULED = {
  agentUnknown: START_OUTCOMES.agentUnknown,
  notScheduled: respond.refused("NotScheduled", "The agent has no schedule."),
} as const;

const agentInput = z.strictObject({ agent: z.string() });

const named = async ({ agentOf, tenant, by }: OperationContext, name: string) => ({
  agent: await agentOf(name),
  ...{ tenant, by },
});

const paused =
  (want: boolean) =>
  async (context: OperationContext, { agent }: { readonly agent: string }) =>
    pauseSchedule(context.world, await named(context, agent), want) satisfies Promise<PauseOutcome>;

const PAUSED = {
  paused: respond.done("It is paused: its firings start nothing."),
  resumed: respond.done("It goes on with its next firing."),
  same: respond.done("It is so already."),
  ...UNSCHEDULED,
} as const;

const nothing: readonly Agent[] = [];

export const SCHEDULE_ROWS = {
  schedules: operation({
    ...{ scope: "runs:read", writes: false, typed: [{ command: "schedules" }] },
    help: HELP.schedules,
    input: z.strictObject({}),
    run: async ({ world, tenant, agents, firingsOf = () => [] }): Promise<ScheduleList> => {
      const catalogue = (await agents?.()) ?? { agents: nothing, broken: [] };
      return listSchedules(world, { catalogue, tenant, firingsOf, now: world.clock.now() });
    },
    outcomes: { listed: respond.done("The schedules are listed.") },
    http: { method: "get", path: "/schedules" },
  }),
  pauseSchedule: operation({
    ...{ scope: "runs:write", writes: true, typed: [{ command: "schedules", option: "pause" }] },
    help: HELP.pauseSchedule,
    input: agentInput,
    run: paused(true),
    outcomes: PAUSED,
    http: { method: "post", path: "/schedules/{agent}/pause" },
  }),
  resumeSchedule: operation({
    ...{ scope: "runs:write", writes: true, typed: [{ command: "schedules", option: "resume" }] },
    help: HELP.resumeSchedule,
    input: agentInput,
    run: paused(false),
    outcomes: PAUSED,
    http: { method: "post", path: "/schedules/{agent}/resume" },
  }),
  runSchedule: operation({
    ...{ scope: "runs:write", writes: true, typed: [{ command: "schedules", option: "run" }] },
    help: HELP.runSchedule,
    input: agentInput.extend({ key: z.string().nullable().default(null) }),
    run: async (context, { agent, key }): Promise<RunNowOutcome> =>
      runScheduleNow(context.world, { ...(await named(context, agent)), key, counted: context.counted }),
    outcomes: {
      ...START_OUTCOMES,
      ...UNSCHEDULED,
      overlaps: respond.refused("Overlaps", "The run that the schedule started last has not ended."),
    },
    http: { method: "post", path: "/schedules/{agent}/runs", key: "key" },
  }),
} as const;
