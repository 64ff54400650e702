/** Commands that an operator types to read the logs of a deployment, as they stand in the texts of alarms. */
import { ROUTE_ERROR } from "../src/adapters/aws/machine-input.ts";
import type { MetricName } from "../src/adapters/aws/metrics.ts";
import { type DeployedFunction, type Names, agentFunction } from "./names.ts";
import type { Plan } from "./plan.ts";

/** A command, as it stands in a text. */
export const typed = (command: string): string => `\`${command}\``;

export const log = ({ logGroup }: Names, fn: DeployedFunction): string =>
  typed(`aws logs tail ${logGroup(fn)} --since 1d`);

export const tail = ({ logGroup }: Names, fn: DeployedFunction, pattern: string): string =>
  typed(`aws logs tail ${logGroup(fn)} --since 1h --filter-pattern '${pattern}'`);

/**
 * What Lambda says of an invocation that it ended, or that ended its process. It says the same of one that threw an error,
 * but a route that a beat throws is no failure.
 */
export const DIED = `{ $.type = "platform.report" && $.record.status != "success" && ($.record.errorType NOT EXISTS || $.record.errorType != "${ROUTE_ERROR}*") }`;
export const ERRORS = '{ $.level = "ERROR" }';
/** Without the line that Lambda's runtime writes for each route that a beat throws: it names no service. */
export const OF_BEAT = '{ $.level = "ERROR" && $.service = "beat" }';

export const alarms = (names: Names, fn: DeployedFunction, what: MetricName): string =>
  tail(names, fn, `{ $.message = "${what}" }`);

/** Stands for the name of a run's agent in the texts of a deployment whose agents are isolated. */
const ANY_AGENT = agentFunction("AGENT");

/** The same names, but for logs of beats: those of isolated agents are in the log of the function of the agent. */
export const namesOfLogs = (names: Names, { isolated }: Pick<Plan, "isolated">): Names =>
  isolated.length === 0 ? names : { ...names, logGroup: (fn) => names.logGroup(fn === "beat" ? ANY_AGENT : fn) };

/** What is to do, with a word on `AGENT` where a command names it. */
export const explained = (todo: string, { logGroup, functionName }: Names): string =>
  todo.includes(logGroup(ANY_AGENT))
    ? `${todo}. AGENT is the agent of the run; if that has no function, look into the log of ${functionName("beat")}`
    : todo;
