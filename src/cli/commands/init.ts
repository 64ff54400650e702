/** `cairn init DIR`: writes a project with an agent, its tests and its config, from a template of the package. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { AWS_PACKAGES } from "../../ports/aws-packages.ts";
import { sentenceOf } from "../../codec/value.ts";
import { UserError, EXIT } from "../../compose/user-error.ts";
import { type Shell, printDocument } from "../shell.ts";

export interface InitFlags {
  readonly template: "basic" | "chat" | "scheduled" | "orders";
  /** Whether the project gets the clients of AWS. */
  readonly aws?: boolean;
}

/** Files with this ending get their values filled in and lose the ending. */
const FILLED = ".template";

/** What may be in the folder already: a repository that was made first. */
const MAY_BE_THERE = new Set([".git", ".DS_Store"]);

interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

export async function init(shell: Shell, typed: { readonly dir: string; readonly flags: InitFlags }): Promise<number> {
  const { template, aws = false } = typed.flags;
  const dir = resolve(shell.cwd, typed.dir);
  refuseUnlessFree(dir, typed);
  const files = written(dir, { template, aws });
  const next = [...(dir === shell.cwd ? [] : [`cd ${typed.dir}`]), "npm install", "npm test"];
  if (shell.json) printDocument(shell, { dir, template, files, next });
  else {
    const { terminal } = shell;
    terminal.out(`${dir} has a new project, from the template ${template}:`);
    for (const file of files) terminal.out(`  ${file}`);
    terminal.out(`\nnext: ${terminal.paintOut("bold", next.join(" && "))}`);
    terminal.out("README.md says what to type then.");
  }
  return EXIT.done;
}

function refuseUnlessFree(
  dir: string,
  { dir: typed, flags }: { readonly dir: string; readonly flags: InitFlags },
): void {
  if (!existsSync(dir)) return;
  const found = statSync(dir).isDirectory() ? readdirSync(dir).filter((name) => !MAY_BE_THERE.has(name)) : null;
  if (found?.length === 0) return;
  const more = found !== null && found.length > 3 ? ` and ${found.length - 3} more` : "";
  throw new UserError({
    code: "FolderNotEmpty",
    exit: EXIT.refused,
    what: found === null ? `${dir} is a file` : `${dir} is not empty: it has ${found.slice(0, 3).join(", ")}${more}`,
    why: "a project is written into a new or empty folder, so that no file is replaced; nothing was written",
    next: `npx cairn-run init ${typed === "." ? "my-agents" : `${typed}-2`} --template ${flags.template}${flags.aws === true ? " --aws" : ""}`,
  });
}

interface Wanted {
  readonly template: string;
  readonly aws: boolean;
}

function written(dir: string, { template, aws }: Wanted): readonly string[] {
  const home = dirname(fileURLToPath(import.meta.resolve("#package")));
  try {
    return write(dir, { from: ["shared", template].map((name) => join(home, "templates", name)), home, aws });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
    throw new UserError({
      code: "FolderUnwritable",
      exit: EXIT.usage,
      what: `the project cannot be written to ${dir}`,
      why: sentenceOf(error),
      next: `npx cairn-run init my-agents --template ${template}`,
    });
  }
}

interface Source {
  readonly from: readonly string[];
  readonly home: string;
  readonly aws: boolean;
}

/** Writes into a folder beside the target, and moves the files when all are there. Returns their names. */
function write(dir: string, source: Source): readonly string[] {
  const draft = mkdtempSync(join(dirname(dir), ".cairn-init-"));
  try {
    for (const from of source.from) cpSync(from, draft, { recursive: true });
    const names = readdirSync(draft, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name));
    const values = valuesFor(dir, source.home);
    for (const file of names.filter((name) => name.endsWith(FILLED))) fill(file, values);
    if (source.aws) addClients(join(draft, "package.json"), source.home);
    if (!existsSync(dir)) mkdirSync(dir);
    for (const name of readdirSync(draft)) renameSync(join(draft, name), join(dir, name));
    return names.map((file) => targetOf(relative(draft, file))).toSorted();
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** `README.md.template` becomes `README.md`, and `gitignore.template` becomes `.gitignore`: npm packs no `.gitignore`. */
const targetOf = (file: string): string =>
  file.endsWith(FILLED) ? file.slice(0, -FILLED.length).replace(/^gitignore$/, ".gitignore") : file;

function fill(file: string, values: Readonly<Record<string, string>>): void {
  const text = readFileSync(file, "utf8").replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => values[name] ?? "");
  writeFileSync(join(dirname(file), targetOf(basename(file))), text);
  rmSync(file);
}

function addClients(file: string, home: string): void {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(home, "package.json"), "utf8")) as Manifest;
  const ranges = { ...dependencies, ...peerDependencies };
  const manifest = JSON.parse(readFileSync(file, "utf8")) as Manifest;
  const all = { ...manifest.dependencies, ...Object.fromEntries(AWS_PACKAGES.map((name) => [name, ranges[name]])) };
  const sorted = Object.fromEntries(Object.entries(all).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(file, `${JSON.stringify({ ...manifest, dependencies: sorted }, null, 2)}\n`);
}

function valuesFor(dir: string, home: string): Readonly<Record<string, string>> {
  const manifest = JSON.parse(readFileSync(join(home, "package.json"), "utf8")) as Manifest;
  const zod = { ...manifest.dependencies, ...manifest.peerDependencies }["zod"] ?? "";
  const name = nameFrom(basename(dir));
  const cairn = dependencyOnCairn({ home, dir, version: manifest.version });
  // The newest that it names.
  return { name, app: appFrom(name), cairn, zod: (zod.split("||").at(-1) ?? "").replace(/^\D+/, "") };
}

/** Resources in AWS are named after the app, and the longest of these names leave no more room for it. */
const APP_CHARACTERS_MAX = 18;

/** The name of the app in `sst.config.ts`: words of small letters and digits, of which the first begins with a letter. */
const appFrom = (name: string): string =>
  (name.match(/[a-z0-9]+/g) ?? [])
    .join("-")
    .replace(/^[^a-z]+/, "")
    .slice(0, APP_CHARACTERS_MAX)
    .replace(/-$/, "") || "my-agents";

/** The name of the folder as npm allows it. */
const nameFrom = (folder: string): string =>
  folder
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, "-")
    .replaceAll(/^[._-]+|[._-]+$/g, "")
    .slice(0, 200) || "my-agents";

interface Installed {
  readonly packages?: Readonly<Record<string, { readonly resolved?: unknown }>>;
}

/**
 * What a new project names as its dependency on cairn: the version of the package that writes it, or the tarball from
 * which that package was installed. A tarball may have a version that no registry has. `home`: the folder of the
 * package. `dir`: that of the new project.
 */
export function dependencyOnCairn({
  home,
  dir,
  version,
}: {
  readonly home: string;
  readonly dir: string;
  readonly version: string;
}): string {
  const tarball = findTarball(home);
  return tarball === null ? `^${version}` : `file:${relative(dir, tarball).split(sep).join("/")}`;
}

/**
 * The tarball that the package was installed from; null if it came from elsewhere, or if the tarball is gone. npm writes
 * where each package came from into a hidden lock file beside the packages, also for `npx ./cairn-run.tgz`.
 */
function findTarball(home: string): string | null {
  const modules = dirname(home);
  const list = join(modules, ".package-lock.json");
  if (!existsSync(list)) return null;
  const root = dirname(modules);
  const { packages = {} } = JSON.parse(readFileSync(list, "utf8")) as Installed;
  const resolved = packages[relative(root, home).split(sep).join("/")]?.resolved;
  if (typeof resolved !== "string" || !/^file:.*\.(?:tgz|tar\.gz)$/.test(resolved)) return null;
  const tarball = resolve(root, resolved.slice("file:".length));
  return existsSync(tarball) ? tarball : null;
}
