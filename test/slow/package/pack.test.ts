/** The repository itself is no package, and no README names the host of a registry. */
import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "..", "..", "..");

test("npm pack in the repository refuses, and says how the package is made", () => {
  const { status, stdout, stderr } = spawnSync("npm", ["pack", "--dry-run"], { cwd: ROOT, encoding: "utf8" });
  expect({ isPacked: status === 0, namesArchive: stdout.includes(".tgz") }).toEqual({
    isPacked: false,
    namesArchive: false,
  });
  expect(stderr).toContain("npm run package && npm pack ./build/cairn-run");
});

test("no README names the host of a registry", () => {
  const files = ["README.md", "{packages,templates,docs}/**/README.md"].flatMap((each) =>
    globSync(each, { cwd: ROOT }),
  );
  expect(files.length).toBeGreaterThanOrEqual(3);
  const named = files.filter((file) => /npmjs\.(com|org)|registry\./.test(readFileSync(join(ROOT, file), "utf8")));
  expect(named).toEqual([]);
});
