/**
 * The `tsconfig.json` of a file, as far as it says how the file runs: aliases of imports, decorators, JSX. It is the one of
 * the nearest folder above the file. One that cannot be read counts as absent, because plain files do not need it.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, isAbsolute, join, resolve } from "node:path";

export interface Tsconfig {
  /** The options that change what a file does. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Aliases: a pattern with at most one `*`, and absolute paths. */
  readonly paths: readonly (readonly [string, readonly string[]])[];
  /** The folder from which imports without a dot are looked up; null: none. */
  readonly baseUrl: string | null;
}

const NONE: Tsconfig = { options: {}, paths: [], baseUrl: null };

const OPTIONS: ReadonlySet<string> = new Set([
  "experimentalDecorators",
  "useDefineForClassFields",
  "target",
  "verbatimModuleSyntax",
  "importsNotUsedAsValues",
  "preserveValueImports",
  "jsx",
  "jsxFactory",
  "jsxFragmentFactory",
  "jsxImportSource",
]);

const ofFolder = new Map<string, Tsconfig>();

/** The options for the files of a folder. */
export function tsconfigFor(folder: string): Tsconfig {
  const known = ofFolder.get(folder);
  if (known !== undefined) return known;
  const own =
    readTsconfig(join(folder, "tsconfig.json"), new Set()) ?? readTsconfig(join(folder, "jsconfig.json"), new Set());
  const above = dirname(folder);
  const found = own ?? (above === folder ? NONE : tsconfigFor(above));
  ofFolder.set(folder, found);
  return found;
}

/** `seen`: the files whose options are being read, since `extends` may go in a circle. */
function readTsconfig(file: string, seen: ReadonlySet<string>): Tsconfig | null {
  if (seen.has(file)) return null;
  const read = readJsonc(file);
  if (read === null) return null;
  const within = new Set([...seen, file]);
  const folder = dirname(file);
  const bases = asList(read["extends"]).flatMap((base) => readTsconfig(extended(base, folder), within) ?? []);
  const { paths, baseUrl, ...given } = asRecord(read["compilerOptions"]);
  const options = Object.fromEntries(Object.entries(given).filter(([name]) => OPTIONS.has(name)));
  const base = typeof baseUrl === "string" ? resolve(folder, fromFolder(baseUrl, folder)) : null;
  const inherited = bases.reduce(over, NONE);
  const aliases = Object.entries(asRecord(paths)).map(([pattern, targets]) => {
    const at = base ?? inherited.baseUrl ?? folder;
    return [pattern, asList(targets).map((target) => resolve(at, fromFolder(target, folder)))] as const;
  });
  const own = over(inherited, { options, paths: aliases, baseUrl: base });
  return asList(read["files"]).length > 0 || !Array.isArray(read["references"])
    ? own
    : withReferences(own, { read, folder, within });
}

/** A file that only names others, as those of Vite do: what it leaves open comes from these. */
function withReferences(
  own: Tsconfig,
  {
    read,
    folder,
    within,
  }: {
    readonly read: Readonly<Record<string, unknown>>;
    readonly folder: string;
    readonly within: ReadonlySet<string>;
  },
): Tsconfig {
  const references = Array.isArray(read["references"]) ? read["references"] : [];
  const files = references.flatMap((each: unknown) => {
    const { path } = asRecord(each);
    if (typeof path !== "string") return [];
    const at = resolve(folder, path);
    return readTsconfig(at.endsWith(".json") ? at : join(at, "tsconfig.json"), within) ?? [];
  });
  return over(files.toReversed().reduce(over, NONE), own);
}

/** `below` with the options of `above` over it. */
const over = (below: Tsconfig, above: Tsconfig): Tsconfig => ({
  options: { ...below.options, ...above.options },
  paths: above.paths.length > 0 ? above.paths : below.paths,
  baseUrl: above.baseUrl ?? below.baseUrl,
});

const fromFolder = (path: string, folder: string): string => path.replace("${configDir}", folder);

/** The file that `extends` names. */
function extended(name: string, folder: string): string {
  const path = fromFolder(name, folder);
  if (isAbsolute(path) || /^\.\.?(\/|$)/.test(path)) {
    const file = resolve(folder, path);
    return file.endsWith(".json") ? file : `${file}.json`;
  }
  const require = createRequire(join(folder, "tsconfig.json"));
  for (const each of [path, `${path}.json`, `${path}/tsconfig.json`]) {
    try {
      const found = require.resolve(each);
      if (found.endsWith(".json")) return found;
    } catch {
      // The next spelling may be the right one.
    }
  }
  return join(folder, path);
}

/** An object in JSON with comments and trailing commas; null if the file is not there or holds none. */
function readJsonc(file: string): Readonly<Record<string, unknown>> | null {
  try {
    const text = readFileSync(file, "utf8").replace(/^\uFEFF/, "");
    const plain = text.replaceAll(
      /("(?:[^"\\]|\\.)*")|\/\/[^\n]*|\/\*[^]*?\*\//g,
      (_, string?: string) => string ?? " ",
    );
    return asRecord(
      JSON.parse(plain.replaceAll(/("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])/g, (_, string?: string) => string ?? "")),
    );
  } catch {
    return null;
  }
}

const asRecord = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};

const asList = (value: unknown): readonly string[] =>
  (Array.isArray(value) ? value : [value]).filter((each): each is string => typeof each === "string");
