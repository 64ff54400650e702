/** What a project that `cairn init` writes depends on. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { dependencyOnCairn } from "../../src/cli/commands/init.ts";

/** An installation by npm, in the form of its hidden lock file. */
function installed(resolved: unknown): { readonly root: string; readonly home: string } {
  const root = mkdtempSync(join(tmpdir(), "cairn-init-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const home = join(root, "cache", "node_modules", "cairn-run");
  mkdirSync(home, { recursive: true });
  const packages = { "node_modules/cairn-run": { version: "0.1.0", resolved } };
  writeFileSync(join(root, "cache", "node_modules", ".package-lock.json"), JSON.stringify({ packages }));
  writeFileSync(join(root, "cairn-run-0.1.0.tgz"), "");
  return { root, home };
}

const dependency = ({ root, home }: { readonly root: string; readonly home: string }): string =>
  dependencyOnCairn({ home, dir: join(root, "projects", "my-agents"), version: "0.1.0" });

test("a package that npm installed from a tarball names that tarball, as seen from the project", () => {
  expect(dependency(installed("file:../cairn-run-0.1.0.tgz"))).toBe("file:../../cairn-run-0.1.0.tgz");
});

test("the version is named if the tarball is gone, so that the project does not point to nothing", () => {
  expect(dependency(installed("file:../moved-0.1.0.tgz"))).toBe("^0.1.0");
});

test.each([
  ["a registry", "https://packages.example/cairn-run-0.1.0.tgz"],
  ["a folder", "file:../cairn-run"],
  ["nowhere that npm names", undefined],
])("a package from %s names its version", (_, resolved) => {
  expect(dependency(installed(resolved))).toBe("^0.1.0");
});

test("a checkout, which npm did not install as a package, names its version", () => {
  const { root } = installed(undefined);
  expect(dependency({ root, home: join(root, "checkout") })).toBe("^0.1.0");
});
