/** `pin` as a command: the test that it writes passes, fails when the agent does something else, and is refused early. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { clerkProject } from "./clerk-project.ts";
import { runCli } from "../support/processes/cli-in-process.ts";

const AGENT = `
import { defineAgent, scriptedModel, tool } from "cairn-run";
import { z } from "zod";

export const mailer = defineAgent({
  name: "clerk",
  version: "1",
  instructions: "",
  task: z.object({ letters: z.int() }),
  model: scriptedModel({
    name: "clerk-model",
    reply: ({ calls }) =>
      calls.length < 3 ? { calls: [{ tool: "send", args: { number: calls.length } }] } : { text: "over" },
  }),
  tools: {
    send: tool({
      input: z.object({ number: z.int() }),
      effect: "keyed",
      run: ({ input: { number } }) => {
        if (number === 1) throw new Error("no stamp");
        return { sent: number };
      },
    }),
  },
});
`;

const project = () => clerkProject(AGENT, { letters: 3 });

const runTest = (dir: string, file: string) =>
  spawnSync(process.execPath, ["--test", file], { cwd: dir, encoding: "utf8" });

test("writes a test that passes, and that fails when the agent changes what it does", async () => {
  const { dir, file, run, end } = await project();
  await end();
  const written = join("pinned", `${run}.test.ts`);
  const told = await runCli(dir, "pin", run.slice(0, 14));
  expect(told).toMatchObject({ exit: 0, err: "" });
  expect(told.out).toContain(`run it: node --test ${written}`);
  const text = readFileSync(join(dir, written), "utf8");
  expect(text).toContain('import { mailer as agent } from "../clerk.ts";');
  expect(text).toContain('{"call":"c2","tool":"send","effect":"keyed","status":"failed"},');
  expect(runTest(dir, written)).toMatchObject({ status: 0, stdout: expect.stringMatching(/^(# |ℹ )pass 1$/m) });

  writeFileSync(file, AGENT.replace("z.object({ number: z.int() })", "z.object({ number: z.int().max(1) })"));
  const changed = runTest(dir, written);
  expect(changed.status).toBe(1);
  expect(changed.stdout).toMatch(/[+-] +status: '(failed|succeeded)'/);
});

test("replaces no file, and refuses a run that has not ended", async () => {
  const { dir, run, end } = await project();
  expect(await runCli(dir, "pin", run)).toMatchObject({
    exit: 4,
    err: expect.stringContaining("NotEnded") as string,
  });
  expect(existsSync(join(dir, "pinned"))).toBe(false);
  await end();
  const told = await runCli(dir, "pin", run, "--out", "tests", "--json");
  expect(JSON.parse(told.out)).toMatchObject({ run, agent: "clerk", status: "completed", result: "over" });
  const again = await runCli(dir, "pin", run, "--out", "tests");
  expect(again).toMatchObject({ exit: 4, err: expect.stringMatching(/FileExists[^]*--out ANOTHER-FOLDER/) as string });
});
