/** An agent whose calls need approval, and what an operator sees and decides at their gates. */
import { gateIn } from "../../../src/core/calls/held-calls.ts";
import { z } from "zod";
import type { Agent, Tool } from "../../../src/ports/agent.ts";
import type { Json } from "../../../src/core/json.ts";
import type { Gate } from "../../../src/core/approval.ts";
import type { State } from "../../../src/core/state.ts";
import { type Conversation, type ScriptedReply, defineAgent, scriptedModel, tool } from "../../../src/index.ts";
import type { World } from "../../../src/ports/world.ts";
import { decide } from "../../../src/operations/decide.ts";
import { SegmentCache, load } from "../../../src/history/load.ts";
import { transcript } from "../../../src/operations/views.ts";
import { beginRun, drive, runnerOf } from "../harness/drive.ts";
import { FINAL_REPLY, type Harness } from "../harness/harness.ts";

export interface ApprovalAgentOptions {
  readonly version?: string;
  readonly effect?: Tool["effect"];
  readonly approval?: Tool["approval"];
  /** The inputs and keys of its calls, in order. */
  readonly ran?: { readonly args: Json; readonly key: string }[];
  readonly run?: (input: Json) => unknown;
  /** Default: one call of `pay`, then the end. */
  readonly reply?: (conversation: Conversation) => ScriptedReply | Promise<ScriptedReply>;
  readonly done?: Agent["done"];
  readonly timeoutMs?: number;
}

/** That many calls of `pay` in one reply, then the end. */
export const payCalls =
  (...args: readonly Json[]) =>
  ({ calls }: Conversation): ScriptedReply =>
    calls.length === 0 ? { calls: args.map((each) => ({ tool: "pay", args: each })) } : FINAL_REPLY;

export function approvalAgent(of: ApprovalAgentOptions = {}): Agent {
  const { ran = [], run = () => "paid" } = of;
  const pay = tool({
    input: z.object({ euros: z.number(), note: z.string().optional() }),
    effect: of.effect ?? "unsafe",
    approval: (of.approval ?? "always") as "always",
    ...(of.timeoutMs === undefined ? {} : { timeoutMs: of.timeoutMs }),
    run: async ({ input, key }) => {
      ran.push({ args: input as Json, key });
      return run(input as Json);
    },
  });
  return defineAgent({
    name: "payer",
    version: of.version ?? "1",
    instructions: "",
    task: z.object({}),
    model: scriptedModel({ name: "script", reply: of.reply ?? payCalls({ euros: 5 }) }),
    tools: { pay, look: tool({ input: z.object({}), effect: "none", run: () => "seen" }) },
    ...(of.done === undefined ? {} : { done: of.done }),
  }) as Agent;
}

/** A run that waits for an operator's decision. */
export async function runUntilGate(harness: Harness, of: ApprovalAgentOptions = {}) {
  const ran: { readonly args: Json; readonly key: string }[] = [];
  const agent = approvalAgent({ ran, ...of });
  const runner = runnerOf(harness.world, agent);
  const payload = await beginRun(harness.world, agent, {});
  const reply = await drive(runner, payload);
  return { ran, agent, runner, payload: reply, run: payload.run };
}

/** What the model gets about each call, in order. */
export const toolResultsOf = async (harness: Harness, run: string) =>
  ((await transcript(harness.world, run)) ?? []).flatMap(({ parts }) =>
    parts.flatMap((part) => (part.kind === "result" ? [part] : [])),
  );

/** The committed state. */
export async function stateOf(world: World, run: string): Promise<State> {
  const row = await world.table.read(run, world.clock.now());
  if (row === null) throw new Error(`${run} is gone`);
  return (await load(world, row, new SegmentCache())).state;
}

export const gatesOf = async (world: World, run: string): Promise<readonly Gate[]> =>
  (await stateOf(world, run)).open.flatMap((call) => gateIn(call) ?? []);

/** An operator decides about the first open gate, or about the given one. */
export async function decideGate(
  world: World,
  of: { readonly run: string; readonly as: "approve" | "deny" | "edit"; readonly args?: Json; readonly gate?: string },
): ReturnType<typeof decide> {
  const gate = of.gate ?? (await gatesOf(world, of.run))[0]?.gate ?? "";
  return decide(world, { run: of.run, gate, as: of.as, args: of.args ?? null, by: "ann", note: null });
}
