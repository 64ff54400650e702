/**
 * A project with the packed package only bundles its functions, as `sst deploy` does it. Its agents may import every
 * entry point that a function can use; what they lack is named before anything is deployed.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { builtPackages } from "../../../scripts/built.ts";
import { AWS_PACKAGES } from "../../../src/ports/aws-packages.ts";
import type { PlannedDeployment } from "../../../src/ports/planned-deployment.ts";
import { EVERY_ENTRY_POINT, ONE_LIBRARY, definitionsIn, seenByApi } from "../../support/bundles/every-entry-point.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const dir = mkdtempSync(join(tmpdir(), "cairn-deployed-"));
const functions = join(dir, "functions");

const write = (name: string, text: string): void => writeFileSync(join(dir, name), text);

const npm = (...words: readonly string[]): string =>
  execFileSync("npm", [...words, "--no-audit", "--no-fund"], { cwd: dir, encoding: "utf8", stdio: "pipe" });

beforeAll(() => {
  write("package.json", JSON.stringify({ name: "my-agents", private: true, type: "module" }));
  write("cairn.config.ts", 'export const config = { agents: ["./agent.ts"] };\n');
  npm("install", npm("pack", join(builtPackages(), "cairn-run")).trim(), "zod");
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Bundles the functions with the agent file; esbuild is that of the repository. */
function bundled(agent: string): { readonly status: number | null; readonly stderr: string } {
  write("agent.ts", agent);
  const program = join(dir, "node_modules", "cairn-run", "dist", "infra", "plan-process.js");
  const { status, stderr } = spawnSync(process.execPath, [program, functions, ROOT], { cwd: dir, encoding: "utf8" });
  return { status, stderr };
}

/** The agent without the entry points whose optional packages are missing. */
const WITHOUT_PACKAGES = EVERY_ENTRY_POINT.replace(/^import .+\/(langgraph|mcp)";$/gm, "").replaceAll(
  /(langgraph|mcp)\.CairnError/g,
  "client.CairnError",
);

test("without the clients of AWS nothing is bundled, and the command to type is said", () => {
  const { status, stderr } = bundled(WITHOUT_PACKAGES);
  expect(status).toBe(1);
  expect(stderr).toContain(`PackageMissing: a deployment to AWS needs ${AWS_PACKAGES.length} clients of AWS`);
  expect(stderr).toContain(`type: npm install ${AWS_PACKAGES.join(" ")}`);
  npm("install", ...AWS_PACKAGES);
});

test("a dry run needs no account, and has the sizes of the functions", () => {
  write("agent.ts", WITHOUT_PACKAGES);
  mkdirSync(join(dir, ".sst", "platform"), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(dir, ".sst", "platform", "node_modules"));
  const words = [join(dir, "node_modules", "cairn-run", "dist", "cli", "main.js"), "infra", "--dry-run", "--json"];
  const { status, stdout } = spawnSync(process.execPath, words, { cwd: dir, encoding: "utf8" });
  const { functions, missing } = JSON.parse(stdout) as PlannedDeployment;
  expect(missing.map(({ code }) => code)).toEqual(["DescriptionMissing", "PackageMissing"]);
  expect(functions.map(({ bundle }) => (bundle?.startBytes ?? 0) > 100_000)).toEqual(functions.map(() => true));
  expect(status).toBe(1);
});

test("an agent is bundled without the optional packages that it does not use", () => {
  expect(bundled(WITHOUT_PACKAGES)).toEqual({ status: 0, stderr: "" });
  expect(seenByApi(functions)).toEqual({ status: 422, seen: ONE_LIBRARY });
});

test.each([
  ["langgraph", "@langchain/langgraph-checkpoint", "@langchain/langgraph-checkpoint @langchain/core"],
  ["mcp", "@modelcontextprotocol/server", "@modelcontextprotocol/server"],
])("an agent that uses cairn-run/%s is refused with the package to install", (name, missing, packages) => {
  const { status, stderr } = bundled(`import * as other from "cairn-run/${name}";
    globalThis.other = other;
    ${WITHOUT_PACKAGES}`);
  expect(status).toBe(1);
  expect(stderr).toContain(
    `agent one of ${join(dir, "agent.ts")}: cairn-run/${name} needs the package ${missing}, which is not installed; ` +
      `type: npm install ${packages}`,
  );
});

test("an agent that imports cairn-run/sst is refused", () => {
  const { status, stderr } = bundled(`import * as other from "cairn-run/sst";
    globalThis.other = other;
    ${WITHOUT_PACKAGES}`);
  expect(status).toBe(1);
  expect(stderr).toContain(
    `agent one of ${join(dir, "agent.ts")}: agent.ts imports cairn-run/sst, which cannot be deployed: `,
  );
});

test("with the optional packages an agent imports every entry point, and all are one library", () => {
  npm("install", "@langchain/core", "@langchain/langgraph-checkpoint", "@modelcontextprotocol/server");
  expect(bundled(EVERY_ENTRY_POINT)).toEqual({ status: 0, stderr: "" });
  expect(seenByApi(functions)).toEqual({ status: 422, seen: ONE_LIBRARY });
  expect(definitionsIn(functions)).toEqual({ outcome: 1, zod: 1 });
});
