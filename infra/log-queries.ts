/** Commands that an operator types to read the logs of a deployment, as they stand in the texts of alarms. */
import { ROUTE_ERROR } from "../src/adapters/aws/machine-input.ts";
import type { MetricName } from "../src/adapters/aws/metrics.ts";
import type { FunctionName, Names } from "./names.ts";

/** A command, as it stands in a text. */
export const typed = (command: string): string => `\`${command}\``;

export const log = ({ logGroup }: Names, fn: FunctionName): string => typed(`aws logs tail ${logGroup(fn)} --since 1d`);

export const tail = ({ logGroup }: Names, fn: FunctionName, pattern: string): string =>
  typed(`aws logs tail ${logGroup(fn)} --since 1h --filter-pattern '${pattern}'`);

/**
 * What Lambda says of an invocation that it ended, or that ended its process. It says the same of one that threw an error,
 * but a route that a beat throws is no failure.
 */
export const DIED = `{ $.type = "platform.report" && $.record.status != "success" && ($.record.errorType NOT EXISTS || $.record.errorType != "${ROUTE_ERROR}*") }`;
export const ERRORS = '{ $.level = "ERROR" }';
/** Without the line that Lambda's runtime writes for each route that a beat throws: it names no service. */
export const OF_BEAT = '{ $.level = "ERROR" && $.service = "beat" }';

export const alarms = (names: Names, fn: FunctionName, what: MetricName): string =>
  tail(names, fn, `{ $.message = "${what}" }`);
