/** How cairn is bundled, for the package that users install and for the benchmarks. */
import { join } from "node:path";
import { type OutputChunk, type Plugin, rolldown } from "rolldown";

const ROOT = join(import.meta.dirname, "..");

/**
 * Imported by the package as they are: optional peers, what the types mention, and the clients of AWS. cairn's own
 * schemas use a zod of the bundle: a command that loads no agent would otherwise spend most of its start on zod's hundred
 * files. A schema of the user works with it, because zod reads schemas by their structure.
 */
export const STAYS =
  /^(@ai-sdk\/(provider|anthropic|openai|google|amazon-bedrock|gateway)|@langchain\/[a-z-]+|@modelcontextprotocol\/server|@aws-sdk\/client-[a-z0-9-]+)(\/|$)/;
export const SOURCE = { cwd: ROOT, platform: "node", transform: { target: "node22.18" }, logLevel: "warn" } as const;
/** cairn speaks English only: the messages of zod in fifty other languages stay out of the bundle. */
const WITHOUT_LOCALES: Plugin = {
  name: "without-locales",
  load: (id) => (id.endsWith("/zod/v4/locales/index.js") ? "export {};" : null),
};

/** A failed import of an optional package stays a failure; a bundler that finds the handler warns instead of refusing. */
const MAY_FAIL = "catch((missing) => { throw missing; })";

/**
 * Imports the clients of AWS where a chunk runs, and not where it is linked. A bundler of a user that writes one file
 * moves all that is linked to its top, so that a program on a local store would need the clients to start.
 */
const LATE_CLIENTS: Plugin = {
  name: "late-clients",
  renderChunk: (code, { fileName }) => {
    const late = code
      .replaceAll(/^import \{([^}]+)\} from "(@aws-sdk\/[^"]+)";$/gm, (_, names: string, from: string) => {
        return `const {${names.replaceAll(" as ", ": ")}} = await import("${from}");`;
      })
      .replaceAll(/\bimport\("([^"]+)"\)/g, (found, from: string) =>
        STAYS.test(from) ? `${found}.${MAY_FAIL}` : found,
      );
    if (/^import .*"@aws-sdk\//m.test(late)) throw new Error(`${fileName} links a client of AWS`);
    return late === code ? null : { code: late, map: null };
  },
};

/**
 * Escapes what is not ASCII, which stands in strings and patterns only. The text of a file with one other character takes
 * two bytes for each of its characters in memory.
 */
const ASCII: Plugin = {
  name: "ascii",
  generateBundle: (_, output) => {
    for (const each of Object.values(output)) if (each.type === "chunk") each.code = escaped(each.code);
  },
};

const escaped = (code: string): string =>
  code.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Names stay readable in stack traces. */
export const WRITTEN = {
  format: "esm",
  chunkFileNames: "chunks/[name]-[hash].js",
  minify: { mangle: false, compress: true, codegen: { removeWhitespace: true } },
} as const;

export interface Bundling {
  /** The entry points by their names in `dir`. */
  readonly input: Readonly<Record<string, string>>;
  readonly dir: string;
  /**
   * What one of the entry points of each set loads when it starts is one chunk; the first group that has a module keeps it.
   */
  readonly groups: readonly { readonly name: string; readonly of: readonly (readonly string[])[] }[];
}

/**
 * Most of a start is needed to find and link files. So what entry points load when they start is in few chunks. What is
 * imported later stays in chunks of its own.
 */
export async function bundle({ input, dir, groups }: Bundling): Promise<readonly OutputChunk[]> {
  const { plugin, importedBy } = importGraph();
  const build = await rolldown({
    ...SOURCE,
    input,
    external: isExternal,
    plugins: [plugin, WITHOUT_LOCALES, LATE_CLIENTS, ASCII],
  });
  const codeSplitting = { groups: groups.map(({ name, of }) => ({ name, test: inEach(of.map(importedBy)) })) };
  const { output } = await build.write({ ...WRITTEN, dir, codeSplitting });
  await build.close();
  return output.filter((each) => each.type === "chunk");
}

const inEach =
  (tests: readonly ((id: string) => boolean)[]) =>
  (id: string): boolean =>
    tests.every((test) => test(id));

/** An agent uses the zod of its project, also that of the benchmarks. */
const isExternal = (id: string, importer: string | undefined): boolean =>
  STAYS.test(id) || (id === "zod" && importer !== undefined && importer.startsWith(join(ROOT, "bench")));

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
