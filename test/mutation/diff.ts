/** Reads from git what has changed since a commit, for the choice of mutants. */
import { execFileSync } from "node:child_process";
import type { Diff } from "./choice.ts";
import { type Mutant, ROOT, parseTable } from "./table.ts";

const TABLE = "test/mutation/mutants.txt";

/** The id of a commit, or null if the checkout has none that is called so. */
export function findCommit(name: string): string | null {
  try {
    return git("rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`).trim();
  } catch {
    return null;
  }
}

/** Everything that differs from the commit: committed, staged, unstaged and untracked. */
export function readDiff(commit: string): Diff {
  const changed = git("diff", "--name-only", "--no-renames", "-z", commit);
  const untracked = git("ls-files", "--others", "--exclude-standard", "-z");
  const paths = new Set([changed, untracked].flatMap((list) => list.split("\0")).filter((path) => path !== ""));
  return { paths, before: readTableOf(commit) };
}

/** The table of a commit; empty if it had none. */
function readTableOf(commit: string): readonly Mutant[] {
  if (git("ls-tree", "--name-only", commit, TABLE) === "") return [];
  return parseTable(git("show", `${commit}:${TABLE}`));
}

const git = (...words: readonly string[]): string =>
  execFileSync("git", words, { cwd: ROOT, encoding: "utf8", maxBuffer: 2 ** 28, stdio: ["ignore", "pipe", "pipe"] });
