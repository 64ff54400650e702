import * as z from "zod";
import type { Agent } from "../ports/agent.ts";
import { operation, respond } from "./operation.ts";
import { type ScheduleList, listSchedules } from "./schedules.ts";
import type { Syntaxes } from "./syntax.ts";

const nothing: readonly Agent[] = [];

export const schedulesOperation = operation({
  scope: "runs:read",
  writes: false,
  typed: [{ command: "schedules" }],
  help: "list the scheduled agents: when each fires next, and the result of its last firing",
  input: z.strictObject({}),
  run: async ({ world, tenant, agents, firingsOf = () => [] }): Promise<ScheduleList> => {
    const catalogue = (await agents?.()) ?? { agents: nothing, broken: [] };
    return listSchedules(world, { catalogue, tenant, firingsOf, now: world.clock.now() });
  },
  outcomes: { listed: respond.done("The schedules are listed.") },
  over: ["store", "http"],
  http: { method: "get", path: "/schedules" },
});

export const schedulesSyntax = (): Syntaxes => ({
  schedules: { group: "Inspecting", words: "[action] [agent]", flags: [{ flagsOf: "runSchedule" }] },
});
