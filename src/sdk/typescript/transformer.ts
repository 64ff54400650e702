/**
 * Transforms TypeScript that Node cannot run by taking off the types: enums, decorators, JSX and others. esbuild does it,
 * which is an optional package: it is loaded at the first file that needs it, from the project or beside cairn.
 */
import nodeModule, { createRequire } from "node:module";

/** A file needs esbuild, which is not installed. */
export class TransformerMissing extends Error {
  override readonly name = "TransformerMissing";
  readonly code = "TransformerMissing";
  readonly place: string;
  readonly syntax: string;
  /** The command to type. */
  readonly next = INSTALL;

  constructor(place: string, syntax: string) {
    super(
      `${place} has ${syntax}, which Node cannot run as it is: install esbuild, with which cairn transforms such files (${INSTALL})`,
    );
    this.place = place;
    this.syntax = syntax;
  }
}

const INSTALL = "npm install --save-dev esbuild";

/** What Node cannot run, and the line on which it stands. */
export interface Unsupported {
  readonly syntax: string;
  readonly line: number | null;
}

interface Transformer {
  readonly version: string;
  readonly transformSync: (source: string, options: Readonly<Record<string, unknown>>) => { readonly code: string };
}

let loaded: Transformer | undefined;

export interface Transforming {
  readonly file: string;
  readonly source: string;
  readonly format: "esm" | "cjs";
  readonly options: Readonly<Record<string, unknown>>;
  readonly unsupported: Unsupported;
}

/** JavaScript for this Node, with its source map. */
export function transformed({ file, source, format, options, unsupported }: Transforming): string {
  const esbuild = transformerFor(file, unsupported);
  return esbuild.transformSync(source, {
    loader: loaderFor(file),
    format,
    sourcefile: file,
    sourcemap: "inline",
    sourcesContent: false,
    keepNames: true,
    platform: "node",
    target: `node${process.versions.node}`,
    logLevel: "silent",
    tsconfigRaw: { compilerOptions: jsxFor(options, source) },
  }).code;
}

const loaderFor = (file: string): string => (file.endsWith(".tsx") ? "tsx" : file.endsWith("x") ? "jsx" : "ts");

/**
 * `preserve` leaves JSX to a later step, and there is none. Without a word about it a file that has `React` means
 * `React.createElement`, as the tools of that time did.
 */
function jsxFor(options: Readonly<Record<string, unknown>>, source: string): Readonly<Record<string, unknown>> {
  const { jsx = HAS_REACT.test(source) ? "react" : "automatic" } = options;
  return { ...options, jsx: typeof jsx === "string" && LATER.has(jsx) ? "react-jsx" : jsx };
}

const LATER: ReadonlySet<string> = new Set(["preserve", "react-native", "automatic"]);
const HAS_REACT = /^\s*(import|const|let|var)\b[^;\n]*\bReact\b/m;

function transformerFor(file: string, { syntax, line }: Unsupported): Transformer {
  loaded ??= required(file) ?? required(import.meta.url);
  if (loaded !== undefined) return loaded;
  const place = line === null ? file : `${file}:${line}`;
  throw new TransformerMissing(place, syntax);
}

/**
 * Maps places in transformed code to the lines of the user. Files that are loaded before keep their places anyway. Other
 * runtimes than Node transform TypeScript, and map its places, by themselves.
 */
export const mapPlaces = (): void =>
  (nodeModule as Partial<typeof nodeModule>).setSourceMapsSupport?.(true, { nodeModules: true, generatedCode: false });

function required(from: string): Transformer | undefined {
  try {
    return createRequire(from)("esbuild") as Transformer;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}
