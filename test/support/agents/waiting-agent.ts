/** Agents whose calls wait: for an answer, an event or a time. */
import { z } from "zod";
import { askHuman, defineAgent, scriptedModel, sleep, tool, waitFor } from "../../../src/index.ts";
import type { Conversation, ScriptedReply } from "../../../src/index.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import type { Json } from "../../../src/core/json.ts";
import { answerQuestion } from "../../../src/operations/answer.ts";
import { signal } from "../../../src/operations/signal.ts";
import { type OpenWait } from "../../../src/operations/wait-views.ts";
import { show } from "../../../src/operations/views.ts";
import type { World } from "../../../src/ports/world.ts";
import { FINAL_REPLY } from "../harness/harness.ts";

/** Longer than a harness lets time pass by itself. */
export const LIMIT_MS = 2 * 3_600_000;

export interface WaitingAgentOptions {
  readonly reply?: (conversation: Conversation) => ScriptedReply | Promise<ScriptedReply>;
  readonly atLimit?: "tell" | "fail" | { readonly take: { readonly yes: boolean } };
  /** What `look` does. */
  readonly run?: () => unknown;
  readonly version?: string;
}

/** One reply with these calls, then the end. */
export const callsOnce =
  (...tools: readonly string[]) =>
  ({ calls }: Conversation): ScriptedReply =>
    calls.length === 0 ? { calls: tools.map((name) => ({ tool: name, args: ARGS[name] ?? {} })) } : FINAL_REPLY;

const ARGS: Readonly<Record<string, Json>> = {
  ask: { question: "Is it right?" },
  askFor: { question: "Is it right?" },
  rest: { seconds: 90 },
};

/** `ask` has no limit, `askFor` has one; `paid` waits for an event, `rest` for a time. */
export function waitingAgent(of: WaitingAgentOptions = {}): Agent {
  const yes = z.object({ yes: z.boolean() });
  return defineAgent({
    ...{ name: "waiter", version: of.version ?? "1", instructions: "", task: z.object({}) },
    model: scriptedModel({ name: "script", reply: of.reply ?? callsOnce("ask") }),
    tools: {
      ask: askHuman({ answer: yes }),
      askFor: askHuman({ answer: yes, timeLimit: LIMIT_MS, atLimit: of.atLimit ?? "tell" }),
      paid: waitFor({ event: "paid", detail: z.object({ euros: z.number() }), timeLimit: "5h" }),
      rest: sleep(),
      look: tool({ input: z.object({}), effect: "none", run: of.run ?? (() => "seen") }),
    },
    result: ({ calls }) => calls.map(({ tool: name, outcome, result }) => ({ tool: name, outcome, result })),
  }) as Agent;
}

export const answerCall = (
  world: World,
  run: string,
  of: { readonly result: Json; readonly call?: string; readonly by?: string; readonly agent?: Agent },
): ReturnType<typeof answerQuestion> =>
  answerQuestion(world, { run, call: of.call ?? "c1", result: of.result, by: of.by ?? "ann", agent: of.agent ?? null });

export const signalEvent = (
  world: World,
  run: string,
  of: { readonly detail?: Json; readonly event?: string; readonly id?: string; readonly agent?: Agent } = {},
): ReturnType<typeof signal> =>
  signal(world, {
    ...{ run, event: of.event ?? "paid", detail: of.detail ?? { euros: 5 } },
    ...{ id: of.id ?? "one", by: "shop", agent: of.agent ?? null },
  });

export const waitsOf = async (world: World, run: string): Promise<readonly OpenWait[]> =>
  (await show(world, run))?.waits ?? [];
