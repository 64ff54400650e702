/** `cairn infra --dry-run` as a process, in a folder without any package: nothing is deployed, and all that lacks is said. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { PlannedDeployment } from "../../src/ports/planned-deployment.ts";
import { fitPrinted } from "../support/processes/printed-json.ts";

const MAIN = join(import.meta.dirname, "..", "..", "src", "cli", "main.ts");

const AGENT = `import { defineAgent, scriptedModel } from "cairn-run";
import * as z from "zod";
console.log("loaded");
const model = scriptedModel({ name: "m", reply: () => ({ text: "done" }) });
export const clerk = defineAgent({
  ...{ name: "clerk", version: "1", model, instructions: "File it.", task: z.object({}), tools: {} },
  ...{ secrets: ["MAIL_KEY"], schedule: { every: "rate(1 day)", timezone: "UTC", input: {} } },
});
`;

function project(files: Readonly<Record<string, string>>): (...words: readonly string[]) => {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly left: readonly string[];
} {
  const dir = mkdtempSync(join(tmpdir(), "cairn-infra-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  return (...words) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...words], { cwd: dir, encoding: "utf8" });
    return { status, stdout, stderr, left: readdirSync(dir).toSorted() };
  };
}

test("lists a project's resources without an account, says what is missing, and leaves nothing behind", () => {
  const config = 'export const config = { agents: ["./agent.ts"], deploy: { memoryMb: 768 } };\n';
  const cairn = project({ "agent.ts": AGENT, "cairn.config.ts": config, "package.json": '{ "type": "module" }' });
  const { status, stdout, left } = cairn("infra", "--dry-run", "--json");
  expect(fitPrinted(["infra"], stdout)).toBe("infra");
  const told = JSON.parse(stdout) as PlannedDeployment;
  expect(told.missing.map(({ code, next }) => ({ code, next }))).toEqual([
    { code: "DescriptionMissing", next: "write the sst.config.ts of docs/deploy.md" },
    { code: "PackageMissing", next: expect.stringMatching(/^npm install --save-dev sst@/) },
    { code: "PackageMissing", next: "npm install --save-dev esbuild" },
  ]);
  expect(status).toBe(1);
  expect(told.functions.find(({ name }) => name === "PREFIX-beat")).toMatchObject({ memoryMb: 768, bundle: null });
  expect(told.resources).toContainEqual({ kind: "schedule", name: "clerk", says: "rate(1 day), UTC" });
  expect(told.secrets).toEqual(["MAIL_KEY"]);
  expect(left).toEqual(["agent.ts", "cairn.config.ts", "package.json"]);
});

test.each([
  ["without a config", {}, "ConfigMissing", "npx cairn-run init my-agents"],
  [
    "with a mistyped option",
    { "cairn.config.mjs": "export const config = { agents: [], deploy: { memoryMB: 1 } };" },
    "ConfigInvalid",
    "npx cairn doctor",
  ],
])("%s it says what is wrong and what to type", (_, files, code, next) => {
  const { status, stdout } = project(files as Readonly<Record<string, string>>)("infra", "--dry-run", "--json");
  expect(JSON.parse(stdout)).toMatchObject({ error: { code, next } });
  expect(status).toBe(1);
});

test("without --dry-run it says who deploys", () => {
  const { status, stderr } = project({})("infra");
  expect(stderr).toContain("error Usage: cairn deploys nothing by itself");
  expect(status).toBe(2);
});
