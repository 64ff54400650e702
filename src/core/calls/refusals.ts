/** Calls that were refused before they were started. Their results begin with a code. */
import type { Value } from "../message.ts";

const CODES = /^(InvalidArguments|UnknownTool|NotStarted|NotYet|Duplicate|AlreadyActed|ChildAgentAbsent): /;

/** The text of a result, in which a refusal says its code; empty where the result is none. */
const textIn = (value: Value): string => (value.kind === "inline" && typeof value.json === "string" ? value.json : "");

/** Whether the call of this result was refused before it was started. */
export const isRefusal = (value: Value): boolean => CODES.test(textIn(value));

/**
 * Whether the call was refused because of its business key. What it asked for is missing, or there already: the step of a
 * plan that asked for it has failed, so this is no refusal for a topology.
 */
export const isKeyRefusal = (value: Value): boolean => /^Key(?:Refused|Taken|Used): /.test(textIn(value));

/** Whether the call named a tool that does not exist. */
export const isUnknownTool = (value: Value): boolean => textIn(value).startsWith("UnknownTool: ");

/** Whether a human denied the call, if its tool asks one. */
export const isDenial = (value: Value): boolean => /^denied by (?!expiry\b)/.test(textIn(value));
