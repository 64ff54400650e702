/** Memory against the death of the process that writes it, and against changes while a run goes on. */
import { z } from "zod";
import { expect, test } from "vitest";
import { defineAgent, tool } from "../../src/index.ts";
import { memoryOf } from "../../src/features/memory/stored.ts";
import { stateAt } from "../../src/history/state-at.ts";
import type { Agent } from "../../src/ports/agent.ts";
import type { Row } from "../../src/protocol/row.ts";
import type { TaskResult } from "../../src/protocol/chain.ts";
import { scriptedModel } from "../../src/sdk/scripted.ts";
import { crashAtCall, forEachCrashPoint } from "../support/faults/crash-at-call.ts";
import { startKeyedRun } from "../support/harness/chain-steps.ts";
import { createHarness, type Harness } from "../support/harness/harness.ts";

/** Starts a run, lets its first process die at that call, and plays the run to its end. Returns whether it survived. */
async function playWithCrash(harness: Harness, agent: Agent, crash: Parameters<typeof crashAtCall>[1]) {
  const { run } = await startKeyedRun(harness.world, { agent, key: "a" });
  const out = harness.startAttempt();
  let result: TaskResult | null = null;
  const survived = await crashAtCall(harness.world, crash).survives(async (world) => {
    result = await out.perform({ world, agent });
  });
  out.end(result);
  await harness.runUntilIdle(agent);
  expect(harness.row(run).status, JSON.stringify(crash)).toBe("completed");
  return { run, survived };
}

const stateOf = async ({ world }: Harness, row: Row) => (await stateAt(world, row, row.version))?.state;

test("schedule 200: a process dies between the write of an entry and the commit that refers to it; the entry is there once", async () => {
  const model = scriptedModel({ name: "script", reply: () => ({ text: "done" }) });
  const memory = { learn: () => [{ text: "Ferries leave at nine." }, { text: "Trains leave at ten." }] };
  const agent = defineAgent({
    ...{ name: "learner", version: "1", instructions: "", task: z.object({}), tools: {}, model, memory },
  }) as Agent;
  const crashes = await forEachCrashPoint(async (crash) => {
    const harness = createHarness();
    const { run, survived } = await playWithCrash(harness, agent, crash);
    const kept = await memoryOf(harness.world, { tenant: "local", scope: "learner" }).search("");
    expect(kept, JSON.stringify(crash)).toHaveLength(2);
    const learned = (await stateOf(harness, harness.row(run)))?.memory?.learned.map(({ id }) => id);
    expect(learned?.toSorted(), JSON.stringify(crash)).toEqual(kept.map(({ id }) => id).toSorted());
    return survived;
  });
  expect(crashes).toBeGreaterThan(8);
});

test("schedule 201: an entry changes or goes while a run goes on; each request of the run shows what it recalled", async () => {
  const harness = createHarness();
  const memory = memoryOf(harness.world, { tenant: "local", scope: "reader" });
  await memory.put({ id: "a", text: "Ferries leave at nine." });
  await memory.put({ id: "b", text: "The ferry is red." });
  const seen: string[] = [];
  const script = scriptedModel({
    name: "script",
    reply: ({ turn }) => (turn < 2 ? { calls: [{ tool: "change", args: {} }] } : { text: "done" }),
  });
  const change = tool({
    ...{ input: z.object({}), effect: "none" },
    run: async ({ memory: own }) => {
      await own.put({ id: "a", text: "Ferries leave at ten." });
      return own.forget("b");
    },
  });
  const agent = defineAgent({
    ...{ name: "reader", version: "1", instructions: "", task: z.object({}), tools: { change } },
    memory: { recall: () => "ferry ferries" },
    model: {
      ...script,
      doGenerate: (call) => {
        seen.push(call.prompt[0]?.role === "system" ? call.prompt[0].content : "");
        return script.doGenerate(call);
      },
    },
  }) as Agent;
  const { run } = await startKeyedRun(harness.world, { agent, key: "a" });
  await harness.runUntilIdle(agent);
  expect(harness.row(run).status).toBe("completed");
  expect(seen).toHaveLength(3);
  expect(new Set(seen).size).toBe(1);
  expect(seen[0]).toContain("Ferries leave at nine.");
  expect(seen[0]).toContain("The ferry is red.");
});

test("schedule 202: a process dies after a source was kept; no process fetches that version whole again", async () => {
  const crashes = await forEachCrashPoint(async (crash) => {
    const harness = createHarness();
    const answers: string[] = [];
    let keptAt = -1;
    const read = tool({
      ...{ input: z.object({}), effect: "none" },
      run: async ({ memory }) => {
        const { content } = await memory.fetch("https://example.org/a", async (kept) => {
          answers.push(kept?.etag === "1" ? "304" : "200");
          return kept?.etag === "1" ? { kind: "unchanged" } : { kind: "fetched", etag: "1", content: "text" };
        });
        if (keptAt < 0) keptAt = answers.length;
        return content;
      },
    });
    const agent = defineAgent({
      ...{ name: "reader", version: "1", instructions: "", task: z.object({}), tools: { read } },
      model: scriptedModel({
        name: "script",
        reply: ({ turn }) => (turn < 2 ? { calls: [{ tool: "read", args: {} }] } : { text: "done" }),
      }),
    }) as Agent;
    const { survived } = await playWithCrash(harness, agent, crash);
    expect(answers.slice(Math.max(0, keptAt)), JSON.stringify(crash)).not.toContain("200");
    return survived;
  });
  expect(crashes).toBeGreaterThan(8);
});
