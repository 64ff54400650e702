/** A boss that dispatches child runs, and the worker that each of them is. */
import { z } from "zod";
import type { Agent, Tool, ToolContext } from "../../../src/ports/agent.ts";
import {
  type ChildToolOptions,
  type Conversation,
  type ScriptedReply,
  childTool,
  defineAgent,
  react,
  scriptedModel,
  tool,
} from "../../../src/index.ts";

export const INPUT = z.object({ part: z.number() });
/** What a worker answers. */
export const MEMO = z.object({ memo: z.string() });

const WORKER_BEATS = 5;

export interface BossOptions {
  /** How many children its first reply dispatches. */
  readonly children?: number;
  readonly name?: string;
  readonly budget?: Parameters<typeof defineAgent>[0]["budget"];
  readonly child?: Partial<ChildToolOptions<typeof INPUT, typeof MEMO>>;
  /** Default: all children at once, then the end. */
  readonly reply?: (conversation: Conversation) => ScriptedReply;
  readonly saga?: Parameters<typeof defineAgent>[0]["saga"];
}

export const asks = (parts: readonly number[], ask = "ask"): ScriptedReply => ({
  calls: parts.map((part) => ({ tool: ask, args: { part } })),
});

export const OVER: ScriptedReply = { text: "over" };

/** The boss: `ask` dispatches a worker, `act` acts itself. */
export function boss(of: BossOptions = {}): Agent {
  const { children = 2, name = "boss", budget = { beats: 200 }, child = {}, saga } = of;
  const parts = Array.from({ length: children }, (_, part) => part);
  const reply = of.reply ?? (({ calls }: Conversation) => (calls.length === 0 ? asks(parts) : OVER));
  return defineAgent({
    ...{ name, version: "1", instructions: "", task: z.object({}).loose(), topology: react({ maxBeats: 200 }) },
    model: scriptedModel({ name: "boss", reply }),
    tools: {
      ask: childTool({
        ...{ agent: "worker", description: "asks a worker", input: INPUT, output: MEMO },
        budget: { beats: WORKER_BEATS },
        ...child,
      }),
      act: tool({
        input: z.object({}),
        effect: "keyed",
        run: () => "acted",
        undo: { effect: "keyed", run: () => "undone" },
      }),
    },
    loops: "ignore",
    budget,
    ...(saga === undefined ? {} : { saga }),
    result: ({ calls }) => calls.map(({ outcome, result }) => ({ outcome, result })),
  }) as Agent;
}

interface WorkerOptions {
  readonly name?: string;
  /** Called for each reply of its model. */
  readonly onReply?: (part: number) => void;
  /** The result for its part; default: a memo. */
  readonly result?: (part: number) => unknown;
  readonly reply?: (conversation: Conversation) => ScriptedReply | Promise<ScriptedReply>;
  readonly budget?: Parameters<typeof defineAgent>[0]["budget"];
  /** The effect class of its call. Default: `keyed`. Of a worker of class `none` a lost hand-off is made again. */
  readonly effect?: "none" | "keyed";
  /** What its call does outside. */
  readonly run?: (call: Pick<ToolContext<unknown>, "key" | "run">) => unknown;
}

/** A worker acts once, and answers with a memo. */
export function worker(of: WorkerOptions = {}): Agent {
  const {
    name = "worker",
    onReply = () => undefined,
    run = () => "acted",
    budget = { beats: 20 },
    effect = "keyed",
  } = of;
  const result = of.result ?? ((part) => ({ memo: `part ${part}` }));
  const reply =
    of.reply ??
    ((conversation: Conversation): ScriptedReply => {
      onReply(partOf(conversation));
      return conversation.calls.length === 0
        ? { calls: [{ tool: "act", args: {} }], tokensIn: 10, tokensOut: 1 }
        : OVER;
    });
  return defineAgent({
    ...{ name, version: "1", instructions: "", task: INPUT },
    model: scriptedModel({ name: "worker", reply }),
    tools: { act: actOf(effect, run) },
    loops: "ignore",
    budget,
    result: ({ task }) => result((task as { part: number }).part) as never,
  }) as unknown as Agent;
}

const actOf = (effect: "none" | "keyed", run: NonNullable<WorkerOptions["run"]>): Tool => {
  const input = z.object({});
  if (effect === "none") return tool({ input, effect, run });
  return tool({ input, effect, run, undo: { effect: "keyed", run: () => "undone" } });
};

const partOf = ({ messages }: Conversation): number =>
  (JSON.parse(messages[0]?.text ?? "{}") as { part?: number }).part ?? -1;
