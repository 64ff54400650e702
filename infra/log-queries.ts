/** Builds the commands with which an operator reads the logs of a deployment. They appear in the texts of alarms. */
import { ROUTE_ERROR } from "../src/adapters/aws/machine/machine-input.ts";
import type { MetricName } from "../src/adapters/aws/metrics.ts";
import { type DeployedFunction, type Names, agentFunction } from "./names.ts";
import type { Plan } from "./plan.ts";

/** Formats a command within a text. */
export const typed = (command: string): string => `\`${command}\``;

/** The command that prints the log of a function. */
export const log = ({ logGroup }: Names, fn: DeployedFunction): string =>
  typed(`aws logs tail ${logGroup(fn)} --since 1d`);

/** The command that prints the recent log lines of a function that match a filter pattern. */
export const tail = ({ logGroup }: Names, fn: DeployedFunction, pattern: string): string =>
  typed(`aws logs tail ${logGroup(fn)} --since 1h --filter-pattern '${pattern}'`);

/**
 * Matches Lambda's report of an invocation that was ended, or whose process died. Reports of thrown errors do not
 * match: a beat throws its route, which is not a failure.
 */
export const DIED = `{ $.type = "platform.report" && $.record.status != "success" && ($.record.errorType NOT EXISTS || $.record.errorType != "${ROUTE_ERROR}*") }`;
/** Matches error lines. */
export const ERRORS = '{ $.level = "ERROR" }';
/**
 * Matches errors of beats. Lambda's runtime also logs each route that a beat throws; those lines name no service, so
 * they do not match.
 */
export const OF_BEAT = '{ $.level = "ERROR" && $.service = "beat" }';

/** The command that prints the recorded alarms of one kind. */
export const alarms = (names: Names, fn: DeployedFunction, what: MetricName): string =>
  tail(names, fn, `{ $.message = "${what}" }`);

/** A placeholder for the agent of a run, in the texts of a deployment with isolated agents. */
const ANY_AGENT = agentFunction("AGENT");

/**
 * The same names, except for the logs of beats. The beats of an isolated agent are in the log of the agent's own
 * function.
 */
export const namesOfLogs = (names: Names, { isolated }: Pick<Plan, "isolated">): Names =>
  isolated.length === 0 ? names : { ...names, logGroup: (fn) => names.logGroup(fn === "beat" ? ANY_AGENT : fn) };

/** Adds an explanation of `AGENT` to a text whose commands contain it. */
export const explained = (todo: string, { logGroup, functionName }: Names): string =>
  todo.includes(logGroup(ANY_AGENT))
    ? `${todo}. AGENT is the agent of the run; if that has no function, read the log of ${functionName("beat")}`
    : todo;
