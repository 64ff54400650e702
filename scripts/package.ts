/**
 * `npm run package`: builds the package that users install, in `build/cairn-run`. `npm pack ./build/cairn-run` makes
 * the tarball. Beside it, `build/create-cairn-run` is the package that `npm create cairn-run` runs.
 *
 * The JavaScript is one bundle, split into chunks that the entry points share. So a command loads few files, and a class
 * such as `OutcomeUnknown` is one class for the library, the command line and the workers. Packages that users or AWS
 * bring stay imports; all others are part of the bundle.
 */
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { dirname, join, relative, resolve } from "node:path";
import { FUNCTIONS } from "../infra/names.ts";
import { type OutputChunk, type Plugin, rolldown } from "rolldown";

const ROOT = join(import.meta.dirname, "..");
const OUT = join(ROOT, "build", "cairn-run");
const TYPES = join(ROOT, "build", "types");

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, string>>;
  readonly imports: Readonly<Record<string, string>>;
  readonly bin: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** Users pass their own zod schemas, so they choose its version. */
const PEERS = new Set(["zod"]);
/**
 * Imported by the package as they are: optional peers, what the types mention, and the clients of AWS. cairn's own
 * schemas use a zod of the bundle: a command that loads no agent would otherwise spend most of its start on zod's hundred
 * files. A schema of the user works with it, because zod reads schemas by their structure.
 */
const STAYS = /^(@ai-sdk\/provider|@langchain\/[a-z-]+|@aws-sdk\/client-[a-z0-9-]+)(\/|$)/;
/** Only an entry point of their own imports these, and it says which of them is missing. */
const OPTIONAL_PEERS = ["@langchain/core", "@langchain/langgraph-checkpoint"];

/** Only the declarations import these. */
const FOR_TYPES = new Set(["@ai-sdk/provider", "@types/json-schema", "zod"]);

/** The entry point that SST compiles into its own program. */
const SST = "./infra/sst.ts";

/** Processes that are started by file. */
const PROCESSES = [
  ...["worker", "held-worker", "chaos-worker", "loop-worker"].map((name) => `src/cli/workers/${name}.ts`),
  "infra/plan-process.ts",
];

async function main(): Promise<void> {
  const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as Manifest;
  rmSync(join(ROOT, "build"), { recursive: true, force: true });
  const sources = Object.values(manifest.exports).filter((file) => file.endsWith(".ts"));
  const chunks = await bundle([...sources.filter((file) => file !== SST), ...PROCESSES, "src/cli/process.ts"]);
  await bundleMain();
  await bundleDescription();
  const functions = await bundleFunctions();
  writeTypes(sources);
  const imported = importedBy([...chunks, ...functions]);
  writeFileSync(join(OUT, "package.json"), `${JSON.stringify(packed(manifest, imported), null, 2)}\n`);
  cpSync(join(ROOT, "templates"), join(OUT, "templates"), { recursive: true, filter: (from) => !from.includes("/.") });
  for (const file of ["README.md", "LICENSE"]) cpSync(join(ROOT, file), join(OUT, file));
  writeCreate(manifest);
  const files = filesIn(OUT);
  const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0);
  console.log(`${relative(ROOT, OUT)}: ${files.length} files, ${Math.round(bytes / 1_000)} KB`);
}

/**
 * Most of a start is needed to find and link files. So what every command loads is one chunk, and all else that a worker
 * or an agent file loads is another. What only some commands load stays in chunks of its own.
 */
async function bundle(sources: readonly string[]): Promise<readonly OutputChunk[]> {
  const { plugin, importedBy: loads } = importGraph();
  const command = loads(["src/cli/process.ts"]);
  const worker = loads(["src/index.ts", "src/cli/workers/worker.ts"]);
  const input = Object.fromEntries(sources.map((file) => [nameOf(file), file]));
  const build = await rolldown({ ...SOURCE, input, external: STAYS, plugins: [plugin, WITHOUT_LOCALES] });
  const groups = [
    { name: "command", test: command },
    { name: "worker", test: worker },
  ];
  const { output } = await build.write({ ...WRITTEN, dir: join(OUT, "dist"), codeSplitting: { groups } });
  await build.close();
  return output.filter((each) => each.type === "chunk");
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
 * those of the command line, and its schemas use the zod of the agents: a cold start loads no second one.
 */
async function bundleFunctions(): Promise<readonly OutputChunk[]> {
  const build = await rolldown({
    ...SOURCE,
    input: Object.fromEntries([...FUNCTIONS, "library"].map((name) => [name, `functions/${name}.ts`])),
    external: [STAYS, /^zod(\/|$)/, "cairn-agents"],
  });
  const { output } = await build.write({ ...WRITTEN, dir: join(OUT, "dist", "functions") });
  await build.close();
  return output.filter((each) => each.type === "chunk");
}

/** The path of a source file in `dist`, without its ending. */
const nameOf = (file: string): string => file.replace(/^(?:\.\/)?(?:src\/)?(.+)\.ts$/, "$1");

const SOURCE = { cwd: ROOT, platform: "node", transform: { target: "node22.18" }, logLevel: "warn" } as const;
/** cairn speaks English only: the messages of zod in fifty other languages stay out of the bundle. */
const WITHOUT_LOCALES: Plugin = {
  name: "without-locales",
  load: (id) => (id.endsWith("/zod/v4/locales/index.js") ? "export {};" : null),
};

/** Names stay readable in stack traces. */
const WRITTEN = {
  format: "esm",
  chunkFileNames: "chunks/[name]-[hash].js",
  minify: { mangle: false, compress: true, codegen: { removeWhitespace: true } },
} as const;

/**
 * Records what each module imports. The test of `importedBy` holds for the modules that entry points import when they
 * start, without those that they import later by `import()`. It may be asked when all modules are parsed.
 */
function importGraph(): {
  readonly plugin: Plugin;
  readonly importedBy: (entryPoints: readonly string[]) => (id: string) => boolean;
} {
  const imports = new Map<string, readonly string[]>();
  const plugin: Plugin = {
    name: "import-graph",
    moduleParsed: ({ id, importedIds }) => void imports.set(id, importedIds),
  };
  const importedBy = (entryPoints: readonly string[]): ((id: string) => boolean) => {
    const entries = entryPoints.map((file) => join(ROOT, file));
    let reached: Set<string> | null = null;
    return (id) => {
      if (reached === null) {
        reached = new Set(entries);
        for (const each of reached) for (const imported of imports.get(each) ?? []) reached.add(imported);
      }
      return reached.has(id) && !entries.includes(id);
    };
  };
  return { plugin, importedBy };
}

/** The declarations that the entry points reach, next to their JavaScript. */
function writeTypes(sources: readonly string[]): void {
  const tsc = join(ROOT, "node_modules", ".bin", "tsc");
  execFileSync(tsc, ["-p", "tsconfig.package.json"], { cwd: ROOT, stdio: "inherit" });
  const reached = new Set(sources.map((file) => join(TYPES, file.replace(/\.ts$/, ".d.ts"))));
  for (const file of reached) {
    const text = readFileSync(file, "utf8");
    for (const [, path = ""] of text.matchAll(/(?:from |import\()"(\.[^"]+)\.ts"/g)) {
      reached.add(resolve(dirname(file), `${path}.d.ts`));
    }
    const to = join(OUT, "dist", `${nameOf(relative(TYPES, file))}.ts`);
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, toJs(text));
  }
  rmSync(TYPES, { recursive: true });
}

/** Relative imports as they are in the package. */
const toJs = (text: string): string => text.replaceAll(/((?:from |import\()(["`])\.[^"`]+)\.ts\2/g, "$1.js$2");

/** The packages that the bundle imports. */
function importedBy(chunks: readonly OutputChunk[]): ReadonlySet<string> {
  const paths = chunks.flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports]);
  const names = paths.filter((path) => STAYS.test(path));
  return new Set(names.map((path) => path.split("/", path.startsWith("@") ? 2 : 1).join("/")));
}

function packed(manifest: Manifest, imported: ReadonlySet<string>): object {
  const { name, version, description, license, type, repository, dependencies, devDependencies } = manifest;
  const built = (file: string): string => (file.endsWith(".ts") ? `./dist/${nameOf(file)}.js` : file);
  const versions = Object.entries(dependencies).filter(([each]) => imported.has(each) || FOR_TYPES.has(each));
  const unlisted = [...imported].filter((each) => !(each in dependencies) && !OPTIONAL_PEERS.includes(each));
  if (unlisted.length > 0) throw new Error(`imported, but not a dependency: ${unlisted.join(", ")}`);
  return {
    ...{ name, version, description, license, type, repository },
    engines: { node: ">=22.18" },
    bin: Object.fromEntries(Object.entries(manifest.bin).map(([bin, file]) => [bin, built(file)])),
    imports: Object.fromEntries(Object.entries(manifest.imports).map(([path, file]) => [path, built(file)])),
    exports: Object.fromEntries(
      Object.entries(manifest.exports).map(([path, file]) => {
        const js = built(file);
        return [path, js.endsWith(".js") ? { types: js.replace(/\.js$/, ".d.ts"), default: js } : file];
      }),
    ),
    files: ["dist", "templates"],
    dependencies: Object.fromEntries(versions.filter(([each]) => !PEERS.has(each))),
    peerDependencies: Object.fromEntries([
      ...versions.filter(([each]) => PEERS.has(each)),
      ...OPTIONAL_PEERS.map((each) => [each, devDependencies[each]]),
    ]),
    peerDependenciesMeta: Object.fromEntries(OPTIONAL_PEERS.map((each) => [each, { optional: true }])),
  };
}

/** The package behind `npm create cairn-run`, with the version of this one, which it runs. */
function writeCreate({ name, version, license }: Manifest): void {
  const create = join(ROOT, "packages", `create-${name}`);
  const out = join(ROOT, "build", `create-${name}`);
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
