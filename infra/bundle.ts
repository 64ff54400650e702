/**
 * Bundles the functions for Lambda: one folder each, as ES modules, with everything they need and nothing else. What a
 * function imports only on use, such as agents and model providers, is in separate files of the folder.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Metafile, Plugin, build as BundlerBuild } from "esbuild";
import { consoleModule, consolePlugin } from "./console-module.ts";
import { type AgentsIn, entryPoints, packagesOnUse, refuseImports } from "./entry-points.ts";
import { checkMoney, refuseProcess, wrongWithChildren } from "../src/sdk/check.ts";
import type { Agent } from "../src/ports/agent.ts";
import { loadAgentFile } from "../src/sdk/load.ts";
import { isOwn } from "../src/sdk/own-files.ts";
import { aliased, isInstalled, unbuilt } from "../src/sdk/typescript/locate.ts";
import type { TenantLimitsByName } from "../src/sdk/access.ts";
import type { ModelRates } from "../src/protocol/model-rate.ts";
import { type Prices, pricedBy } from "../src/sdk/prices.ts";
import { providerPackages, requireClients, requirePackages } from "./provider-packages.ts";
import { type DeployedFunction, EVENTS, FUNCTIONS, type FunctionName, agentFunction } from "./names.ts";

export { FUNCTIONS, type FunctionName };

/** The files of one function. */
export interface Bundle {
  readonly name: DeployedFunction;
  /** The folder. It holds `index.mjs`, which exports `handler`, and the files that it imports on use. */
  readonly folder: string;
  /** The bytes that a cold start reads, and those of all files. */
  readonly startBytes: number;
  readonly bytes: number;
  readonly files: readonly string[];
  /** A digest of the names and contents of all files. */
  readonly digest: string;
  /** The source files in the part that a cold start reads, and in the whole bundle; relative to the project. */
  readonly startSources: readonly string[];
  readonly sources: readonly string[];
}

/** Where the functions are bundled. */
export interface Project {
  /** The folder of `cairn.config.ts`. */
  readonly root: string;
  /** The folder of SST's platform, whose bundler is used where the project has none. */
  readonly platform: string;
}

/** Paths differ between the repository and the package, so their import maps have them. */
const { resolve: resolveOwn } = createRequire(import.meta.url);

/** A module of this package that Lambda runs: a source file in the repository, a built one in the package. */
const ownModule = (name: string): string => resolveOwn(`#functions/${name}`);

/** The folder of cairn, from which its own packages are found. */
const OWN = dirname(resolveOwn("#package"));

const CHECKOUT: Project = { root: OWN, platform: join(OWN, ".sst", "platform") };

/** Bundles every function into `folder`, which is emptied first. */
export async function bundleFunctions(of: {
  readonly folder: string;
  /** The agent files of cairn.config.ts, as absolute paths. */
  readonly agentFiles: readonly string[];
  /** The prices in cairn.config.ts. */
  readonly prices?: Prices;
  /** The rate limits of models in cairn.config.ts. */
  readonly modelRates?: ModelRates;
  /** `access.limits` of cairn.config.ts. They are in the bundles, since the variables of a function have 4 KB together. */
  readonly tenantLimits?: TenantLimitsByName;
  /** The caps in `tenants` of cairn.config.ts. */
  readonly tenantPlaces?: BundledSettings["tenantPlaces"];
  /**
   * The names of isolated agents. Each gets a beat function of its own. It contains this agent, and those of which it
   * dispatches child runs: their tasks and budgets are read, and no code of them runs.
   */
  readonly isolated?: readonly string[];
  /** Whether the function that streams events is bundled too; default false. */
  readonly eventStreams?: boolean;
  /** Whether the function of the API shows the console; default false. */
  readonly console?: boolean;
  /** Other source files to use in place of functions, as absolute paths; for tests. */
  readonly instead?: Instead;
  /** The functions besides those of isolated agents; default: all. For tests. */
  readonly functions?: readonly FunctionName[];
  /** The project of the agents; default: this checkout. */
  readonly project?: Project;
}): Promise<readonly Bundle[]> {
  const { isolated = [], eventStreams = false, functions = FUNCTIONS, project = CHECKOUT } = of;
  const { prices = {}, modelRates = {}, tenantLimits = {}, tenantPlaces = {} } = of;
  const settings = { prices, modelRates, tenantLimits, tenantPlaces };
  requireClients([project.root, OWN]);
  rmSync(of.folder, { recursive: true, force: true });
  const agents = await agentLines(of.agentFiles, { prices, root: project.root });
  const all = agentsModule(
    [...agents.values()].map(({ line }) => line),
    settings,
  );
  const entryOf = (name: FunctionName): string => of.instead?.[name] ?? ownModule(name);
  const none = agentsModule([], { prices: {}, modelRates: {}, tenantLimits, tenantPlaces: {} });
  const shown = await consoleModule(of.console ?? false);
  const agentsIn = Map.groupBy(agents.keys(), (name) => agents.get(name)?.file ?? "");
  const wanted = [
    ...functions.map((name) => ({ name, entry: entryOf(name), agents: all })),
    ...(eventStreams ? [{ name: EVENTS, entry: ownModule(EVENTS), agents: none } as const] : []),
    ...isolated.map((agent) => ({
      name: agentFunction(agent),
      entry: entryOf("beat"),
      agents: agentsModule(linesFor(agent, agents), { ...settings, tenantLimits: {} }),
    })),
  ];
  const bundled = ({ name, ...made }: (typeof wanted)[number]): Promise<Bundle> =>
    bundle(name, { ...made, project, console: shown, agentsIn, folder: join(of.folder, name) });
  // The function of beats has all agents: if it is refused, nothing else was bundled in vain.
  const first = await Promise.all(wanted.slice(0, 1).map(bundled));
  return [...first, ...(await Promise.all(wanted.slice(1).map(bundled)))];
}

export type Instead = { readonly [F in FunctionName]?: string };

interface Wanted {
  readonly project: Project;
  readonly entry: string;
  readonly folder: string;
}

/** The modules that are made for one function. */
interface Made {
  readonly agents: string;
  readonly console: string;
  readonly agentsIn: AgentsIn;
}

async function bundle(name: DeployedFunction, { folder, entry, project, ...made }: Wanted & Made): Promise<Bundle> {
  const { root } = project;
  const wanted = { folder, entry, project };
  const plugins = [
    agentsPlugin(made.agents, project),
    consolePlugin(made.console),
    entryPoints(OWN),
    packagesOnUse({ own: OWN, root }),
    providerPackages(root),
    pureSources,
    projectImports,
  ];
  const slim = await built({ ...wanted, plugins: [...plugins, zodWithoutLanguages] });
  refuseImports(slim, made.agentsIn);
  const isWhole = !takesLanguages(root, filesOf(Object.keys(slim.inputs)));
  const { outputs } = isWhole ? slim : await built({ ...wanted, plugins });
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".mjs"));
  const start = startOf(outputs);
  const sources = { startSources: sourcesIn(outputs, start), sources: sourcesIn(outputs, Object.keys(outputs)) };
  const startBytes = start.reduce((sum, file) => sum + statSync(join(root, file)).size, 0);
  const bytes = files.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
  return { name, folder, startBytes, bytes, files, digest: digestOf(folder, files), ...sources };
}

function digestOf(folder: string, files: readonly string[]): string {
  const hash = createHash("sha256");
  for (const file of files.toSorted()) hash.update(`${file}\n`).update(readFileSync(join(folder, file)));
  return hash.digest("hex");
}

async function built({ entry, folder, project, plugins }: Wanted & { readonly plugins: Plugin[] }): Promise<Metafile> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { metafile } = await bundlerOf(project)({
    absWorkingDir: project.root,
    entryPoints: { index: entry },
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    minify: true,
    platform: "node",
    target: "node24",
    format: "esm",
    mainFields: ["module", "main"],
    metafile: true,
    logLevel: "error",
    // Packages that are still CommonJS call `require`.
    banner: { js: 'import{createRequire as cjs}from"node:module";const require=cjs(import.meta.url);' },
    // Agent files may be outside of any folder with installed packages.
    nodePaths: [join(project.root, "node_modules"), join(OWN, "node_modules")],
    plugins,
  });
  return metafile;
}

/** The bundler of the project; that of SST's platform where it has none. */
function bundlerOf({ root, platform }: Project): typeof BundlerBuild {
  for (const folder of [root, platform]) {
    try {
      return (createRequire(join(folder, "package.json"))("esbuild") as { readonly build: typeof BundlerBuild }).build;
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "MODULE_NOT_FOUND")) throw error;
    }
  }
  throw new Error(`neither ${root} nor ${platform} has esbuild, which bundles the functions: type npx sst install`);
}

/** The file of the handler and its static imports. */
function startOf(outputs: Metafile["outputs"]): readonly string[] {
  const entry = Object.keys(outputs).filter((file) => file.endsWith("/index.mjs"));
  const start = new Set(entry);
  for (const file of start) {
    for (const { path, kind } of outputs[file]?.imports ?? [])
      if (kind === "import-statement" && path in outputs) start.add(path);
  }
  return [...start];
}

/**
 * One import line for each agent, with its name, so that a function that looks for one agent does not load the others.
 */
async function agentLines(
  files: readonly string[],
  { prices, root }: { readonly prices: Prices; readonly root: string },
): Promise<ReadonlyMap<string, AgentLine>> {
  const lines = new Map<string, AgentLine>();
  const declared: { readonly agent: Agent; readonly file: string }[] = [];
  for (const file of files) {
    for (const agent of await loadAgentFile(file)) {
      const { name } = agent;
      checkMoney(pricedBy(agent, prices));
      requirePackages(agent, { roots: [root, OWN], file });
      for (const source of agent.sources ?? []) refuseProcess(source, `agent ${name} of ${file}: `);
      if (lines.has(name)) throw new Error(`two agents are named ${name}; the second one is in ${file}`);
      const [module, quoted] = [JSON.stringify(file), JSON.stringify(name)];
      const children = Object.values(agent.tools).flatMap(({ child }) => (child === undefined ? [] : [child.agent]));
      const line = `${quoted}: () => import(${module}).then((all) => Object.values(all).find((each) => each?.name === ${quoted})),`;
      lines.set(name, { line, children, file });
      declared.push({ agent, file });
    }
  }
  for (const { agent, file } of declared) {
    const wrong = wrongWithChildren(agent, [...lines.keys()]);
    if (wrong !== null) throw new Error(`agent ${agent.name} of ${file}: ${wrong}`);
  }
  return lines;
}

/** The lines of an agent and of the agents of its children. */
const linesFor = (agent: string, agents: ReadonlyMap<string, AgentLine>): readonly string[] =>
  [...new Set([agent, ...(agents.get(agent)?.children ?? [])])].flatMap((name) => agents.get(name)?.line ?? []);

interface AgentLine {
  readonly line: string;
  readonly file: string;
  /** The agents of which it dispatches child runs. */
  readonly children: readonly string[];
}

interface BundledSettings {
  readonly prices: Prices;
  readonly modelRates: ModelRates;
  readonly tenantLimits: TenantLimitsByName;
  readonly tenantPlaces: Readonly<Record<string, number>>;
}

const agentsModule = (lines: readonly string[], settings: BundledSettings): string =>
  [
    ...Object.entries(settings).map(([name, value]) => `export const ${name} = ${JSON.stringify(value)};`),
    `export const agents = {\n${lines.join("\n")}\n};\n`,
  ].join("\n");

const agentsPlugin = (contents: string, { root }: Project): Plugin => ({
  name: "agents",
  setup: (esbuild) => {
    esbuild.onResolve({ filter: /^cairn-agents$/ }, ({ path }) => ({ path, namespace: "agents" }));
    esbuild.onLoad({ filter: /.*/, namespace: "agents" }, () => ({ contents, loader: "js", resolveDir: root }));
  },
});

/**
 * Resolves the imports of a project's files that the bundler does not find as the loader does: aliases of a `tsconfig.json`
 * that another one references, and packages whose entry point is not built yet.
 */
const projectImports: Plugin = {
  name: "project-imports",
  setup: (esbuild) => {
    esbuild.onResolve({ filter: /^[^./]/ }, async ({ path, importer, kind, resolveDir, namespace, pluginData }) => {
      if (pluginData === "resolving" || namespace !== "file" || isInstalled(importer) || isOwn(importer)) return null;
      const alias = /^(node|cairn-run)(:|\/|$)/.test(path) ? null : aliased(path, resolveDir);
      if (alias !== null) return { path: alias };
      const found = await esbuild.resolve(path, { importer, kind, resolveDir, pluginData: "resolving" });
      if (found.errors.length === 0) return found;
      const source = unbuilt(path, resolveDir);
      return source === null ? null : { path: source };
    });
  },
};

/** The folder of our sources; it does not exist in the package, whose modules are bundled already. */
const SOURCES = join(OWN, "src", "/");

/**
 * Marks our source files as free of side effects, so that esbuild drops unused ones with all that they import. It loads
 * files at the same time, and the import that comes first decides about a file: all of them have to say the same, or
 * two bundles of the same files differ (`are those that it uses, wherever the import of one is`, in
 * test/infra/pure-sources.test.ts). Our imports end in `.ts`, and those of installed packages need not be asked about.
 */
export const pureSources: Plugin = {
  name: "pure-sources",
  setup: (esbuild) => {
    esbuild.onResolve({ filter: /^\.\.?\/.*\.ts$/ }, async ({ path, importer, kind, resolveDir, pluginData }) => {
      if (pluginData === "resolving" || importer.includes("/node_modules/")) return null;
      const found = await esbuild.resolve(path, { importer, kind, resolveDir, pluginData: "resolving" });
      return found.path.startsWith(SOURCES) ? { ...found, sideEffects: false } : found;
    });
  },
};

/**
 * Drops the languages of zod's messages. Its main module imports them all, which is half of what a cold start would
 * load. They stay in if a source file uses one.
 */
const zodWithoutLanguages: Plugin = {
  name: "zod-without-languages",
  setup: (esbuild) => {
    esbuild.onLoad({ filter: /\/zod\/v4\/locales\/index\.js$/ }, () => ({ contents: "export {};" }));
  },
};

/** The source files of which code remains in these outputs. */
const sourcesIn = (outputs: Metafile["outputs"], files: readonly string[]): readonly string[] => {
  const inputs = files.flatMap((file) => Object.entries(outputs[file]?.inputs ?? {}));
  return filesOf(inputs.flatMap(([file, { bytesInOutput }]) => (bytesInOutput > 0 ? [file] : [])));
};

/** Source files only, without the modules that a plugin generates. */
const filesOf = (inputs: readonly string[]): readonly string[] =>
  [...new Set(inputs)].filter((file) => !/^(agents|console):/.test(file));

const takesLanguages = (root: string, sources: readonly string[]): boolean =>
  sources.some(
    (file) => !/\/zod\//.test(file) && /\b(z|zod)\w*\.locales\b/.test(readFileSync(join(root, file), "utf8")),
  );
