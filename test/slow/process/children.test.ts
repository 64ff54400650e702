/** Child runs on the embedded world: real processes, one of which is killed while its children are out. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { LIMITS } from "../../support/gate/limits.ts";
import { waitForCount, waitUntil } from "../../support/gate/safety.ts";
import {
  askCairnJson,
  askCairn,
  type CliFolder,
  runCairn,
  spawnCairn,
  createCliFolder,
  parseJsonLines,
} from "../../support/processes/cli-process.ts";

const TEAM = `
import { appendFileSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { childTool, defineAgent, scriptedModel, tool } from "cairn-run";
import { z } from "zod";

const here = (name: string) => join(process.env.CAIRN_STORE ?? ".", name);
const opened = async (signal: AbortSignal) => {
  while (!existsSync(here("open"))) await wait(10, undefined, { signal });
};
const part = z.object({ part: z.int() });

export const worker = defineAgent({
  name: "worker",
  version: "1",
  instructions: "Do the part.",
  task: part,
  model: scriptedModel({
    name: "worker-model",
    reply: ({ task, calls }) =>
      calls.length === 0 ? { calls: [{ tool: "work", args: task.json }] } : { text: "done" },
  }),
  tools: {
    work: tool({
      effect: "keyed",
      input: part,
      run: async ({ input, key, signal }) => {
        appendFileSync(here("worked"), input.part + " " + key + "\\n");
        await opened(signal);
        return "worked";
      },
    }),
  },
  result: ({ task }) => ({ memo: "part " + task.part }),
});

export const boss = defineAgent({
  name: "boss",
  version: "1",
  instructions: "Ask three workers.",
  task: z.object({}),
  budget: { beats: 40 },
  model: scriptedModel({
    name: "boss-model",
    reply: ({ calls }) =>
      calls.length > 0
        ? { text: "over" }
        : {
            calls: [
              ...[1, 2, 3].map((part) => ({ tool: "ask", args: { part } })),
              { tool: "watch", args: {} },
            ],
          },
  }),
  tools: {
    ask: childTool({
      agent: "worker",
      description: "asks a worker",
      input: part,
      output: z.object({ memo: z.string() }),
      budget: { beats: 5 },
    }),
    watch: tool({
      effect: "none",
      input: z.object({}),
      run: async ({ signal }) => {
        writeFileSync(here("boss"), String(process.pid));
        await opened(signal);
        return "watched";
      },
    }),
  },
  result: ({ calls }) => calls.map(({ result }) => result),
});
`;

/** A worker stays in its tool until the test lets it go on. */
const PATIENT = {
  CAIRN_BEAT_SECONDS: String(LIMITS.longBeatMs / 1_000),
  CAIRN_LIMITS: JSON.stringify({ settleMs: 500, skewMs: 100, toolMs: Math.floor(LIMITS.longBeatMs * 0.9) }),
};

function team(at: CliFolder): void {
  writeFileSync(join(at.dir, "team.ts"), TEAM);
  // New code shares no process (schedule 246), and each of the four runs stays in its first beat.
  writeFileSync(join(at.dir, "cairn.config.ts"), 'export const config = { agents: ["./team.ts"], workers: 4 };\n');
}

const linesIn = (at: CliFolder, name: string): readonly string[] =>
  existsSync(join(at.store, name)) ? readFileSync(join(at.store, name), "utf8").trim().split("\n") : [];

/** In the order in which the calls were settled. */
function mustBeRight({ result }: Record<string, unknown>): void {
  const all = [{ memo: "part 1" }, { memo: "part 2" }, { memo: "part 3" }, "watched"];
  expect(result).toHaveLength(all.length);
  expect(result).toEqual(expect.arrayContaining(all));
}

async function runsOf(at: CliFolder): Promise<readonly Record<string, unknown>[]> {
  return parseJsonLines((await askCairn(at, ["list", "--json"])).out);
}

it("finds the worker in the file from which the boss is started, without a config", async ({ onTestFinished }) => {
  const at = createCliFolder(PATIENT, onTestFinished);
  writeFileSync(join(at.dir, "team.ts"), TEAM);
  writeFileSync(join(at.dir, "cairn.config.ts"), "export const config = { agents: [] };\n");
  mkdirSync(at.store, { recursive: true });
  writeFileSync(join(at.store, "open"), "");
  const { out, exit } = await runCairn(at, ["start", "./team.ts#boss", "--input", "{}", "--wait", "--json"]);
  expect(exit).toBe(0);
  mustBeRight(JSON.parse(out) as Record<string, unknown>);
});

describe.concurrent("a boss with three workers", () => {
  it("is killed (SIGKILL) with its workers out: the result is right, and each worker ran once", async ({
    onTestFinished,
  }) => {
    const at = createCliFolder(PATIENT, onTestFinished);
    team(at);
    const waiting = spawnCairn(at, ["start", "boss", "--key", "k", "--input", "{}", "--wait"]);
    await waitForCount("the work of a worker", 3, () => linesIn(at, "worked").length);
    // The file is empty for a moment, whenever it is written.
    await waitUntil(() => expect(linesIn(at, "boss")[0]).toMatch(/^\d+$/));
    const pid = Number(linesIn(at, "boss")[0]);
    process.kill(pid, "SIGKILL");
    // Its successor watches again, and dispatches nobody.
    await waitUntil(() => expect(["", String(pid)]).not.toContain(linesIn(at, "boss")[0]));
    const boss = (await runsOf(at)).find(({ agent }) => agent === "boss");
    const shown = await askCairn(at, ["show", String(boss?.["run"])]);
    expect(shown.out).toMatch(/waits for\n.*CHILD RUN.*\n.*worker .*c1/);
    writeFileSync(join(at.store, "open"), "");
    const { exit, err } = await waiting.ended;
    expect({ exit, err }).toEqual({ exit: 0, err: expect.any(String) });
    const ended = await askCairnJson(at, ["show", String(boss?.["run"])]);
    expect(ended).toMatchObject({ status: "completed", takeovers: 1 });
    mustBeRight(ended);
    expect(linesIn(at, "worked")).toHaveLength(3);
    const workers = (await runsOf(at)).filter(({ agent }) => agent === "worker");
    expect(workers).toMatchObject([1, 2, 3].map(() => ({ status: "completed", takeovers: 0 })));
    const told = (await askCairn(at, ["timeline", String(boss?.["run"])])).out;
    expect(told.match(/dispatches worker as local-/g)).toHaveLength(3);
    expect((await askCairnJson(at, ["verify", String(boss?.["run"])]))["findings"]).toEqual([]);
  });

  it("is killed with its supervisor and its workers: the next supervisor goes on with all four", async ({
    onTestFinished,
  }) => {
    const at = createCliFolder(PATIENT, onTestFinished);
    team(at);
    const start = ["start", "boss", "--key", "k", "--input", "{}", "--wait"];
    const first = spawnCairn(at, start);
    await waitForCount("the work of a worker", 3, () => linesIn(at, "worked").length);
    first.child.kill("SIGKILL");
    await first.ended;
    writeFileSync(join(at.store, "open"), "");
    const { exit } = await runCairn(at, start);
    expect(exit).toBe(0);
    const runs = await runsOf(at);
    expect(runs.filter(({ agent }) => agent === "worker")).toHaveLength(3);
    const boss = runs.find(({ agent }) => agent === "boss");
    const ended = await askCairnJson(at, ["show", String(boss?.["run"])]);
    expect(ended).toMatchObject({ status: "completed" });
    mustBeRight(ended);
    // A worker that was killed in its work did it again under the same key.
    expect(new Set(linesIn(at, "worked")).size).toBe(3);
  });
});
