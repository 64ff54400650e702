/** Imports a user's file as a module. An error becomes a value that names the user's own line. */
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { sentenceOf, stackOf } from "../codec/value.ts";

type Imported =
  | { readonly kind: "imported"; readonly exported: Readonly<Record<string, unknown>> }
  | { readonly kind: "broken"; readonly why: string; readonly cause: unknown };

/** Imports `file`, an absolute path. Never throws. */
export async function importFile(file: string): Promise<Imported> {
  try {
    return { kind: "imported", exported: await import(pathToFileURL(file).href) };
  } catch (cause) {
    return { kind: "broken", why: `${sentenceOf(cause)}${placeIn(dirname(file), cause)}${mendFor(cause)}`, cause };
  }
}

/** The topmost stack line below `dir`, the user's directory; empty if there is none. */
function placeIn(dir: string, cause: unknown): string {
  const stack = stackOf(cause) ?? "";
  const place = stack.match(/\/[^\s()]+:\d+/g)?.find((line) => line.replace("//", "").startsWith(dir));
  return place === undefined ? "" : ` (${place.replace("//", "")})`;
}

/** `npm init` writes `"type": "commonjs"`, and then Node reads a file as no module. */
const mendFor = (cause: unknown): string =>
  cause instanceof SyntaxError && /^(Unexpected token 'export'|Cannot use import statement)/.test(cause.message)
    ? '; Node does not read it as a module: write "type": "module" into package.json (npm pkg set type=module)'
    : "";
