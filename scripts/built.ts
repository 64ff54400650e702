/**
 * The package of the sources as they are, which several tests and scripts need: built once, in a folder of `build` that is
 * named after the digest of all that a build reads. So an old build is never taken for a new one, and two processes that
 * build at the same time do not meet.
 *
 * `node scripts/built.ts` builds it, if it is not there, and removes those of other sources.
 */
import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const BUILDS = join(ROOT, "build", "by-digest");

/** All that a build reads: the sources, what is copied, the programs that build, and the versions of the packages. */
const FOLDERS = ["src", "infra", "functions", "templates", "packages", "scripts", "agents", "docs"] as const;
const FILES = ["package.json", "package-lock.json", "tsconfig.json", "tsconfig.package.json", "README.md", "LICENSE"];

function digestOfSources(): string {
  const inFolders = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => !/(^|\/)(node_modules|\.[^/]+)(\/|$)/.test(name))
      .map((name) => join(folder, name)),
  ).filter((file) => statSync(join(ROOT, file)).isFile());
  const hash = createHash("sha256").update(process.version);
  for (const file of [...FILES, ...inFolders.toSorted()]) {
    hash.update(`\0${file}\0`).update(readFileSync(join(ROOT, file)));
  }
  return hash.digest("hex").slice(0, 16);
}

/**
 * The folder with the packages `cairn-run` and `create-cairn-run`, as `npm run package` builds them, and with copies of the
 * examples in `agents`. What is in it may be read and run, and never changed.
 */
export function builtPackages(): string {
  const folder = join(BUILDS, digestOfSources());
  if (existsSync(folder)) return folder;
  mkdirSync(BUILDS, { recursive: true });
  const own = `${folder}-${process.pid}`;
  // A test runner says `test`, and then the console would be built for its developers.
  const env = { ...process.env, NODE_ENV: "production" };
  execFileSync(process.execPath, ["scripts/package.ts", own], { cwd: ROOT, stdio: "pipe", env });
  cpSync(join(ROOT, "agents"), join(own, "agents"), { recursive: true });
  // In the scope of the checkout's own manifest, the examples would import the sources.
  writeFileSync(join(own, "package.json"), JSON.stringify({ private: true, type: "module" }));
  try {
    renameSync(own, folder);
  } catch (error) {
    // Another process built the same meanwhile.
    if (!existsSync(folder)) throw error;
    rmSync(own, { recursive: true });
  }
  return folder;
}

if (import.meta.main) {
  const folder = builtPackages();
  for (const name of readdirSync(BUILDS)) {
    if (join(BUILDS, name) !== folder) rmSync(join(BUILDS, name), { recursive: true });
  }
  console.log(folder);
}
