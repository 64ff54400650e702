/**
 * The entry points of cairn in the functions. What an agent imports as `cairn-run` or `cairn-run/effects` is the same
 * modules as those of the engine beside it, so both have the same classes. The list is `exports` in package.json.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Metafile, Plugin } from "esbuild";
import { AgentInvalid } from "../src/ports/agent-invalid.ts";

/** In the package, the file that functions use has this condition in `exports`. A source file is for all uses. */
export const FUNCTION_CONDITION = "cairn-function";

type Exports = Readonly<Record<string, string | Readonly<Record<string, string>>>>;

/** Entry points that no function can use, and why. */
const NOT_IN_FUNCTIONS: Readonly<Record<string, string>> = {
  "./conformance": "it tests a world",
  "./server": "a deployment has an API of its own",
  "./sst": "it describes a deployment, so it belongs in sst.config.ts",
  "./worker": "the functions of a deployment drive its runs",
};

/** The optional packages that an entry point loads on use. */
export const PACKAGES_ON_USE: Readonly<Record<string, readonly string[]>> = {
  "./langgraph": ["@langchain/langgraph-checkpoint", "@langchain/core"],
  "./mcp": ["@modelcontextprotocol/server"],
};

export const isForFunctions = (entryPoint: string): boolean => !Object.hasOwn(NOT_IN_FUNCTIONS, entryPoint);

/** What an agent writes to import the entry point. */
const specifierOf = (entryPoint: string): string => `cairn-run${entryPoint.slice(1)}`;

/** The entry point that an import names; null if it names something else. */
const entryPointIn = (specifier: string): string | null =>
  /^cairn-run(\/|$)/.test(specifier) ? specifier.replace("cairn-run", ".") : null;

/** The file of each entry point in a function, by the specifier of its import; null for one that no function can use. */
export function filesForFunctions(own: string): ReadonlyMap<string, string | null> {
  const { exports } = JSON.parse(readFileSync(join(own, "package.json"), "utf8")) as { readonly exports: Exports };
  return new Map(
    Object.entries(exports).map(([entryPoint, target]) => {
      const file = typeof target === "string" ? target : (target[FUNCTION_CONDITION] ?? target["default"] ?? "");
      return [specifierOf(entryPoint), isForFunctions(entryPoint) ? join(own, file) : null];
    }),
  );
}

/** Resolves the entry points. `refuseImports` finds the imports that this plugin leaves as they are. */
export const entryPoints = (own: string): Plugin => ({
  name: "entry-points",
  setup: (esbuild) => {
    const files = filesForFunctions(own);
    esbuild.onResolve({ filter: /^cairn-run(\/|$)/ }, ({ path }) => {
      const file = files.get(path);
      if (file === undefined) return null;
      return file === null ? { path, external: true } : { path: file };
    });
  },
});

/**
 * Resolves the packages that entry points load on use, for cairn's own imports: the project's version comes first. A
 * missing one stays an import, because a function that never loads it does not need it.
 */
export const packagesOnUse = ({ own, root }: { readonly own: string; readonly root: string }): Plugin => ({
  name: "packages-on-use",
  setup: (esbuild) => {
    const filter = new RegExp(`^(${Object.values(PACKAGES_ON_USE).flat().join("|")})(/.+)?$`);
    esbuild.onResolve({ filter }, async ({ path, importer, kind, resolveDir, pluginData }) => {
      if (pluginData === "resolving" || !isIn(own, importer)) return null;
      for (const from of [root, resolveDir]) {
        const found = await esbuild.resolve(path, { kind, importer, resolveDir: from, pluginData: "resolving" });
        if (found.errors.length === 0) return { path: found.path, namespace: found.namespace };
      }
      return { path, external: true };
    });
  },
});

/** Whether the file belongs to the package in that folder, and not to one that is installed in it. */
const isIn = (own: string, file: string): boolean =>
  file.startsWith(join(own, "/")) && !file.slice(own.length).includes("/node_modules/");

/** Throws `AgentInvalid` for an agent that imports what its function cannot use, or for which a package is missing. */
export function refuseImports({ inputs, outputs }: Metafile, agentsIn: AgentsIn): void {
  const outside = Object.values(outputs).flatMap(({ imports }) => imports.filter(({ external }) => external));
  const isMissing = (name: string): boolean => outside.some(({ path }) => `${path}/`.startsWith(`${name}/`));
  for (const { path, original = "" } of inputs["agents:cairn-agents"]?.imports ?? []) {
    const agents = `agent ${(agentsIn.get(original) ?? []).join(", ")} of ${original}`;
    for (const [entryPoint, importer] of importedFrom(path, inputs)) {
      const specifier = specifierOf(entryPoint);
      const why = NOT_IN_FUNCTIONS[entryPoint];
      if (why !== undefined)
        throw new AgentInvalid(
          `${agents}: ${importer} imports ${specifier}, which cannot be deployed: ${why}; ` +
            "move the import to a file that the agent does not import",
        );
      const packages = PACKAGES_ON_USE[entryPoint] ?? [];
      const missing = packages.find(isMissing);
      if (missing !== undefined)
        throw new AgentInvalid(
          `${agents}: ${specifier} needs the package ${missing}, which is not installed; ` +
            `type: npm install ${packages.join(" ")}`,
        );
    }
  }
}

/** The names of the agents in each agent file. */
export type AgentsIn = ReadonlyMap<string, readonly string[]>;

/** The entry points that a file imports, by itself or through other files, each with the file that imports it. */
function importedFrom(file: string, inputs: Metafile["inputs"]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const reached = new Set([file]);
  for (const importer of reached) {
    for (const { path, original = path } of inputs[importer]?.imports ?? []) {
      const entryPoint = entryPointIn(original);
      if (entryPoint === null) reached.add(path);
      else if (!found.has(entryPoint)) found.set(entryPoint, importer);
    }
  }
  return found;
}
