/** A boss whose workers pay, and the service that counts payments by what they are for and not by their keys. */
import { z } from "zod";
import type { Agent, Tool } from "../../../src/ports/agent.ts";
import {
  type ChildToolOptions,
  type Conversation,
  OutcomeUnknown,
  type ScriptedReply,
  childTool,
  defineAgent,
  react,
  scriptedModel,
  tool,
} from "../../../src/index.ts";
import { neverSettles } from "../harness/harness.ts";
import { INPUT, MEMO, OVER } from "./workers.ts";

/** Payments of one test: the subject of each, and the keys under which it came. */
export class Till {
  /** Requests that have left and not landed. */
  readonly late: (() => void)[] = [];
  readonly paid: { readonly subject: string; readonly key: string }[] = [];

  /** How often the payment of that subject was made. One service deduplicates by key, as a keyed tool declares. */
  effectsOf(subject: string, effect: Tool["effect"]): number {
    const all = this.paid.filter((each) => each.subject === subject);
    return effect === "unsafe" || effect === "none" ? all.length : new Set(all.map(({ key }) => key)).size;
  }
}

/**
 * What becomes of a worker's call: it returns, it does not return, its answer is lost, the service refuses it, or it does
 * not return and lands when the test lets it (`Till.late`).
 */
type Fate = "returns" | "hangs" | "unknown" | "refused" | "lands late";

export interface PayerOptions {
  readonly effect: Tool["effect"];
  readonly till: Till;
  readonly name?: string;
  /** What it takes; default: a part. */
  readonly task?: z.ZodType;
  /** Of the call with that number, from 0, over all workers. Default: each returns. */
  readonly fate?: (number: number) => Fate;
  /** The result of a worker, by its number from 0. Default: a memo. */
  readonly result?: (number: number) => unknown;
  /** Whether the model of the worker with that number, from 0, never replies. Default: it replies. */
  readonly isSilent?: (number: number) => boolean;
  /** The reply after the payment. */
  readonly reply?: () => ScriptedReply | Promise<ScriptedReply>;
}

/** Pays once for its part, then answers. */
export function payer({ effect, till, name = "worker", task = INPUT, ...of }: PayerOptions): Agent {
  const { fate = () => "returns", result = () => ({ memo: "paid" }), reply = () => OVER, isSilent = () => false } = of;
  let [calls, results, workers] = [0, 0, 0];
  const run: Tool["run"] = async ({ input, key }) => {
    const becomes = fate(calls++);
    if (becomes === "refused") throw new Error("the service refuses it");
    const land = () => void till.paid.push({ subject: JSON.stringify(input), key });
    if (becomes === "lands late") till.late.push(land);
    else land();
    if (becomes === "hangs" || becomes === "lands late") return neverSettles();
    if (becomes === "unknown") throw new OutcomeUnknown("the connection broke");
    return "paid";
  };
  const declared = { input: task, run };
  const pay: Tool =
    effect === "probed"
      ? tool({
          ...declared,
          effect,
          probe: async ({ key }) =>
            till.paid.some((each) => each.key === key) ? { kind: "happened", result: "paid" } : { kind: "absent" },
        })
      : tool({ ...declared, effect });
  return defineAgent({
    ...{ name, version: "1", instructions: "", task },
    model: scriptedModel({
      name,
      reply: (conversation) => {
        if (conversation.calls.length > 0) return reply();
        return isSilent(workers++) ? neverSettles() : { calls: [{ tool: "pay", args: taskOf(conversation) as never }] };
      },
    }),
    tools: { pay },
    loops: "ignore",
    budget: { beats: 20 },
    result: () => result(results++) as never,
  }) as unknown as Agent;
}

const taskOf = ({ messages }: Conversation): unknown => JSON.parse(messages[0]?.text ?? "{}");

/** A boss that hands out part 0, and whatever its model asks for after that. */
export function payingBoss(
  of: {
    readonly child?: Partial<ChildToolOptions<typeof INPUT, typeof MEMO>>;
    readonly reply?: (conversation: Conversation) => ScriptedReply;
    readonly name?: string;
    readonly task?: z.ZodType;
  } = {},
): Agent {
  const { name = "boss", task = z.object({}).loose(), child = {} } = of;
  const first: ScriptedReply = { calls: [{ tool: "ask", args: { part: 0 } }] };
  return defineAgent({
    ...{ name, version: "1", instructions: "", task, topology: react({ maxBeats: 200 }) },
    model: scriptedModel({ name, reply: of.reply ?? (({ calls }) => (calls.length === 0 ? first : OVER)) }),
    tools: {
      ask: childTool({
        ...{ agent: "worker", description: "asks a worker", input: INPUT, output: MEMO, budget: { beats: 5 } },
        ...child,
      }),
      delegate: childTool({
        ...{ agent: "worker", description: "asks a worker by another name", input: INPUT, budget: { beats: 5 } },
      }),
    },
    loops: "ignore",
    budget: { beats: 200 },
    result: ({ calls }) => calls.map(({ outcome, result }) => ({ outcome, result })),
  }) as Agent;
}
