/** Parallel calls of one reply that end when the test says. */
import { z } from "zod";
import type { Agent, Tool, ToolContext } from "../../../src/ports/agent.ts";
import { type ScriptedReply, tool } from "../../../src/index.ts";
import { ledger } from "../../../src/operations/views.ts";
import { FINAL_REPLY, type Harness, scriptedAgent } from "../harness/harness.ts";

export type ToolRun = (context: ToolContext<unknown>) => unknown;

/** One tool per name, and a first reply that calls each of them once. */
export function parallelCallsAgent(tools: Readonly<Record<string, Partial<Tool> & { readonly run: ToolRun }>>): Agent {
  const calls = Object.keys(tools).map((name) => ({ tool: name, args: {} }));
  const made = scriptedAgent({ reply: (asked): ScriptedReply => (asked.calls.length === 0 ? { calls } : FINAL_REPLY) });
  const declared = Object.entries(tools).map(([name, of]) => {
    const { effect = "unsafe", ...more } = of;
    const probe = effect === "probed" ? { probe: () => ({ kind: "unknown" }) as const } : {};
    return [name, tool({ input: z.object({}), effect, timeoutMs: 400, ...probe, ...more })] as const;
  });
  return { ...made, tools: Object.fromEntries(declared) as Agent["tools"] };
}

/** A call that returns when the test says so. */
export function deferredCall() {
  const { promise, resolve } = Promise.withResolvers<string>();
  return { run: () => promise, thaw: () => resolve("late") };
}

export const callStatuses = async ({ world }: Harness, run: string): Promise<readonly string[]> =>
  ((await ledger(world, run)) ?? []).map(({ status }) => status);
