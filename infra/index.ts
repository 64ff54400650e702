/** The description of one deployment: all of its resources, and the outputs that its operator needs. */
import { createAlarms } from "./alarms.ts";
import { createApi } from "./api.ts";
import { createAgentFunctions, createFunctions, followStream } from "./functions.ts";
import { createMachine } from "./machine.ts";
import type { Plan } from "./plan.ts";
import { createSchedules } from "./schedule.ts";
import { siteOf } from "./site.ts";
import { createStorage } from "./storage.ts";

/** Describes all resources, and returns the outputs of the deployment. */
export async function describe(plan: Plan) {
  const site = await siteOf(plan);
  const storage = createStorage(site);
  const functions = createFunctions(site);
  const machine = createMachine(site, { functions, agents: createAgentFunctions(site) });
  followStream(site, { storage, cleanup: functions.cleanup });
  createSchedules(site, functions);
  const api = createApi(site, functions.api);
  createAlarms(site);
  return {
    table: storage.table.name,
    bucket: storage.bucket.name,
    machine: machine.arn,
    api: api.url,
  };
}
