/** An agent that pays and mails. The test decides its tools' rules and its model's calls. */
import { z } from "zod";
import type { Agent, Tool, ToolContext } from "../../../src/ports/agent.ts";
import type { SagaOptions } from "../../../src/sdk/saga.ts";
import { type Conversation, type ScriptedReply, defineAgent, scriptedModel, tool } from "../../../src/index.ts";
import { FINAL_REPLY } from "../harness/harness.ts";

const INPUT = z.object({ to: z.string(), usd: z.number() });
export type PaymentOrder = z.output<typeof INPUT>;

type ToolOptions = Partial<Omit<Tool<typeof INPUT>, "input" | "run" | "description">>;

export interface SideEffectLog {
  readonly agent: Agent;
  /** The calls that really ran, in order. */
  readonly done: { readonly tool: string; readonly key: string; readonly input: PaymentOrder }[];
}

export type PlannedCall = readonly [tool: "pay" | "mail", to: string, usd: number];

/** The calls of each reply in turn; after them the model ends. */
export const replyWithCalls =
  (...replies: readonly (readonly PlannedCall[])[]) =>
  ({ turn }: Conversation): ScriptedReply => {
    const next = replies[turn];
    return next === undefined
      ? FINAL_REPLY
      : { calls: next.map(([name, to, usd]) => ({ tool: name, args: { to, usd } })) };
  };

export function sideEffectAgent(of: {
  readonly reply: (conversation: Conversation) => ScriptedReply;
  readonly pay?: ToolOptions;
  readonly mail?: ToolOptions;
  readonly run?: (context: ToolContext<PaymentOrder>) => unknown;
  readonly saga?: SagaOptions;
  readonly done?: Agent["done"];
}): SideEffectLog {
  const done: SideEffectLog["done"] = [];
  const { run = () => "done" } = of;
  const made = (name: string, said: ToolOptions): Tool =>
    tool({
      ...{ input: INPUT, effect: "keyed" as const, ...said },
      run: (context) => {
        done.push({ tool: name, key: context.key, input: context.input });
        return run(context);
      },
    }) as Tool;
  const agent = defineAgent({
    name: "deeds",
    version: "1",
    instructions: "",
    task: z.object({}),
    model: scriptedModel({ name: "script", reply: of.reply }),
    tools: { pay: made("pay", of.pay ?? {}), mail: made("mail", of.mail ?? {}) },
    ...(of.saga && { saga: of.saga }),
    ...(of.done && { done: of.done }),
  }) as Agent;
  return { agent, done };
}
