/** What a change is compared with, in real git repositories. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import {
  PASSED_FILE,
  changedSince,
  findBase,
  formatPassed,
  gitIn,
  isClean,
  parsePassed,
} from "../../../scripts/verify/base.ts";

interface Repository {
  readonly dir: string;
  /** Writes these files, commits everything, and returns the commit. */
  readonly commit: (files: Readonly<Record<string, string>>) => string;
  readonly git: (...words: readonly string[]) => string;
}

function repository(): Repository {
  const dir = mkdtempSync(join(tmpdir(), "cairn-base-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const git = (...words: readonly string[]): string => {
    const identity = ["-c", "user.name=ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"];
    const { status, stdout, stderr } = spawnSync("git", [...identity, ...words], { cwd: dir, encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
    return stdout.trim();
  };
  git("init", "--quiet", "--initial-branch", "main");
  const write = (files: Readonly<Record<string, string>>): void => {
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(dirname(join(dir, file)), { recursive: true });
      writeFileSync(join(dir, file), text);
    }
  };
  const commit = (files: Readonly<Record<string, string>>): string => {
    write(files);
    git("add", "--all");
    git("commit", "--quiet", "--allow-empty", "--message", "a change");
    return git("rev-parse", "HEAD");
  };
  return { dir, commit, git };
}

const baseOf = ({ dir }: Repository, named?: string) => findBase(dir, named, gitIn(dir));

test("takes CAIRN_BASE before all else, and refuses one that git does not know", () => {
  const place = repository();
  const first = place.commit({ "one.txt": "1" });
  place.commit({ [PASSED_FILE]: formatPassed({ commit: first, level: "all" }) });
  expect(baseOf(place, "HEAD~1")).toEqual({ kind: "environment", commit: first });
  expect(() => baseOf(place, "nonsense")).toThrow(/CAIRN_BASE is nonsense, and git knows no such commit/);
});

test("takes the merge base with the remote's default branch, unless that is HEAD", () => {
  const place = repository();
  const first = place.commit({ "one.txt": "1" });
  place.git("update-ref", "refs/remotes/origin/main", first);
  place.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main");
  expect(baseOf(place)).toMatchObject({ kind: "none" });
  place.commit({ "two.txt": "2" });
  expect(baseOf(place)).toEqual({ kind: "merge-base", commit: first });
});

test("takes the branch main of a remote whose default branch git was not told", () => {
  const place = repository();
  const first = place.commit({ "one.txt": "1" });
  place.git("update-ref", "refs/remotes/origin/main", first);
  place.commit({ "two.txt": "2" });
  expect(baseOf(place)).toEqual({ kind: "merge-base", commit: first });
});

test("takes the commit of .ci/passed if it is an ancestor of HEAD", () => {
  const place = repository();
  const first = place.commit({ "one.txt": "1" });
  place.commit({ [PASSED_FILE]: formatPassed({ commit: first, level: "without-localstack" }) });
  expect(baseOf(place)).toEqual({ kind: "passed", commit: first, level: "without-localstack" });
  place.git("checkout", "--quiet", "--orphan", "other");
  place.commit({});
  expect(baseOf(place)).toEqual({ kind: "none", why: `${first.slice(0, 10)} of .ci/passed is no ancestor of HEAD` });
});

test("takes nothing for a base where .ci/passed is missing or no such line", () => {
  const place = repository();
  place.commit({ "one.txt": "1" });
  expect(baseOf(place)).toEqual({ kind: "none", why: "there is no .ci/passed" });
  place.commit({ [PASSED_FILE]: "yesterday all\n" });
  expect(baseOf(place)).toMatchObject({ kind: "none", why: expect.stringContaining("is not a line") });
});

test("reads only a line with a whole commit and a known level", () => {
  const commit = "a".repeat(40);
  expect(parsePassed(`${commit} all\n`)).toEqual({ commit, level: "all" });
  for (const text of [
    "",
    `${commit}\n`,
    `${commit} most\n`,
    `${commit} all\n${commit} all\n`,
    `${commit.slice(1)} all`,
  ]) {
    expect(parsePassed(text)).toBeNull();
  }
});

test("lists what differs from a commit: committed, changed, removed, renamed and not tracked", () => {
  const place = repository();
  const first = place.commit({ "one.txt": "1", "two.txt": "2", "three.txt": "3", "four.txt": "a whole line\n" });
  place.commit({ "one.txt": "changed" });
  place.git("mv", "four.txt", "five.txt");
  place.git("rm", "--quiet", "three.txt");
  writeFileSync(join(place.dir, "a new file.txt"), "");
  const git = gitIn(place.dir);
  expect(changedSince(first, git)).toEqual(["a new file.txt", "five.txt", "four.txt", "one.txt", "three.txt"]);
  expect(isClean(git)).toBe(false);
  place.commit({});
  expect(isClean(git)).toBe(true);
});
