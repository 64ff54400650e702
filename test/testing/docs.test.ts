/** The example of `docs/testing.md` does what the page claims, as it stands, with the test runner of Node. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

const ROOT = join(import.meta.dirname, "..", "..");

test("the tests of the page pass under node:test", () => {
  const page = readFileSync(join(ROOT, "docs", "testing.md"), "utf8");
  const [agent = "", tests = ""] = [...page.matchAll(/```ts\n([^]*?)```/g)].map(([, code]) => code);
  const dir = mkdtempSync(join(tmpdir(), "cairn-testing-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  mkdirSync(join(dir, "node_modules"));
  symlinkSync(ROOT, join(dir, "node_modules", "cairn-run"));
  symlinkSync(join(ROOT, "node_modules", "zod"), join(dir, "node_modules", "zod"));
  writeFileSync(join(dir, "package.json"), '{ "type": "module" }');
  writeFileSync(join(dir, "clerk.ts"), agent);
  writeFileSync(join(dir, "clerk.test.ts"), tests);
  const ran = spawnSync(process.execPath, ["--test", "clerk.test.ts"], { cwd: dir, encoding: "utf8" });
  expect(ran).toMatchObject({ status: 0, stdout: expect.stringMatching(/^(# |ℹ )pass 2$/m) });
});
