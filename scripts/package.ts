/**
 * `npm run package`: builds the package that users install, in `build/cairn-run`. `npm pack ./build/cairn-run` makes
 * the tarball. Beside it, `build/create-cairn-run` is the package that `npm create cairn-run` runs. `npm run package --
 * DIR` builds in another folder than `build`; what is in it is removed.
 *
 * The JavaScript is one bundle, split into chunks that the entry points share. So a command loads few files, and a class
 * such as `OutcomeUnknown` is one class for the library, the command line and the workers. Packages that users or AWS
 * bring stay imports; all others are part of the bundle.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { dirname, join, relative, resolve } from "node:path";
import { FUNCTION_CONDITION, PACKAGES_ON_USE, isForFunctions } from "../infra/entry-points.ts";
import { EVENTS, FUNCTIONS } from "../infra/names.ts";
import { type OutputChunk, type Plugin, rolldown } from "rolldown";
import { USER_PAGES } from "./docs/pages.ts";
import { packedReadme } from "./packed-readme.ts";
import { AWS_PACKAGES } from "../src/ports/aws-packages.ts";
import { PROVIDER_PACKAGES } from "../src/ports/named-models.ts";
import { SOURCE, STAYS, WRITTEN, bundle } from "./bundle.ts";

const ROOT = join(import.meta.dirname, "..");
const BUILD = resolve(process.argv[2] ?? join(ROOT, "build"));
const OUT = join(BUILD, "cairn-run");
const TYPES = join(BUILD, "types");

interface Manifest {
  readonly name: string;
  readonly version: string;
  /** An entry point may be another file for browsers. */
  readonly exports: Readonly<Record<string, string | { readonly browser: string; readonly default: string }>>;
  readonly imports: Readonly<Record<string, string>>;
  readonly bin: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** Users pass their own zod schemas, so they choose its version. */
const PEERS = new Set(["zod"]);
/** Only what is loaded on use imports these, and it says which of them is missing. */
const OPTIONAL_PEERS = [
  ...Object.values(PACKAGES_ON_USE).flat(),
  "@modelcontextprotocol/client",
  ...PROVIDER_PACKAGES,
  ...AWS_PACKAGES,
  "esbuild",
];
/**
 * Wider than the repository's: of esbuild each version that knows all decorators, which most projects have through their
 * other tools; of zod each that has zod 4 (`zod/v4` in 3.25), as the test of the package's types shows.
 */
const RANGES: Readonly<Record<string, string>> = { esbuild: ">=0.21.0", zod: "^3.25.76 || ^4.0.0" };

/** What the bundle imports of AWS stays out of the list of dependencies. */
const isPeer = (name: string): boolean => PEERS.has(name) || OPTIONAL_PEERS.includes(name);

/** Only the declarations import these. */
const FOR_TYPES = new Set(["@ai-sdk/provider", "@types/json-schema", "zod"]);

/** The entry point that SST compiles into its own program. */
const SST = "./infra/sst.ts";

/** What commands print for programs. */
const SCHEMAS = "docs/json-schemas.json";

/** Processes that are started by file. */
const PROCESSES = [
  ...["compose/workers/worker", "compose/workers/held-worker", "chaos/chaos-worker", "chaos/loop-worker"].map(
    (name) => `src/${name}.ts`,
  ),
  "infra/dry-run-process.ts",
  "infra/plan-process.ts",
];

async function main(): Promise<void> {
  const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as Manifest;
  rmSync(BUILD, { recursive: true, force: true });
  const sources = Object.values(manifest.exports)
    .flatMap((file) => (typeof file === "string" ? [file] : Object.values(file)))
    .filter((file) => file.endsWith(".ts"));
  const chunks = await bundleEntries([...sources.filter((file) => file !== SST), ...PROCESSES, "src/cli/process.ts"]);
  await bundleMain();
  await bundleDescription();
  const functions = await bundleFunctions(manifest);
  const own = packed(manifest, importedBy([...chunks, ...functions]));
  writeTypes(sources, new Set([...Object.keys(own.dependencies), ...Object.keys(own.peerDependencies)]));
  execFileSync(process.execPath, ["scripts/console.ts", join(OUT, "dist", "console")], { cwd: ROOT });
  writeFileSync(join(OUT, "package.json"), `${JSON.stringify(own, null, 2)}\n`);
  cpSync(join(ROOT, "templates"), join(OUT, "templates"), { recursive: true, filter: (from) => !from.includes("/.") });
  cpSync(join(ROOT, "LICENSE"), join(OUT, "LICENSE"));
  writePages(manifest);
  writeCreate(manifest);
  const files = filesIn(OUT);
  const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0);
  const folder = relative(process.cwd(), OUT);
  const path = folder.startsWith("..") ? OUT : `./${folder}`;
  console.log(`${path}: ${files.length} files, ${Math.round(bytes / 1_000)} KB`);
  console.log(`for the tarball that users install: npm pack ${path}`);
}

/**
 * What every command loads, what an agent file loads, and all else that a worker loads are chunks of their own, and so is
 * what the first two share. An agent file needs nothing that only Node has, such as `node:sqlite`: Bun and Deno import it.
 */
function bundleEntries(sources: readonly string[]): Promise<readonly OutputChunk[]> {
  return bundle({
    input: Object.fromEntries(sources.map((file) => [nameOf(file), file])),
    dir: join(OUT, "dist"),
    groups: [
      { name: "shared", of: [["src/cli/process.ts"], ["src/index.ts"]] },
      { name: "command", of: [["src/cli/process.ts"]] },
      { name: "library", of: [["src/index.ts"]] },
      { name: "worker", of: [["src/compose/workers/worker.ts"]] },
    ],
  });
}

/** The binary alone: an old Node must be able to parse it, and it imports the rest. */
async function bundleMain(): Promise<void> {
  const file = join(OUT, "dist/cli/main.js");
  const build = await rolldown({
    ...SOURCE,
    input: "src/cli/main.ts",
    external: /process\.ts$/,
    transform: { target: "node14.18" },
  });
  await build.write({ ...WRITTEN, file });
  await build.close();
  writeFileSync(file, toJs(readFileSync(file, "utf8")), { mode: 0o755 });
}

/** The description of resources is one file, because SST adds its globals to each file that it compiles. */
async function bundleDescription(): Promise<void> {
  const build = await rolldown({ ...SOURCE, input: SST });
  await build.write({ ...WRITTEN, file: join(OUT, "dist", `${nameOf(SST)}.js`) });
  await build.close();
}

/**
 * What Lambda runs. A deployment bundles it again, together with the agents of a project. So its chunks are apart from
 * those of the command line, and its schemas use the zod of the agents: a cold start loads no second one. What agents
 * import of cairn is part of it, so that the engine and the agents share their classes.
 */
async function bundleFunctions({ exports }: Manifest): Promise<readonly OutputChunk[]> {
  const library = Object.entries(exports).flatMap(([entryPoint, target]) => {
    const [file, name] = [sourceOf(target), libraryName(entryPoint)];
    return name !== null && file.endsWith(".ts") ? [[name, file] as const] : [];
  });
  const build = await rolldown({
    ...SOURCE,
    input: Object.fromEntries([...[...FUNCTIONS, EVENTS].map((name) => [name, `functions/${name}.ts`]), ...library]),
    external: [STAYS, /^zod(\/|$)/, "cairn-agents", "cairn-console"],
    plugins: [ZOD_4],
  });
  const { output } = await build.write({ ...WRITTEN, dir: join(OUT, "dist", "functions") });
  await build.close();
  return output.filter((each) => each.type === "chunk");
}

/** Zod 3 has zod 4 at this path, and zod 4 has itself there. */
const ZOD_4_PATH = "zod/v4";
const ZOD_4: Plugin = {
  name: "zod-4",
  resolveId: (path) => (path === "zod" ? { id: ZOD_4_PATH, external: true } : null),
};

/** The name of an entry point among the modules that Lambda runs; null if none of them may import it. */
const libraryName = (entryPoint: string): string | null =>
  isForFunctions(entryPoint) ? `library/${entryPoint.slice(2) || "index"}` : null;

const sourceOf = (target: Manifest["exports"][string]): string =>
  typeof target === "string" ? target : target.default;

/** The path of a source file in `dist`, without its ending. */
const nameOf = (file: string): string => file.replace(/^(?:\.\/)?(?:src\/)?(.+)\.ts$/, "$1");

/**
 * The declarations that the entry points reach, next to their JavaScript. `installed`: the packages that users have
 * beside this one. The compiler of a user takes everything from another package for `any`, without an error where
 * `skipLibCheck` is set, so none may be imported.
 */
function writeTypes(sources: readonly string[], installed: ReadonlySet<string>): void {
  const tsc = join(ROOT, "node_modules", ".bin", "tsc");
  execFileSync(tsc, ["-p", "tsconfig.package.json", "--outDir", TYPES, "--checkers", "1"], {
    cwd: ROOT,
    stdio: "inherit",
  });
  const reached = new Set(sources.map((file) => join(TYPES, file.replace(/\.ts$/, ".d.ts"))));
  for (const file of reached) {
    // What wraps zod for the API is bundled; its declarations are those of zod.
    const text = readFileSync(file, "utf8").replaceAll(/"(@hono\/zod-openapi|zod)"/g, `"${ZOD_4_PATH}"`);
    for (const [, path = ""] of text.matchAll(/(?:from |import\(|import )"([^"]+)"/g)) {
      if (path.startsWith(".")) reached.add(resolve(dirname(file), path.replace(/\.ts$/, ".d.ts")));
      else if (!path.startsWith("node:") && !installed.has(packageOf(path)))
        throw new Error(`the declarations of ${relative(TYPES, file)} import ${path}, which is no dependency or peer`);
    }
    const to = join(OUT, "dist", `${nameOf(relative(TYPES, file))}.ts`);
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, forEachZod4(toJs(text)));
  }
  rmSync(TYPES, { recursive: true });
}

/**
 * The same types by what each zod 4 has: a field that may be missing and is never undefined has a name since 4.3, and a
 * union names its discriminator since 4.1.
 */
function forEachZod4(text: string): string {
  const plain = text.includes("z.ZodDiscriminatedUnion<[")
    ? text.replaceAll("z.ZodDiscriminatedUnion<[", "z.ZodUnion<[").replaceAll(/>\], "\w+">/g, ">]>")
    : text;
  const own = plain.replaceAll(/\b(?:z|import\("zod\/v4"\))\.ZodExactOptional</g, "ExactOptionalSchema<");
  if (own === plain) return own;
  const zod = `import("${ZOD_4_PATH}")`;
  const value = `${zod}.ZodType<${zod}.output<S>, ${zod}.input<S>>`;
  return `${own}type ExactOptionalSchema<S extends ${zod}.core.SomeType> = ${value} & { _zod: { optin: "optional"; optout: "optional" } };\n`;
}

/** Relative imports as they are in the package, where what is in `src` lies beside `infra`. */
const toJs = (text: string): string =>
  text.replaceAll(/((?:from |import\()(["`])\.[^"`]+)\.ts\2/g, "$1.js$2").replaceAll('"../src/', '"../');

/** The packages that the bundle imports. */
function importedBy(chunks: readonly OutputChunk[]): ReadonlySet<string> {
  const paths = chunks.flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports]);
  return new Set(paths.filter((path) => STAYS.test(path)).map(packageOf));
}

/** The package of an import. */
const packageOf = (path: string): string => path.split("/", path.startsWith("@") ? 2 : 1).join("/");

function packed(manifest: Manifest, imported: ReadonlySet<string>) {
  const { name, version, description, keywords, license, type, repository, dependencies, devDependencies } = manifest;
  const built = (file: string): string =>
    file.endsWith(".ts") ? `./dist/${nameOf(file)}.js` : file.replace("./build/console/", "./dist/console/");
  const versions = Object.entries(dependencies).filter(([each]) => imported.has(each) || FOR_TYPES.has(each));
  const unlisted = [...imported].filter((each) => !(each in dependencies) && !OPTIONAL_PEERS.includes(each));
  if (unlisted.length > 0) throw new Error(`imported, but not a dependency: ${unlisted.join(", ")}`);
  return {
    ...{ name, version, description, keywords, license, type, repository },
    engines: { node: ">=22.18" },
    bin: Object.fromEntries(Object.entries(manifest.bin).map(([bin, file]) => [bin, built(file)])),
    imports: Object.fromEntries(Object.entries(manifest.imports).map(([path, file]) => [path, built(file)])),
    exports: Object.fromEntries(
      Object.entries(manifest.exports).map(([path, file]) => {
        const inBrowsers = typeof file === "string" ? {} : { browser: built(file.browser) };
        const [js, name] = [built(sourceOf(file)), libraryName(path)];
        const inFunctions = name === null ? {} : { [FUNCTION_CONDITION]: `./dist/functions/${name}.js` };
        const types = js.replace(/\.js$/, ".d.ts");
        return [path, js.endsWith(".js") ? { types, ...inBrowsers, ...inFunctions, default: js } : js];
      }),
    ),
    files: ["dist", "templates", "docs"],
    dependencies: Object.fromEntries(versions.filter(([each]) => !isPeer(each))),
    peerDependencies: Object.fromEntries([
      ...versions.filter(([each]) => PEERS.has(each)).map(([each, range]) => [each, RANGES[each] ?? range]),
      ...OPTIONAL_PEERS.map((each) => [each, RANGES[each] ?? devDependencies[each] ?? dependencies[each]]),
    ]),
    peerDependenciesMeta: Object.fromEntries(OPTIONAL_PEERS.map((each) => [each, { optional: true }])),
  };
}

/** The README and the pages that users read. After all else, because their links depend on what the package has. */
function writePages({ repository }: Manifest): void {
  const pages = ["README.md", ...USER_PAGES];
  const has = (path: string): boolean => pages.includes(path) || existsSync(join(OUT, path));
  mkdirSync(join(OUT, "docs"));
  cpSync(join(ROOT, SCHEMAS), join(OUT, SCHEMAS));
  for (const page of pages) {
    const text = readFileSync(join(ROOT, page), "utf8");
    writeFileSync(join(OUT, page), packedReadme(text, { page, has, repository }));
  }
}

/** The package behind `npm create cairn-run`, with the version of this one, which it runs. */
function writeCreate({ name, version, license }: Manifest): void {
  const create = join(ROOT, "packages", `create-${name}`);
  const out = join(BUILD, `create-${name}`);
  cpSync(create, out, { recursive: true });
  cpSync(join(ROOT, "LICENSE"), join(out, "LICENSE"));
  const own = JSON.parse(readFileSync(join(create, "package.json"), "utf8")) as Manifest;
  const filled = { ...own, version, license, dependencies: { [name]: version } };
  writeFileSync(join(out, "package.json"), `${JSON.stringify(filled, null, 2)}\n`);
}

const filesIn = (dir: string): readonly string[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  );

await main();
