/**
 * What a change is compared with. In this order:
 *
 * 1. the commit in the environment variable `CAIRN_BASE`;
 * 2. the merge base with the remote's default branch, if that is not HEAD;
 * 3. the commit in the tracked file `.ci/passed`, which a green run wrote, if it is an ancestor of HEAD;
 * 4. nothing: then everything is played.
 *
 * A fresh clone remembers nothing of earlier runs, and its HEAD is the remote's default branch. So only a tracked file
 * can tell it what passed.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The tracked file with the last commit that passed. */
export const PASSED_FILE = ".ci/passed";

/** `all`: every step that its diffs asked for was green. `without-localstack`: all but those on LocalStack. */
export const LEVELS = ["all", "without-localstack"] as const;
export type Level = (typeof LEVELS)[number];

/** The one line of `.ci/passed`. */
export interface Passed {
  readonly commit: string;
  readonly level: Level;
}

export type Base =
  | { readonly kind: "none"; readonly why: string }
  | { readonly kind: "environment" | "merge-base"; readonly commit: string }
  | { readonly kind: "passed"; readonly commit: string; readonly level: Level };

/** Runs git in the checkout and returns its output without the last line break; null if git exits with an error. */
export type Git = (...words: readonly string[]) => string | null;

export const gitIn =
  (root: string): Git =>
  (...words) => {
    const { status, stdout } = spawnSync("git", words, { cwd: root, encoding: "utf8", maxBuffer: 1 << 28 });
    return status === 0 ? stdout.trimEnd() : null;
  };

/** Null if the text is no such line: a commit of 40 digits, a space, a level. */
export function parsePassed(text: string): Passed | null {
  const [, commit, level] = /^([0-9a-f]{40}) (\S+)\n?$/.exec(text) ?? [];
  const known = LEVELS.find((each) => each === level);
  return commit === undefined || known === undefined ? null : { commit, level: known };
}

export const formatPassed = ({ commit, level }: Passed): string => `${commit} ${level}\n`;

/** The id of a commit, or null if the checkout has none that is called so. */
export const findCommit = (name: string, git: Git): string | null =>
  git("rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`);

/** Throws if `CAIRN_BASE` names no commit: an unknown base must not mean that less is checked. */
export function findBase(root: string, named: string | undefined, git: Git): Base {
  if (named !== undefined && named !== "") {
    const commit = findCommit(named, git);
    if (commit !== null) return { kind: "environment", commit };
    throw new Error(`CAIRN_BASE is ${named}, and git knows no such commit: name one, or unset the variable`);
  }
  const head = git("rev-parse", "HEAD");
  if (head === null) return { kind: "none", why: "this is no git checkout with a commit" };
  const branch = defaultBranch(git);
  const mergeBase = branch === null ? null : git("merge-base", "HEAD", branch);
  if (mergeBase !== null && mergeBase !== head) return { kind: "merge-base", commit: mergeBase };
  return passedIn(root, git);
}

/** `origin/HEAD` is what a clone was told; a checkout that was fetched otherwise has only the usual names. */
const DEFAULT_BRANCHES = [
  "refs/remotes/origin/HEAD",
  "refs/remotes/origin/main",
  "refs/remotes/origin/master",
] as const;

const defaultBranch = (git: Git): string | null =>
  DEFAULT_BRANCHES.find((branch) => git("rev-parse", "--verify", "--quiet", branch) !== null) ?? null;

function passedIn(root: string, git: Git): Base {
  const path = join(root, PASSED_FILE);
  if (!existsSync(path)) return { kind: "none", why: `there is no ${PASSED_FILE}` };
  const passed = parsePassed(readFileSync(path, "utf8"));
  if (passed === null) return { kind: "none", why: `${PASSED_FILE} is not a line with a commit and a level` };
  if (git("merge-base", "--is-ancestor", passed.commit, "HEAD") === null) {
    return { kind: "none", why: `${passed.commit.slice(0, 10)} of ${PASSED_FILE} is no ancestor of HEAD` };
  }
  return { kind: "passed", ...passed };
}

/** The files that differ from a commit, with those that are not committed or not tracked yet. Renames count twice. */
export function changedSince(commit: string, git: Git): readonly string[] {
  const listed = [
    git("diff", "--name-only", "--no-renames", "-z", commit),
    git("ls-files", "--others", "--exclude-standard", "-z"),
  ];
  if (listed.includes(null)) throw new Error(`git cannot compare the checkout with ${commit}`);
  const files = listed.flatMap((text) => text?.split("\0") ?? []).filter((file) => file !== "");
  return [...new Set(files)].toSorted();
}

/** Whether the checkout is exactly its commit. */
export const isClean = (git: Git): boolean => git("status", "--porcelain") === "";
