/** `cairn schedules pause|resume|run` and `cairn snapshot`, over a store in a folder. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCli } from "../support/processes/cli-in-process.ts";
import { temporaryDir } from "../process/fixtures/store.ts";

const SDK = join(import.meta.dirname, "../../src/index.ts");

/** A folder with an agent that has a schedule, and one that has none. */
function project(): string {
  const dir = temporaryDir();
  const agent = (name: string, more: string): string =>
    `import * as z from ${JSON.stringify(import.meta.resolve("zod"))};
import { defineAgent, scriptedModel } from ${JSON.stringify(SDK)};
export const agent = defineAgent({ name: "${name}", version: "1", task: z.object({}), model: scriptedModel({ name: "hello", reply: () => ({ text: "hello" }) }), instructions: "Say hello.", tools: {}${more} });
`;
  writeFileSync(join(dir, "daily.ts"), agent("daily", `, schedule: { every: "rate(1 day)" }`));
  writeFileSync(join(dir, "plain.ts"), agent("plain", ""));
  const config = `export const config = { agents: ["./daily.ts", "./plain.ts"] };\n`;
  writeFileSync(join(dir, "cairn.config.ts"), config);
  return dir;
}

test("a schedule is paused, resumed and run by hand, and its run shown at a version", async () => {
  const dir = project();
  const ran = await runCli(dir, "schedules", "run", "daily", "--key", "k", "--json");
  const { run, started } = JSON.parse(ran.out) as { readonly run: string; readonly started: boolean };
  expect({ exit: ran.exit, started }).toEqual({ exit: 0, started: true });
  const again = await runCli(dir, "schedules", "run", "daily", "--key", "k", "--json");
  expect(JSON.parse(again.out)).toEqual({ run, agent: "daily", started: false });
  const paused = await runCli(dir, "schedules", "pause", "daily");
  expect({ exit: paused.exit, out: paused.out }).toEqual({
    exit: 0,
    out: "daily: It is paused: its firings start nothing.\n",
  });
  expect((await runCli(dir, "schedules")).out).toContain("paused by ada");
  expect(JSON.parse((await runCli(dir, "schedules", "resume", "daily", "--json")).out)).toMatchObject({
    outcome: "resumed",
  });
  const shown = await runCli(dir, "snapshot", run, "0", "--json");
  expect(JSON.parse(shown.out)).toMatchObject({
    run,
    version: 0,
    of: 0,
    state: { agent: "daily", phase: "Preparing" },
  });
});

test.each([
  [["schedules", "run", "plain"], 4, "plain has no schedule"],
  [["schedules", "stop", "daily"], 2, "cairn cannot stop a schedule"],
  [["schedules", "pause"], 2, "name an action and the agent"],
  [["snapshot", "RUN", "-1"], 2, ""],
  [["snapshot", "RUN", "9"], 3, "has no version 9"],
])("refuses by name what cannot be done: %s", async (words, exit, says) => {
  const dir = project();
  const { out } = await runCli(dir, "schedules", "run", "daily", "--json");
  const { run } = JSON.parse(out) as { readonly run: string };
  const refused = await runCli(dir, ...words.map((word) => (word === "RUN" ? run : word)));
  expect(refused.exit).toBe(exit);
  expect(refused.err).toContain(says);
});
