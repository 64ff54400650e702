/** Imports a user's file as a module. An error becomes a value that names the user's own line. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { sentenceOf, stackOf } from "../codec/value.ts";
import { isOwn } from "./own-files.ts";
import { TransformerMissing } from "./typescript/transformer.ts";

type Imported =
  | { readonly kind: "imported"; readonly exported: Readonly<Record<string, unknown>> }
  | { readonly kind: "broken"; readonly why: string; readonly cause: unknown };

/** Imports `file`, an absolute path. Never throws. */
export async function importFile(file: string): Promise<Imported> {
  try {
    return { kind: "imported", exported: await import(pathToFileURL(file).href) };
  } catch (cause) {
    return {
      kind: "broken",
      why: `${sentenceOf(cause)}${cause instanceof TransformerMissing ? "" : placeIn(file, cause)}${mendFor(cause)}`,
      cause,
    };
  }
}

/**
 * The topmost stack line in a file of the project; if there is none, that in a package that it uses. Cairn's own files lie
 * below the project's folder, too. Empty if the stack names neither.
 */
function placeIn(file: string, cause: unknown): string {
  const stack = stackOf(cause) ?? "";
  // A message may name places, too.
  const message = cause instanceof Error ? cause.message : "";
  const root = projectOf(file);
  const places = stack
    .replace(message, "")
    .matchAll(/(?:file:\/\/|(?<=^|[\s(]))(\/[^\n()]*?:\d+(?::\d+)?)(?=$|[)\s])/gm)
    .map(([url, path = ""]) => (url.startsWith("file:") ? decoded(path) : path))
    .filter((place) => place.startsWith(join(root, "/")) && !isOwn(place))
    .toArray();
  const place = places.find((each) => !each.slice(root.length).includes("/node_modules/")) ?? places[0];
  return place === undefined ? "" : ` (${place})`;
}

/** The folder of the nearest `package.json`; without one, that of the file. */
function projectOf(file: string): string {
  for (let at = dirname(file); dirname(at) !== at; at = dirname(at)) {
    if (existsSync(join(at, "package.json"))) return at;
  }
  return dirname(file);
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** `npm init` writes `"type": "commonjs"`, and then Node reads a file as no module. */
const mendFor = (cause: unknown): string =>
  cause instanceof SyntaxError && /^(Unexpected token 'export'|Cannot use import statement)/.test(cause.message)
    ? '; Node does not read it as a module: write "type": "module" into package.json (npm pkg set type=module)'
    : "";
