/** The description of one component: all of its resources, and the outputs that its operator needs. */
import { createAlarms } from "./alarms.ts";
import { createApi } from "./api.ts";
import { checkStores } from "./existing.ts";
import { createAgentFunctions, createEventsFunction, createFunctions, followStream } from "./functions.ts";
import { createMachine } from "./machine.ts";
import type { Cairn, OutputOf } from "./options.ts";
import type { Component } from "./plan.ts";
import { createSchedules } from "./schedule.ts";
import { siteOf } from "./site.ts";
import { createStorage } from "./storage.ts";

/** Describes all resources, and returns the outputs of the deployment. */
export async function describe(component: Component): Promise<Cairn> {
  const site = await siteOf(component);
  const { names, options } = site;
  await checkStores(site);
  const streamArn = createStorage(site);
  const functions = createFunctions(site);
  createMachine(site, { functions, agents: createAgentFunctions(site) });
  followStream(site, { streamArn, cleanup: functions.cleanup });
  createSchedules(site, functions);
  const events = site.plan.options.eventStreams ? { events: createEventsFunction(site) } : {};
  const api = options.api === false ? null : createApi(site, { api: functions.api, ...events });
  if (options.alarms !== false) createAlarms(site);
  const url = api === null ? null : (api.url as OutputOf<string>);
  return { table: names.table, bucket: names.bucket, machine: names.machineArn, url };
}
