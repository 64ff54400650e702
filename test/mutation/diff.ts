/** Reads from git what has changed since a commit, for the choice of mutants. */
import { changedSince, gitIn } from "../../scripts/verify/base.ts";
import type { Diff } from "./choice.ts";
import { type Mutant, ROOT, parseTable } from "./table.ts";

const TABLE = "test/mutation/mutants.txt";

const git = gitIn(ROOT);

/** Everything that differs from the commit: committed, staged, unstaged and untracked. */
export const readDiff = (commit: string): Diff => ({
  paths: new Set(changedSince(commit, git)),
  before: readTableOf(commit),
});

/** The table of a commit; empty if it had none. */
const readTableOf = (commit: string): readonly Mutant[] => parseTable(git("show", `${commit}:${TABLE}`) ?? "");
