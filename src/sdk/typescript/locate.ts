/**
 * Finds the file that an import names in the way that TypeScript and bundlers do: without an ending, `./lib.js` for
 * `lib.ts`, a folder for its index, an alias of `paths`, and packages whose entry point is TypeScript.
 */
import { lstatSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, extname, join, resolve, sep } from "node:path";
import { tsconfigFor } from "./tsconfig.ts";

/** The endings that an import may leave out, in the order of bundlers. */
const ENDINGS = [".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".json"];

/** What a compiled name may stand for. */
const SOURCES: Readonly<Record<string, readonly string[]>> = {
  ".js": [".ts", ".tsx", ".jsx"],
  ".jsx": [".tsx"],
  ".mjs": [".mts"],
  ".cjs": [".cts"],
};

/** The file of an import that starts with a dot or a slash; null if there is none. */
export function fileAt(path: string): string | null {
  if (isFile(path)) return path;
  const ending = extname(path);
  const sources = (SOURCES[ending] ?? []).map((each) => path.slice(0, -ending.length) + each);
  const found = [...sources, ...ENDINGS.map((each) => path + each)].find(isFile);
  return found ?? (isFolder(path) ? entryOf(path) : null);
}

/** The file that an alias of the nearest `tsconfig.json` leads to; null if none matches. */
export function aliased(specifier: string, folder: string): string | null {
  const { paths } = tsconfigFor(folder);
  const matching = paths
    .flatMap(([pattern, targets]) => {
      const rest = restOf(specifier, pattern);
      return rest === null ? [] : [{ length: pattern.includes("*") ? pattern.indexOf("*") : Infinity, rest, targets }];
    })
    .toSorted((one, other) => other.length - one.length);
  const [best] = matching;
  if (best === undefined) return null;
  return firstFile(best.targets.map((target) => target.replace("*", () => best.rest)));
}

/** The file below `baseUrl`; null if there is none. */
export function belowBaseUrl(specifier: string, folder: string): string | null {
  const { baseUrl } = tsconfigFor(folder);
  return baseUrl === null ? null : fileAt(join(baseUrl, specifier));
}

/** The file of an installed package whose entry point Node does not find, since it is TypeScript; null if there is none. */
export function inPackage(specifier: string, folder: string): string | null {
  const words = specifier.split("/");
  const name = words.slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
  for (let at = folder; ; at = dirname(at)) {
    const found = join(at, "node_modules", name);
    if (isFolder(found)) return fileAt(join(found, specifier.slice(name.length)));
    if (dirname(at) === at) return null;
  }
}

/** The source of what a package names in `exports` and has not built yet; null if there is none. */
export function unbuilt(specifier: string, folder: string): string | null {
  try {
    createRequire(join(folder, "none.js")).resolve(specifier);
  } catch (error) {
    const path = error instanceof Error && "path" in error && typeof error.path === "string" ? error.path : null;
    const named = /'(\/[^']+)'/.exec(error instanceof Error ? error.message : "")?.[1] ?? null;
    return [named, path].map((each) => (each === null ? null : fileAt(each))).find((each) => each !== null) ?? null;
  }
  return null;
}

/** What `*` stands for, empty where the pattern has none; null if the pattern does not match. */
function restOf(specifier: string, pattern: string): string | null {
  const star = pattern.indexOf("*");
  if (star < 0) return specifier === pattern ? "" : null;
  const [head, tail] = [pattern.slice(0, star), pattern.slice(star + 1)];
  const matches = specifier.length >= pattern.length - 1 && specifier.startsWith(head) && specifier.endsWith(tail);
  return matches ? specifier.slice(head.length, specifier.length - tail.length) : null;
}

function firstFile(paths: readonly string[]): string | null {
  for (const path of paths) {
    // Declarations describe a package that runs from elsewhere.
    const found = /\.d\.[cm]?ts$/.test(path) ? null : fileAt(path);
    if (found !== null) return found;
  }
  return null;
}

/** The entry point of a folder: that of its `package.json`, or its index. */
function entryOf(folder: string): string | null {
  const named = mainOf(folder);
  const main = named === null || resolve(folder, named) === resolve(folder) ? null : fileAt(join(folder, named));
  return main ?? ENDINGS.map((ending) => join(folder, `index${ending}`)).find(isFile) ?? null;
}

function mainOf(folder: string): string | null {
  try {
    const read: unknown = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    if (typeof read !== "object" || read === null) return null;
    const { source, module, main } = { source: null, module: null, main: null, ...read };
    const named = [module, main, source].find((each) => typeof each === "string" && leadsToFile(join(folder, each)));
    return typeof named === "string" ? named : null;
  } catch {
    return null;
  }
}

const leadsToFile = (path: string): boolean =>
  isFile(path) || ENDINGS.some((ending) => isFile(path + ending)) || isFolder(path);

/** Whether a file is there itself, and no link to one. */
export const isPlainFile = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;
const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** Whether a file is part of an installed package. */
export const isInstalled = (file: string): boolean => file.includes(`${sep}node_modules${sep}`);
