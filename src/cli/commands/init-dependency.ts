/**
 * What a new project names as its dependency on cairn: the version of the package that writes it, or the tarball from
 * which that package was installed. A tarball may have a version that no registry has.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";

interface Installed {
  readonly packages?: Readonly<Record<string, { readonly resolved?: unknown }>>;
}

/** `home`: the folder of the package. `dir`: that of the new project. */
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
