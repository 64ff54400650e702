/** The syntax of run IDs, tenants, names, idempotency keys and labels. */
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

/** What the caller of a start calls the run besides, by name: `{ team: "ops" }`. Lists find runs by it. */
export type RunLabels = Readonly<Record<string, string>>;

/** A name that JavaScript takes for something else is none. */
const LABEL = /^(?!__proto__$)[a-z0-9._-]{1,32}$/;
/** What breaks a line, or reverses the direction of writing. */
const UNSHOWN = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;

/** What is wrong with labels; null if they are valid. */
export function wrongWithLabels(labels: RunLabels): string | null {
  const all = Object.entries(labels);
  const { labelsMax, labelBytesMax, labelsBytesMax } = BOUNDS;
  if (all.length > labelsMax) return `there are ${all.length} labels, and a run has ${labelsMax} at most`;
  for (const [name, value] of all) {
    if (!LABEL.test(name))
      return `${JSON.stringify(name)} is no name of a label: it is 1 to 32 of a to z, digits, ".", "_" and "-"`;
    if (value.trim() !== value || value === "" || UNSHOWN.test(value) || !value.isWellFormed())
      return `the label ${name} needs a value on one line, without spaces around it`;
    if (bytesOf(value) > labelBytesMax) return `the value of the label ${name} has more than ${labelBytesMax} bytes`;
  }
  const bytes = all.reduce((sum, [name, value]) => sum + bytesOf(name) + bytesOf(value), 0);
  return bytes > labelsBytesMax ? `the labels have ${bytes} bytes together, and ${labelsBytesMax} are allowed` : null;
}

/** In UTF-8. */
const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

/** The name of an event that a call waits for. */
export const isEventName = (name: unknown): name is string =>
  typeof name === "string" && /^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/u.test(name);
