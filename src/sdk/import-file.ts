/** Imports a user's file as a module. An error becomes a value that names the user's own line. */
import { existsSync, readFileSync } from "node:fs";
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
      why: `${sentenceOf(cause)}${cause instanceof TransformerMissing ? "" : placeIn(file, cause)}${mendFor(file, cause)}`,
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

/** What to write, where the words of Node do not say it. */
const MENDS: readonly (readonly [kind: RegExp, mend: string])[] = [
  // `npm init` writes `"type": "commonjs"`, and then Node reads a file as no module.
  [
    /^(Unexpected token 'export'|Cannot use import statement)/,
    'Node does not read it as a module: write "type": "module" into package.json (npm pkg set type=module)',
  ],
  [/^__dirname is not defined/, "a module has import.meta.dirname instead"],
  [/^__filename is not defined/, "a module has import.meta.filename instead"],
  [
    /^Unknown file extension/,
    'such a file is no module: read it with readFileSync(new URL("./FILE", import.meta.url), "utf8") of node:fs',
  ],
];

/** The members of `import.meta` that only bundlers have. */
const VITE = /import\.meta\.(env|glob)\b/;

function mendFor(file: string, cause: unknown): string {
  if (!(cause instanceof Error)) return "";
  const mend = MENDS.find(([kind]) => kind.test(cause.message))?.[1];
  if (mend !== undefined) return `; ${mend}`;
  const [, member] = (cause instanceof TypeError ? VITE.exec(lineIn(placeIn(file, cause))) : null) ?? [];
  if (member === undefined) return "";
  return `; only Vite has import.meta.${member}: ${member === "env" ? "write process.env.NAME" : "import the files by name"}`;
}

/** The line of the source at that place, as far as it can be read. */
function lineIn(place: string): string {
  const [, path = "", line = ""] = /^ \((.*?):(\d+)(?::\d+)?\)$/.exec(place) ?? [];
  try {
    return readFileSync(path, "utf8").split("\n")[Number(line) - 1] ?? "";
  } catch {
    return "";
  }
}
