/** A cancel that comes while calls are under way: what is aborted, what is awaited, and what is recorded of both. */
import { expect, test } from "vitest";
import * as z from "zod";
import { defineAgent, tool } from "../../src/index.ts";
import type { Agent, ToolContext } from "../../src/ports/agent.ts";
import { StoreUnreachable, type World } from "../../src/ports/world.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { ledger, show, timeline } from "../../src/operations/views.ts";
import { scriptedModel } from "../../src/sdk/scripted.ts";
import { assertSafety } from "../support/gate/safety.ts";
import { startKeyedRun } from "../support/harness/chain-steps.ts";
import { type Harness, createChainHarness } from "../support/harness/harness.ts";

type Run = (context: ToolContext<unknown>) => unknown;

const stopped = ({ signal }: ToolContext<unknown>): Promise<void> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve()));

/** An agent whose one reply calls each of these tools. */
function agentOf(
  tools: Readonly<Record<string, { readonly effect: "none" | "idempotent" | "keyed"; run: Run }>>,
): Agent {
  const names = Object.keys(tools);
  const made = Object.entries(tools).map(([name, of]) => [name, tool({ input: z.object({}), ...of })] as const);
  return defineAgent({
    ...{ name: "actor", version: "1", instructions: "", task: z.object({}) },
    model: scriptedModel({
      name: "script",
      reply: ({ calls }) =>
        calls.length === 0 ? { calls: names.map((each) => ({ tool: each, args: {} })) } : { text: "over" },
    }),
    tools: Object.fromEntries(made.map(([name, one]) => [name, { ...one, retry: { attempts: 3 } }])),
  }) as Agent;
}

async function begun(agent: Agent): Promise<{ readonly harness: Harness; readonly run: string }> {
  const harness = createChainHarness();
  return { harness, run: (await startKeyedRun(harness.world, { agent, key: "k" })).run };
}

const callsOf = async (world: World, run: string) =>
  ((await ledger(world, run)) ?? []).map(({ tool: name, status, attempts }) => ({ name, status, attempts }));

test("schedule 270: a cancel comes while calls run; it aborts those that are safe to stop, and the run keeps its owner until all have ended", async () => {
  const charged = Promise.withResolvers<string>();
  const seen: { readonly what: string; readonly owned: boolean }[] = [];
  let runId = "";
  const note = (what: string): void => void seen.push({ what, owned: it.harness.row(runId).owner !== null });
  const agent = agentOf({
    charge: {
      effect: "keyed",
      run: async ({ signal }) => {
        await sendRequest(it.harness.world, { run: runId, want: "cancel" });
        const receipt = await charged.promise;
        note(signal.aborted ? "charge is aborted" : "charge goes on");
        return receipt;
      },
    },
    look: {
      effect: "none",
      run: async (context) => {
        await stopped(context);
        note("look is aborted");
        expect(await show(it.harness.world, runId)).toMatchObject({
          label: "being cancelled: waits for charge (c1)",
          cancelling: [
            { call: "c1", tool: "charge", effect: "keyed", stops: false },
            { call: "c2", tool: "look", effect: "none", stops: true },
            { call: "c3", tool: "write", effect: "idempotent", stops: true },
          ],
        });
        charged.resolve("receipt 7");
        throw new Error("I stopped");
      },
    },
    write: {
      effect: "idempotent",
      run: async (context) => {
        await stopped(context);
        throw new Error("I stopped, too");
      },
    },
  });
  const it = await begun(agent);
  runId = it.run;
  await it.harness.runUntilIdle(agent);
  assertSafety("no other invocation may take the run while a call acts, and no outcome is lost", () => {
    expect(seen).toEqual([
      { what: "look is aborted", owned: true },
      { what: "charge goes on", owned: true },
    ]);
  });
  expect(it.harness.row(it.run)).toMatchObject({ status: "cancelled", takeovers: 0, deaths: 0 });
  expect(await callsOf(it.harness.world, it.run)).toMatchObject([
    { name: "charge", status: "succeeded" },
    { name: "look", status: "failed", attempts: 1 },
    { name: "write", status: "unknown", attempts: 1 },
  ]);
  const entries = (await timeline(it.harness.world, { run: it.run, after: 0 })) ?? [];
  const recorded = entries.find((each) => each.kind === "ToolResultRecorded" && each.call === "c2");
  expect(JSON.stringify(recorded)).toContain("Cancelled: a cancel aborted its signal: I stopped; it did not happen");
});

test("schedule 271: the store does not answer a look for a cancel; the next look hears of it", async () => {
  let failures = 0;
  const agent = agentOf({
    look: {
      effect: "none",
      run: async (context) => {
        await sendRequest(it.harness.world, { run: it.run, want: "cancel" });
        isInTool = true;
        await stopped(context);
        throw new Error("I stopped");
      },
    },
  });
  let isInTool = false;
  const slow = { ...agent, tools: { look: { ...agent.tools["look"], timeoutMs: 2_400 } } } as Agent;
  const it = await begun(slow);
  const { world } = it.harness;
  const read: World["table"]["read"] = async (...asked) => {
    if (!isInTool || failures > 0) return world.table.read(...asked);
    failures += 1;
    throw new StoreUnreachable("the table does not answer");
  };
  await it.harness.runAttempt(slow, { ...world, table: { ...world.table, read } });
  expect(failures).toBe(1);
  await it.harness.runUntilIdle(slow);
  expect(await ledger(world, it.run)).toMatchObject([{ status: "failed", evidence: "it stopped at its signal" }]);
  expect(it.harness.row(it.run).status).toBe("cancelled");
});
