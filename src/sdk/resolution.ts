/**
 * Loads the files of a project as its own tools do. Node's own resolution comes first; only if it fails is an import looked
 * up as TypeScript and bundlers do, and are `cairn-run` with its entry points, `zod` and `@ai-sdk/provider` taken from
 * cairn's own package. TypeScript that Node cannot run as it is becomes JavaScript.
 */
import nodeModule, { type LoadHookSync, type ResolveHookSync } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { isOwn } from "./own-files.ts";
import { aliased, belowBaseUrl, fileAt, inPackage, isInstalled, isPlainFile } from "./typescript/locate.ts";
import { jsonModule } from "./typescript/json-module.ts";
import { isPrepared, prepare, typeOf } from "./typescript/prepare.ts";
import { mapPlaces } from "./typescript/transformer.ts";

const OURS = /^(cairn-run|cairn-run\/.+|zod|zod\/.+|@ai-sdk\/provider)$/;

let registered = false;

/**
 * Registers the hooks. A composition root calls it before it loads agents; a second call does nothing. Bun and Deno have no
 * such hooks: there, agents lie where their packages are installed.
 *
 * `inApp`: the process belongs to an application, whose hooks Node may not pass over.
 */
export function registerResolution({ inApp = false }: { readonly inApp?: boolean } = {}): void {
  const { registerHooks } = nodeModule as Partial<typeof nodeModule>;
  if (registered || registerHooks === undefined) return;
  registered = true;
  asksNode ||= inApp;
  registerHooks({ resolve, load });
}

const resolve: ResolveHookSync = (specifier, context, next) => {
  const { parentURL } = context;
  // From `resolveOurs`. What cairn itself lacks is nowhere else, and would be looked for here again for ever.
  if (parentURL === import.meta.url) return next(specifier, context);
  const beside = parentURL === undefined || isRequired(context) ? null : besideInPackage(specifier, parentURL);
  if (beside !== null) return beside;
  const parent = parentURL?.startsWith("file:") === true ? fileURLToPath(withoutQuery(parentURL)) : null;
  if (parent === null || isOwn(parent)) return resolveOurs(specifier, () => next(specifier, context));
  const folder = dirname(parent);
  const alias = isInstalled(parent) || !isBare(specifier) ? null : aliased(specifier, folder);
  // `require` takes paths.
  const named = (path: string): string => (isRequired(context) ? path : pathToFileURL(path).href);
  if (alias !== null) return next(named(alias), context);
  return resolveOurs(specifier, () => {
    try {
      return next(specifier, context);
    } catch (error) {
      const found = isUnresolved(error) ? fileOf(specifier, { folder, error }) : null;
      if (found === null) throw error;
      return next(named(found), context);
    }
  });
};

/**
 * A file that a module of an installed package names in whole and relative to itself; null: Node looks for it. Node would
 * also follow links, of which npm packs none, and read manifests again: a third of what it needs to load zod's hundred
 * files (ADR 0175).
 */
function besideInPackage(specifier: string, parentURL: string): ReturnType<ResolveHookSync> | null {
  if (asksNode || !BESIDE.test(specifier) || !parentURL.startsWith("file:")) return null;
  const { href: url } = new URL(specifier, parentURL);
  if (!url.includes("/node_modules/") || !parentURL.includes("/node_modules/")) return null;
  const file = fileURLToPath(url);
  if (!isPlainFile(file)) return null;
  const folder = dirname(file);
  const isModule = areModules.get(folder) ?? typeOf(file) === "module";
  areModules.set(folder, isModule);
  // Without a type of its package, the text of the file decides.
  return isModule ? { url, format: "module", shortCircuit: true } : { url, shortCircuit: true };
}

/**
 * Whether Node is asked for each file. What is loaded before the program, such as a tracer, may have hooks of its own, which
 * Node asks where these do not answer.
 */
let asksNode = /(^|[ "'])(-r|--require|--import|--(experimental-)?loader)\b/.test(
  [...process.execArgv, process.env["NODE_OPTIONS"] ?? ""].join(" "),
);

const BESIDE = /^\.\.?(\/[\w.-]+)+\.js$/;
/** By folder of a package, whether its `.js` files are modules. */
const areModules = new Map<string, boolean>();

/** What agents import of cairn, where no packages are installed. */
function resolveOurs(specifier: string, run: () => ReturnType<ResolveHookSync>): ReturnType<ResolveHookSync> {
  try {
    return run();
  } catch (error) {
    if (!OURS.test(specifier) || !isNotFound(error)) throw error;
    return { url: import.meta.resolve(specifier), shortCircuit: true };
  }
}

/** The file that an import names though Node does not find it; null if there is none. */
function fileOf(
  specifier: string,
  { folder, error }: { readonly folder: string; readonly error: object },
): string | null {
  if (specifier.startsWith("file:")) return fileAt(fileURLToPath(withoutQuery(specifier)));
  if (/^\.\.?(\/|$)/.test(specifier)) return fileAt(join(folder, withoutQuery(specifier)));
  if (specifier.startsWith("/")) return fileAt(specifier);
  // A package names this file in its manifest.
  const named = "url" in error && typeof error.url === "string" && error.url.startsWith("file:") ? error.url : null;
  const source = named === null ? null : fileAt(fileURLToPath(named));
  return source ?? (isBare(specifier) ? (belowBaseUrl(specifier, folder) ?? inPackage(specifier, folder)) : null);
}

const load: LoadHookSync = (url, context, next) => {
  if (!url.startsWith("file:")) return next(url, context);
  const file = fileURLToPath(withoutQuery(url));
  if (file.endsWith(".json")) return loadJson(file, { url, context, next });
  if (!isPrepared(file) || isOwn(file)) return next(url, context);
  const { code, format, isMapped } = prepare(file);
  if (code === null) return next(url, context);
  if (isMapped) mapPlaces();
  return { format, source: code, shortCircuit: true };
};

interface Loading {
  readonly url: string;
  readonly context: Parameters<LoadHookSync>[1];
  readonly next: Parameters<LoadHookSync>[2];
}

/** JSON without `with { type: "json" }`, as bundlers and TypeScript import it. `require` reads JSON by itself. */
function loadJson(file: string, { url, context, next }: Loading): ReturnType<LoadHookSync> {
  if (isRequired(context) || isOwn(file) || context.importAttributes?.["type"] === "json") return next(url, context);
  return { format: "module", source: jsonModule(file), shortCircuit: true };
}

/** Some versions of Node 22 name the conditions of `require` in a set. */
const isRequired = ({ conditions }: { readonly conditions: Iterable<string> }): boolean =>
  new Set(conditions).has("require");

const isBare = (specifier: string): boolean => !/^(\.|\/|[a-z]+:)/.test(specifier);

const withoutQuery = (url: string): string => url.replace(/[?#].*$/, "");

const codeOf = (error: unknown): string => (error instanceof Error && "code" in error ? String(error.code) : "");

const isNotFound = (error: unknown): boolean => /^(ERR_)?MODULE_NOT_FOUND$/.test(codeOf(error));

const isUnresolved = (error: unknown): error is object =>
  isNotFound(error) || /^ERR_(UNSUPPORTED_DIR_IMPORT|INVALID_MODULE_SPECIFIER)$/.test(codeOf(error));
