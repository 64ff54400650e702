/**
 * References in a description to values that only the service knows: `@{Api.id}` is the ID that the service gave to the
 * resource `Api`. They are replaced everywhere, also inside longer texts and inside JSON in a text.
 */
import type { Attributes } from "./kind.ts";

const REFERENCE = /@\{([\w-]+)\.(\w+)\}/g;

/** The value with every reference replaced. */
export function resolved(given: unknown, known: ReadonlyMap<string, Attributes>): unknown {
  if (typeof given === "string")
    return given.replace(REFERENCE, (_, name: string, attribute: string) => valueOf({ name, attribute }, known));
  if (Array.isArray(given)) return given.map((each) => resolved(each, known));
  if (typeof given !== "object" || given === null) return given;
  return Object.fromEntries(Object.entries(given).map(([name, each]) => [name, resolved(each, known)]));
}

function valueOf(
  { name, attribute }: { readonly name: string; readonly attribute: string },
  known: ReadonlyMap<string, Attributes>,
): string {
  const value = known.get(name)?.[attribute];
  if (value !== undefined) return value;
  throw new Error(`the description refers to ${attribute} of ${name}, which is not known: apply ${name} first`);
}
