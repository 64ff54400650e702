/** Commands that look at an agent, or at a recorded run with today's agent, run nothing of it that could act outside. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LIMITS } from "../support/gate/limits.ts";
import { assertSafety } from "../support/gate/safety.ts";
import { clerkProject } from "./clerk-project.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const MAIN = join(ROOT, "src/cli/main.ts");

/** The agent of the recorded run: it proposes one call of each tool, and `shred` and `wipe` refuse theirs. */
const RECORDED = `
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { defineAgent, scriptedModel, tool } from "cairn-run";
import { z } from "zod";

const never = z.object({ number: z.int().max(-1) });
const input = z.object({ number: z.int() });
const STEPS = ["send", "shred", "wipe"];
const act = (what: string): null => {
  appendFileSync(join(import.meta.dirname, "acted"), what + "\\n");
  return null;
};

export const clerk = defineAgent({
  ...{ name: "clerk", version: "1", instructions: "", task: z.object({}), budget: { beats: 20 } },
  model: scriptedModel({
    name: "clerk-model",
    reply: ({ turn }) =>
      STEPS[turn] === undefined ? { text: "over" } : { calls: [{ tool: STEPS[turn], args: { number: turn } }] },
  }),
  tools: {
    send: tool({ input, effect: "keyed", run: () => null }),
    shred: tool({ input: never, effect: "unsafe", run: () => null }),
    wipe: tool({ input: never, effect: "probed", run: () => null, probe: () => ({ kind: "absent" }) }),
  },
});
`;

/** Today every tool accepts its call and acts, and so do its other functions. */
const TODAY = RECORDED.replace(
  /tools: \{[\s\S]*\n  \},\n\}\);/,
  () =>
    `tools: {
    send: tool({ input, effect: "keyed", approval: () => (act("approval"), "ask"), run: () => act("send"), undo: { effect: "keyed", run: () => act("undo") } }),
    shred: tool({ input, effect: "unsafe", run: () => act("shred") }),
    wipe: tool({
      input,
      effect: "probed",
      before: () => act("before"),
      run: () => act("wipe"),
      probe: () => (act("probe"), { kind: "absent" }),
    }),
  },
  done: [],
});`,
);

async function project() {
  const { dir, file, run, end } = await clerkProject(RECORDED, {});
  await end();
  writeFileSync(file, TODAY);
  const spawned = (...words: readonly string[]) =>
    spawnSync(process.execPath, words, { cwd: dir, encoding: "utf8", timeout: LIMITS.runMs });
  const acted = (): string => {
    const log = join(dir, "acted");
    return existsSync(log) ? readFileSync(log, "utf8") : "";
  };
  return { dir, run, spawned, acted };
}

test("pin, its test, replay --against, audit, agents and schedules act on nothing, though today's agent would", async () => {
  const { dir, run, spawned, acted } = await project();
  for (const words of [
    ["pin", run],
    ["replay", run, "--against", "clerk"],
    ["audit", "clerk"],
    ["agents"],
    ["schedules"],
  ]) {
    const { status, stderr } = spawned(MAIN, ...words, "--store", dir);
    expect({ command: words[0], status, stderr }).toEqual({
      command: words[0],
      status: words[0] === "replay" ? 1 : 0,
      stderr: "",
    });
    assertSafety(`${words[0]} acts on nothing`, () => expect(acted()).toBe(""));
  }
  // The calls that were refused then are accepted today. Their tools answer that the recorded run has no such call.
  const pinned = spawned("--test", join("pinned", `${run}.test.ts`));
  expect(pinned.status).toBe(1);
  expect(pinned.stdout).toMatch(/tool: 'shred'/);
  assertSafety("a pinned test acts on nothing", () => expect(acted()).toMatch(/^(approval\n)*$/));
});
