/** The API reference: TypeDoc reads the doc comments of what each entry point exports, and writes a page for each. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, posix } from "node:path";

/** A page of the reference: the entry point that users import, and the name of its file. */
export interface EntryPoint {
  readonly imported: string;
  readonly page: string;
  readonly source: string;
}

interface Manifest {
  readonly name: string;
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
}

/** SST compiles its entry point into its own program, with types that only that program has. */
const WITHOUT_PAGE = new Set(["./sst", "./package.json"]);

export function entryPointsOf({ name, exports }: Manifest): readonly EntryPoint[] {
  return Object.entries(exports)
    .filter(([path]) => !WITHOUT_PAGE.has(path))
    .map(([path, target]) => ({
      imported: path.replace(".", name),
      page: path === "." ? name : path.slice(2),
      source: typeof target === "string" ? target : target.default,
    }));
}

interface Folders {
  readonly root: string;
  /** Where TypeDoc is installed. */
  readonly program: string;
  /** For the pages. */
  readonly out: string;
  /** For what is needed on the way. */
  readonly work: string;
}

/** Writes the pages into `out`. */
export function writeReference(entryPoints: readonly EntryPoint[], { root, program, out, work }: Folders): void {
  const files = entryPoints.map(({ source }) => join(root, source));
  const [tsconfig, options, drafts] = ["tsconfig.json", "typedoc.json", "drafts"].map((name) => join(work, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(work, { recursive: true });
  writeFileSync(tsconfig, JSON.stringify({ extends: join(root, "tsconfig.json"), include: [], exclude: [], files }));
  writeFileSync(
    options,
    JSON.stringify({
      entryPoints: files,
      basePath: root,
      tsconfig,
      out: drafts,
      plugin: ["typedoc-plugin-markdown"],
      router: "module",
      readme: "none",
      disableSources: true,
      disableGit: true,
      excludeInternal: true,
      excludePrivate: true,
      excludeExternals: true,
      groupOrder: ["Functions", "Variables", "Interfaces", "Type Aliases", "Classes"],
      // `npm run types` checks the sources.
      skipErrorChecking: true,
      hidePageHeader: true,
      hideBreadcrumbs: true,
      hidePageTitle: true,
      useCodeBlocks: true,
      expandObjects: false,
      parametersFormat: "list",
      interfacePropertiesFormat: "list",
      logLevel: "Error",
    }),
  );
  rmSync(drafts, { recursive: true, force: true });
  execFileSync(process.execPath, [join(program, "node_modules/typedoc/bin/typedoc"), "--options", options], {
    cwd: program,
    stdio: "inherit",
  });
  mkdirSync(out, { recursive: true });
  const pages = new Map(entryPoints.map((each) => [draftOf(each), each]));
  for (const [draft, { imported, page }] of pages) {
    const text = readFileSync(join(drafts, draft), "utf8").replaceAll(/\]\(([^)#:]+\.md)/g, (link, path: string) => {
      const to = pages.get(posix.join(posix.dirname(draft), path));
      return to === undefined ? link : `](./${to.page}.md`;
    });
    writeFileSync(join(out, `${page}.md`), `---\noutline: [2, 3]\n---\n\n# ${imported}\n\n${text}`);
  }
  writeFileSync(join(out, "index.md"), indexOf(entryPoints));
}

/** TypeDoc names a page as its module, and an `index.ts` as its folder. */
const draftOf = ({ source }: EntryPoint): string => `${posix.normalize(source).replace(/(\/index)?\.ts$/, "")}.md`;

const indexOf = (entryPoints: readonly EntryPoint[]): string =>
  `# API reference

What each entry point of the package exports, from the comments of its source.

${entryPoints.map(({ imported, page }) => `- [\`${imported}\`](./${page}.md)`).join("\n")}
`;
