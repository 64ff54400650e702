/** A user's file as a module. What is wrong with it is a value, with the line where the user has to look. */
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { sentenceOf, stackOf } from "../codec/value.ts";

type Imported =
  | { readonly kind: "imported"; readonly exported: Readonly<Record<string, unknown>> }
  | { readonly kind: "broken"; readonly why: string; readonly cause: unknown };

/** `file` is an absolute path. */
export async function importFile(file: string): Promise<Imported> {
  try {
    return { kind: "imported", exported: await import(pathToFileURL(file).href) };
  } catch (cause) {
    return { kind: "broken", why: `${sentenceOf(cause)}${placeIn(dirname(file), cause)}`, cause };
  }
}

/** The topmost line of the stack that is the user's own. */
function placeIn(dir: string, cause: unknown): string {
  const stack = stackOf(cause) ?? "";
  const place = stack.match(/\/[^\s()]+:\d+/g)?.find((line) => line.replace("//", "").startsWith(dir));
  return place === undefined ? "" : ` (${place.replace("//", "")})`;
}
