/** A child tool that names an agent which the config does not have: its agent is refused when its file loads. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { wrongWithLocated } from "../../src/compose/catalogue.ts";
import { childTool } from "../../src/index.ts";
import { scriptedAgent } from "../support/harness/harness.ts";
import { runCli } from "../support/processes/cli-in-process.ts";
import { temporaryDir } from "../process/fixtures/store.ts";

const WHY =
  "agent boss: child tool ask dispatches runs of agent wroker, which does not exist; the agents are: boss, worker";

/** A folder whose boss hands out work to that agent every day. */
function folderOf(child: string, files: readonly string[] = ["./team.ts"]): string {
  const dir = temporaryDir();
  writeFileSync(join(dir, "cairn.config.ts"), `export const config = { agents: ${JSON.stringify(files)} };\n`);
  const plain = `version: "1", instructions: "", model: scriptedModel({ name: "m", reply: () => ({ text: "" }) }), task: z.object({})`;
  writeFileSync(
    join(dir, "team.ts"),
    `import { childTool, defineAgent, scriptedModel } from "cairn-run";
    import { z } from "zod";
    const ask = childTool({ agent: "${child}", description: "", input: z.object({}), budget: { beats: 1 } });
    export const boss = defineAgent({ name: "boss", ${plain}, tools: { ask }, schedule: { every: "rate(1 day)", input: {} } });
    export const worker = defineAgent({ name: "worker", ${plain}, tools: {} });\n`,
  );
  return dir;
}

test("is refused at a start, by its name and by its file", async () => {
  const dir = folderOf("wroker");
  for (const name of ["boss", "./team.ts#boss"]) {
    const { exit, err } = await runCli(dir, "start", name);
    expect({ exit, err }).toEqual({ exit: expect.any(Number), err: expect.stringContaining(WHY) });
    expect(exit).not.toBe(0);
  }
  expect((await runCli(dir, "start", "worker")).exit).toBe(0);
  expect((await runCli(folderOf("worker"), "start", "boss")).exit).toBe(0);
});

test("is listed as broken, and its schedule does not fire", async () => {
  const dir = folderOf("wroker");
  const agents = await runCli(dir, "agents");
  expect(agents.err).toContain(WHY);
  expect(agents.out).not.toContain("boss");
  expect(agents.out).toContain("worker");
  const schedules = await runCli(dir, "schedules", "--json");
  expect(JSON.parse(schedules.out)).toMatchObject({ why: expect.stringContaining(WHY) });
  expect(JSON.parse((await runCli(folderOf("worker"), "schedules", "--json")).out)).toMatchObject({ agent: "boss" });
  expect((await runCli(dir, "doctor")).out).toContain(WHY);
});

test("is not judged while a file cannot be loaded, since the agent may be in that one", async () => {
  const dir = folderOf("wroker", ["./team.ts", "./half.ts"]);
  writeFileSync(join(dir, "half.ts"), "export const half = ;\n");
  expect((await runCli(dir, "agents")).out).toContain("boss");
  expect((await runCli(dir, "start", "boss")).exit).toBe(0);
});

test("that no agent has is named with those that there are; it may be in a file that cannot be loaded", () => {
  const ask = childTool({ agent: "wroker", description: "", input: z.object({}), budget: { beats: 1 } });
  const boss = {
    agent: { ...scriptedAgent({ reply: () => ({ text: "" }) }), name: "boss", tools: { ask } },
    file: "team.ts",
  };
  const worker = { agent: { ...scriptedAgent({ reply: () => ({ text: "" }) }), name: "worker" }, file: "team.ts" };
  const catalogue = { agents: [boss, worker], broken: [] };
  expect([wrongWithLocated(boss, catalogue), wrongWithLocated(worker, catalogue)]).toEqual([WHY, null]);
  expect(wrongWithLocated(boss, { ...catalogue, broken: [{ file: "half.ts", why: "SyntaxError" }] })).toBeNull();
});
