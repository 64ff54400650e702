/** The syntax of run IDs, tenants, names and idempotency keys. */
import { BOUNDS } from "./limits.ts";

/** The tenant of runs that name none. */
export const DEFAULT_TENANT = "local";

/** SHA-256 of a text (UTF-8) in lower-case hex; the core has no bytes and no crypto of its own. */
export type Hash = (text: string) => string;

const RUN = /^[a-z0-9]{1,24}-[a-z2-7]{26}$/;
const TENANT = /^[a-z0-9]{1,24}$/;
const NAME = /^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/;

export const isRunId = (id: string): boolean => RUN.test(id);
/** The tenant that a run ID names. */
export const tenantOf = (run: string): string => run.slice(0, run.indexOf("-"));
export const isTenant = (name: string): boolean => TENANT.test(name);
/** Agents and tools. Model providers accept these characters in a tool's name. */
export const isName = (name: string): boolean => NAME.test(name);

/** What is wrong with an idempotency key; null if it is valid. */
export function wrongWithKey(key: string): string | null {
  if (key.length === 0) return "it is empty";
  if (key.length > BOUNDS.idempotencyKeyCharactersMax) {
    return `it has ${key.length} characters, ${BOUNDS.idempotencyKeyCharactersMax} are allowed`;
  }
  return null;
}

/** The name of an event that a call waits for. */
export const isEventName = (name: unknown): name is string =>
  typeof name === "string" && /^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/u.test(name);
