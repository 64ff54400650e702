/** Calls that were refused before they were started. Their results begin with a code. */
import type { Value } from "../message.ts";

const CODES = /^(InvalidArguments|UnknownTool|NotStarted|NotYet|Duplicate|AlreadyActed|ChildAgentAbsent): /;

/** Whether the call of this result was refused before it was started. */
export const isRefusal = (value: Value): boolean =>
  value.kind === "inline" && typeof value.json === "string" && CODES.test(value.json);

/** Whether a human denied the call, if its tool asks one. */
export const isDenial = (value: Value): boolean =>
  value.kind === "inline" && typeof value.json === "string" && /^denied by (?!expiry\b)/.test(value.json);
