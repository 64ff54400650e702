/** A cap of `concurrency` that names an agent which does not exist: the config is refused, since it would cap nothing. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { driveStore } from "../../src/embed/worker.ts";
import { runCli } from "../support/processes/cli-in-process.ts";
import { temporaryDir } from "../process/fixtures/store.ts";

const WHY =
  "concurrency.clrek of cairn.config.ts names no agent; the agents are: clerk; write clerk if you mean that one";

const agentOf = (name: string): string => `import { defineAgent, scriptedModel } from "cairn-run";
  import { z } from "zod";
  export const agent = defineAgent({ name: "${name}", version: "1", instructions: "", task: z.object({}), tools: {},
    model: scriptedModel({ name: "m", reply: () => ({ text: "" }) }), schedule: { every: "rate(1 day)", input: {} } });\n`;

/** A folder with the agent `clerk` and a cap of that name. */
function folderOf(capped: string, files: readonly string[] = ["./clerk.ts"]): string {
  const dir = temporaryDir();
  const config = JSON.stringify({ agents: files, concurrency: { [capped]: 2 } });
  writeFileSync(join(dir, "cairn.config.ts"), `export const config = ${config};\n`);
  writeFileSync(join(dir, "clerk.ts"), agentOf("clerk"));
  return dir;
}

const refused = async (dir: string, ...words: readonly string[]): Promise<void> => {
  const { exit, out } = await runCli(dir, ...words, "--json");
  expect(JSON.parse(out)).toMatchObject({ error: { code: "ConfigInvalid", message: WHY } });
  expect(exit).toBe(2);
};

test("is refused by a start, by the lists of agents and schedules, and named by the doctor", async () => {
  const dir = folderOf("clrek");
  await refused(dir, "start", "clerk");
  await refused(dir, "start", "./clerk.ts");
  await refused(dir, "agents");
  await refused(dir, "schedules");
  expect((await runCli(dir, "doctor")).out).toContain(WHY);
});

test("is refused before a supervisor of a command or of a program drives a run", async () => {
  const dir = folderOf("clrek");
  await refused(dir, "work");
  await refused(dir, "serve");
  await expect(driveStore({ cwd: dir, store: join(dir, ".cairn") })).rejects.toMatchObject({
    code: "ConfigInvalid",
    message: expect.stringContaining(WHY),
  });
});

test("of an agent that there is starts its runs", async () => {
  const dir = folderOf("clerk");
  expect((await runCli(dir, "start", "clerk")).exit).toBe(0);
  expect((await runCli(dir, "agents")).exit).toBe(0);
  expect((await runCli(dir, "doctor")).out).not.toContain("concurrency.");
});

test("is not judged while a file cannot be loaded, since the agent may be in that one", async () => {
  const dir = folderOf("clrek", ["./clerk.ts", "./half.ts"]);
  writeFileSync(join(dir, "half.ts"), "export const half = ;\n");
  expect((await runCli(dir, "start", "clerk")).exit).toBe(0);
});

test("may be that of an agent outside of the config, from its first start on", async () => {
  const dir = folderOf("helper");
  writeFileSync(join(dir, "helper.ts"), agentOf("helper"));
  expect((await runCli(dir, "start", "clerk")).exit).toBe(2);
  expect((await runCli(dir, "start", "./helper.ts")).exit).toBe(0);
  expect((await runCli(dir, "start", "clerk")).exit).toBe(0);
});
