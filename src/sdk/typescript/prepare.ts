/**
 * Prepares a file that Node cannot run as it is. Node takes the types off most TypeScript itself; such a file stays as it
 * is. Imports of types that are not marked as such are taken out in place. Only the rest needs a transformer.
 */
import { readFileSync } from "node:fs";
import nodeModule from "node:module";
import { dirname, extname, join } from "node:path";
import { type Prepared, cached, keep, cacheKeyOf } from "./cache.ts";
import { type Reexport, blank, reexportsIn, undeclaredExports, unusedImports } from "./imports.ts";
import { aliased, fileAt, isInstalled } from "./locate.ts";
import { type Token, tokensOf } from "./tokens.ts";
import { type Unsupported, transformed } from "./transformer.ts";
import { type Tsconfig, tsconfigFor } from "./tsconfig.ts";

/** The files that this module prepares. */
export const isPrepared = (file: string): boolean => /\.(?:[cm]?ts|tsx|jsx)$/.test(file);

/** Throws `TransformerMissing`. A file with an error of syntax stays as it is: Node says what is wrong. */
export function prepare(file: string): Prepared {
  const source = readFileSync(file, "utf8").replace(/^\uFEFF/, "");
  const tsconfig: Tsconfig = isInstalled(file) ? { options: {}, paths: [], baseUrl: null } : tsconfigFor(dirname(file));
  const type = typeOf(file);
  const key = cacheKeyOf(source, file, String(type), JSON.stringify(tsconfig.options));
  const known = cached(file, key);
  if (known !== null && known.reexports.every((each) => !exportsType(file, each))) return known;
  const prepared = prepareNow(file, { source, type, tsconfig });
  keep(file, key, prepared);
  return prepared;
}

interface Given {
  readonly source: string;
  readonly type: string | null;
  readonly tsconfig: Tsconfig;
}

function prepareNow(file: string, { source, type, tsconfig }: Given): Prepared {
  const stripped = withoutTypes(file, source);
  if (stripped.kind === "broken") return { code: null, format: "module", isMapped: false, reexports: [] };
  const tokens = stripped.kind === "stripped" ? tokensOf(stripped.code) : null;
  const unsupported = stripped.kind === "unsupported" ? stripped : unsupportedIn(tokens ?? [], source);
  const own = stripped.kind === "stripped" ? tokens : tokensOf(source);
  const format = formatOf(file, { type, tokens: own });
  // TypeScript compiles imports and exports of such a file to `require`.
  const isMixed = format === "commonjs" && hasModuleSyntax(own ?? []);
  const why = unsupported ?? (isMixed ? { syntax: "import or export in a CommonJS file", line: 1 } : null);
  if (why !== null) {
    const code = transformed({
      file,
      source,
      options: tsconfig.options,
      unsupported: why,
      format: format === "module" ? "esm" : "cjs",
    });
    const isCompiled = { isMapped: true, source: null, keepsImports: true };
    return finished(file, { code, format, tokens: tokensOf(code), ...isCompiled });
  }
  const code = stripped.kind === "stripped" ? stripped.code : source;
  const isPlain = isNodes(file, { type, format });
  return finished(file, {
    code,
    format,
    tokens,
    isMapped: false,
    source: isPlain ? source : null,
    keepsImports: keepsImports(tsconfig),
  });
}

interface Finishing {
  readonly code: string;
  readonly format: Prepared["format"];
  readonly tokens: readonly Token[] | null;
  readonly isMapped: boolean;
  /** The source, if Node can run it where nothing is taken out. */
  readonly source: string | null;
  readonly keepsImports: boolean;
}

/** Takes out imports and exports that are only types. Those that were imported for an export go after it. */
function finished(file: string, finishing: Finishing): Prepared {
  const { code, format, tokens, isMapped, source } = finishing;
  const reexports = reexportsIn(tokens ?? []);
  const types = reexports.filter((each) => exportsType(file, each));
  const exports = [...types, ...undeclaredExports(tokens ?? [])];
  const withoutExports = blank(code, exports);
  const left = exports.length === 0 ? tokens : tokensOf(withoutExports);
  const unused = finishing.keepsImports ? [] : unusedImports(left ?? []);
  const others = reexports.filter((each) => !types.includes(each)).map(({ name, from }) => ({ name, from }));
  if (exports.length + unused.length === 0 && source !== null) {
    return { code: null, format, isMapped, reexports: others };
  }
  const done = withNodeNames(blank(withoutExports, unused), { tokens, format });
  return { code: done, format, isMapped, reexports: others };
}

type Stripped =
  | { readonly kind: "stripped"; readonly code: string }
  | ({ readonly kind: "unsupported" } & Unsupported)
  | { readonly kind: "broken" };

function withoutTypes(file: string, source: string): Stripped {
  try {
    return { kind: "stripped", code: withoutWarning(() => nodeModule.stripTypeScriptTypes(source)) };
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error)) throw error;
    const line = Number(/^[^\n]*?:(\d+)\n/.exec(error.stack ?? "")?.[1] ?? Number.NaN);
    const at = { line: Number.isNaN(line) ? null : line };
    if (error.code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX") {
      return { kind: "unsupported", syntax: syntaxIn(error.message), ...at };
    }
    return file.endsWith("x") ? { kind: "unsupported", syntax: "JSX", ...at } : { kind: "broken" };
  }
}

/** `TypeScript enum is not supported in strip-only mode` names an enum. */
function syntaxIn(message: string): string {
  const named = /^TypeScript (.+?) is not supported/.exec(message)?.[1];
  if (named !== undefined) return /^[aeiou]/.test(named) ? `an ${named}` : `a ${named}`;
  if (message.startsWith("The angle-bracket")) return "a type assertion <T>value";
  return message.startsWith("`module`") ? "a module declaration" : "syntax of TypeScript that is more than types";
}

/** Node says once that this function is experimental. Users can do nothing about that. */
function withoutWarning<T>(run: () => T): T {
  const emit = Object.getOwnPropertyDescriptor(process, "emitWarning");
  process.emitWarning = () => {};
  try {
    return run();
  } finally {
    if (emit !== undefined) Object.defineProperty(process, "emitWarning", emit);
  }
}

/** What stays in a text without types, and no Node runs. */
function unsupportedIn(tokens: readonly Token[], source: string): Unsupported | null {
  const index = tokens.findIndex(
    ({ text, kind }, at) =>
      (kind === "sign" && text === "@") ||
      (text === "accessor" && isAccessor(tokens.slice(Math.max(0, at - 1), at + 2))),
  );
  const token = tokens[index];
  if (token === undefined) return null;
  const line = source.slice(0, token.start).split("\n").length;
  return { syntax: token.text === "@" ? "a decorator" : "an accessor field", line };
}

/** `accessor name` in a class. */
const isAccessor = ([before, , after]: readonly Token[]): boolean =>
  after?.kind === "name" && ["{", ";", "}", "static", ")"].includes(before?.text ?? "");

/** `type` of the nearest package; null if it has none. */
export function typeOf(file: string): string | null {
  for (let at = dirname(file); ; at = dirname(at)) {
    try {
      const read: unknown = JSON.parse(readFileSync(join(at, "package.json"), "utf8"));
      return typeof read === "object" && read !== null && "type" in read ? String(read.type) : null;
    } catch (error) {
      // Node itself says what is wrong with one that is no JSON.
      if (error instanceof SyntaxError) return null;
    }
    if (dirname(at) === at || at.endsWith("/node_modules")) return null;
  }
}

function formatOf(
  file: string,
  { type, tokens }: { readonly type: string | null; readonly tokens: readonly Token[] | null },
): Prepared["format"] {
  const ending = extname(file);
  if (ending === ".mts") return "module";
  if (ending === ".cts") return "commonjs";
  if (tokens === null || type === "module") return "module";
  return hasModuleSyntax(tokens) && !hasExportAssignment(tokens) ? "module" : "commonjs";
}

const hasExportAssignment = (tokens: readonly Token[]): boolean =>
  tokens.some(({ text }, at) => text === "export" && tokens[at + 1]?.text === "=" && tokens[at - 1]?.text !== ".");

/** An import or export statement, or `import.meta`. `import x = require()` is both. */
const hasModuleSyntax = (tokens: readonly Token[]): boolean =>
  tokens.some(({ kind, text }, at) => {
    if (kind !== "name" || tokens[at - 1]?.text === ".") return false;
    const next = tokens[at + 1];
    if (text === "export") return next?.text !== "=" && next?.text !== ":";
    if (text !== "import" || next === undefined) return false;
    if (next.text === ".") return true;
    return next.text !== "(" && next.text !== ":" && tokens[at + 2]?.text !== "=";
  });

/** Whether Node itself finds the format of a file, and takes off its types. */
function isNodes(
  file: string,
  { type, format }: { readonly type: string | null; readonly format: Prepared["format"] },
) {
  if (isInstalled(file) || file.endsWith("x")) return false;
  return !(extname(file) === ".ts" && type !== "module" && format === "module");
}

const keepsImports = ({ options }: Tsconfig): boolean =>
  options["verbatimModuleSyntax"] === true ||
  options["preserveValueImports"] === true ||
  options["importsNotUsedAsValues"] === "preserve";

/** Compiled TypeScript has `require`, `__dirname` and `__filename` in a CommonJS project. A module has to make them. */
function withNodeNames(
  code: string,
  { tokens, format }: { readonly tokens: readonly Token[] | null; readonly format: Prepared["format"] },
): string {
  if (format === "commonjs" || tokens === null) return code;
  const isFree = (name: string): boolean =>
    tokens.some(({ kind, text }, at) => kind === "name" && text === name && tokens[at - 1]?.text !== ".") &&
    !tokens.some(
      ({ text }, at) => text === name && /^(const|let|var|function|import|,|\{)$/.test(tokens[at - 1]?.text ?? ""),
    );
  const made = [
    isFree("require")
      ? 'import{createRequire as $cairnRequire}from"node:module";const require=$cairnRequire(import.meta.url);'
      : "",
    isFree("__dirname") ? "const __dirname=import.meta.dirname;" : "",
    isFree("__filename") ? "const __filename=import.meta.filename;" : "",
  ].join("");
  return made === "" ? code : code.startsWith("#!") ? code.replace(/\n|$/, `\n${made}`) : made + code;
}

const TYPE = (name: string): RegExp => new RegExp(`\\bexport\\s+(?:declare\\s+)?(?:interface|type)\\s+${name}\\b`);
const VALUE = (name: string): RegExp =>
  new RegExp(
    `\\bexport\\s+(?:declare\\s+)?(?:abstract\\s+|async\\s+)?(?:const\\s+enum|const|let|var|class|function\\*?|enum|namespace)\\s+${name}\\b`,
  );

/** Whether what the file exports from another file of the project is a type and nothing else. */
function exportsType(file: string, { name, from }: Pick<Reexport, "name" | "from">, depth = 0): boolean {
  const folder = dirname(file);
  const found = /^\.\.?(\/|$)/.test(from) ? fileAt(join(folder, from)) : aliased(from, folder);
  if (found === null || !/\.[cm]?tsx?$/.test(found) || !/^[\w$]+$/.test(name) || depth > 20) return false;
  const source = readFileSync(found, "utf8");
  const literal = name.replaceAll("$", "\\$");
  if (VALUE(literal).test(source)) return false;
  if (TYPE(literal).test(source)) return true;
  for (const [, isType, names = "", origin] of source.matchAll(
    /\bexport\s+(type\s+)?\{([^}]*)\}(?:\s*from\s*["']([^"']+)["'])?/g,
  )) {
    for (const each of names.split(",")) {
      const [, marked, original = "", local = original] =
        /^\s*(type\s+)?([\w$]+)(?:\s+as\s+([\w$]+))?\s*$/.exec(each) ?? [];
      if (local !== name || original === "") continue;
      if (isType !== undefined || marked !== undefined) return true;
      if (origin !== undefined) return exportsType(found, { name: original, from: origin }, depth + 1);
      return new RegExp(`(?:^|[;}\\n])\\s*(?:declare\\s+)?(?:interface|type)\\s+${original}\\b`).test(source);
    }
  }
  return [...source.matchAll(/\bexport\s+\*\s+from\s*["']([^"']+)["']/g)].some(([, origin = ""]) =>
    exportsType(found, { name, from: origin }, depth + 1),
  );
}
