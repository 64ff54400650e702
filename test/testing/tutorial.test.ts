/** The programs of `docs/tutorial.md` are those of this folder, and its test passes as a user types it. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

const ROOT = join(import.meta.dirname, "..", "..");
const PROGRAMS = ["packer.ts", "packer-test.ts"].map((name) =>
  readFileSync(join(import.meta.dirname, "tutorial", name), "utf8"),
);

test("the page has the programs as they stand here", () => {
  const page = readFileSync(join(ROOT, "docs", "tutorial.md"), "utf8");
  expect([...page.matchAll(/```ts\n([^]*?)```/g)].map(([, code]) => code)).toEqual(PROGRAMS);
});

test("the test of the page passes under node:test", () => {
  const dir = mkdtempSync(join(tmpdir(), "cairn-tutorial-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  mkdirSync(join(dir, "node_modules"));
  symlinkSync(ROOT, join(dir, "node_modules", "cairn-run"));
  symlinkSync(join(ROOT, "node_modules", "zod"), join(dir, "node_modules", "zod"));
  writeFileSync(join(dir, "package.json"), '{ "type": "module" }');
  const [agent = "", tests = ""] = PROGRAMS;
  writeFileSync(join(dir, "packer.ts"), agent);
  writeFileSync(join(dir, "packer.test.ts"), tests);
  const ran = spawnSync(process.execPath, ["--test", "packer.test.ts"], { cwd: dir, encoding: "utf8" });
  expect(ran).toMatchObject({ status: 0, stdout: expect.stringMatching(/^(# |ℹ )pass 1$/m) });
});
