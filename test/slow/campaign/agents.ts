/**
 * Ten agents of a campaign: single ones of each effect class, parallel calls, an undo, bosses with child runs, waits and
 * gates. The task of a run is the label under which the external service counts what was done for it, whatever the key.
 */
import { setTimeout as elapse } from "node:timers/promises";
import {
  type Conversation,
  type ScriptedReply,
  askHuman,
  childTool,
  defineAgent,
  scriptedModel,
  sleep,
} from "cairn-run";
import { react, tool, waitFor } from "cairn-run";
import { z } from "zod";
import { type ExternalService, externalService } from "../../support/processes/external-service.ts";

const LABELLED = z.object({ of: z.string() });
const ORDER = z.object({ of: z.string(), step: z.int() });
type Order = z.output<typeof ORDER>;

/** How long the model takes for a reply, and the service before and after each effect: a fault finds both under way. */
const PACE_MS = 120;
const STEPS = 3;

let side: ExternalService | null = null;
const service = (): ExternalService => (side ??= externalService(process.env["CAIRN_STORE"] ?? "."));

const acting =
  (name: string, honoursKeys: boolean) =>
  async ({ input, key }: { readonly input: Order; readonly key: string }): Promise<string> => {
    const order = { tool: name, ...input, key };
    service().ask(order);
    await elapse(PACE_MS);
    service().happen(order, { honoursKeys });
    await elapse(PACE_MS);
    return `${name} ${input.step}`;
  };

/** Late enough for a loaded machine, and early enough for a beat. */
const QUICK = { input: ORDER, timeoutMs: 2_500, settleMs: 100 };

const book = tool({
  ...QUICK,
  effect: "keyed",
  run: acting("book", true),
  undo: {
    effect: "keyed",
    run: ({ input, key }) => acting("unbook", true)({ input, key }),
  },
});
const ship = tool({
  ...QUICK,
  effect: "probed",
  run: acting("ship", false),
  probe: ({ key }) => (service().knows(key) ? { kind: "happened", result: "as probed" } : { kind: "absent" }),
});
const mail = tool({ ...QUICK, effect: "unsafe", run: acting("mail", false) });
const mailIfApproved = tool({ ...QUICK, effect: "unsafe", approval: "always", run: acting("mailIfApproved", false) });

const paced = (reply: (conversation: Conversation) => ScriptedReply) =>
  scriptedModel({
    name: "campaign-model",
    reply: (conversation) => ({ ...reply(conversation), delayMs: PACE_MS, tokensIn: 10, tokensOut: 1 }),
  });

const labelOf = ({ task }: Conversation): string => LABELLED.parse(task.json).of;

/** One call after another of these tools, in order. */
const serially =
  (...tools: readonly string[]) =>
  (conversation: Conversation): ScriptedReply => {
    const step = conversation.calls.length;
    const name = tools[step];
    return name === undefined
      ? { text: "over" }
      : { calls: [{ tool: name, args: { of: labelOf(conversation), step } }] };
  };

const atOnce =
  (...tools: readonly string[]) =>
  (conversation: Conversation): ScriptedReply =>
    conversation.calls.length > 0
      ? { text: "over" }
      : { calls: tools.map((name, step) => ({ tool: name, args: { of: labelOf(conversation), step } })) };

/** Hands out that many tasks at once, each under a label of its own. */
const handingOut =
  (count: number) =>
  (conversation: Conversation): ScriptedReply =>
    conversation.calls.length > 0
      ? { text: "over" }
      : {
          calls: Array.from({ length: count }, (_, part) => ({
            tool: "ask",
            args: { of: `${labelOf(conversation)}/${part}` },
          })),
        };

const everyAgent = {
  version: "1",
  instructions: "Do what the task says.",
  task: LABELLED,
  loops: "ignore",
  topology: react({ maxBeats: 2_000 }),
  budget: { beats: 2_000, takeovers: 500 },
  result: ({ calls }: { readonly calls: readonly { readonly tool: string; readonly outcome: string }[] }) =>
    calls.map(({ tool: name, outcome }) => `${name} ${outcome}`),
} as const;

const repeated = (name: string) => Array.from({ length: STEPS }, () => name);

export const keyed = defineAgent({
  ...{ ...everyAgent, name: "keyed", model: paced(serially(...repeated("book"))), tools: { book } },
});
export const probed = defineAgent({
  ...{ ...everyAgent, name: "probed", model: paced(serially(...repeated("ship"))), tools: { ship } },
});
export const unsafe = defineAgent({
  ...{ ...everyAgent, name: "unsafe", model: paced(serially(...repeated("mail"))), tools: { mail } },
});
export const parallel = defineAgent({
  ...{ ...everyAgent, name: "parallel", model: paced(atOnce("book", "ship", "mail")), tools: { book, ship, mail } },
});
/** An operator cancels it in mid-run and has its effects undone. */
export const undoer = defineAgent({
  ...{ ...everyAgent, name: "undoer", model: paced(serially(...repeated("book"), "askWhetherToGoOn")) },
  tools: { book, askWhetherToGoOn: askHuman({ input: ORDER, answer: z.object({ goOn: z.boolean() }) }) },
});

const hand = (agent: string, beats = 100) =>
  childTool({ agent, description: "Hands out a task.", input: LABELLED, budget: { beats }, afterEffects: "ask" });

export const boss = defineAgent({
  ...{ ...everyAgent, name: "boss", model: paced(handingOut(2)), tools: { ask: hand("keyed") } },
});
export const unsafeBoss = defineAgent({
  ...{ ...everyAgent, name: "unsafe-boss", model: paced(handingOut(1)), tools: { ask: hand("unsafe") } },
});
/** Its workers are bosses themselves. */
export const chief = defineAgent({
  ...{ ...everyAgent, name: "chief", model: paced(handingOut(2)), tools: { ask: hand("boss", 400) } },
});
export const waiter = defineAgent({
  ...{ ...everyAgent, name: "waiter" },
  model: paced((conversation) => {
    const of = labelOf(conversation);
    const replies: readonly ScriptedReply[] = [
      { calls: [{ tool: "rest", args: { seconds: 2 } }] },
      { calls: [{ tool: "askAHuman", args: { of, step: 1 } }] },
      { calls: [{ tool: "paid", args: {} }] },
      { calls: [{ tool: "ship", args: { of, step: 3 } }] },
    ];
    return replies[conversation.calls.length] ?? { text: "over" };
  }),
  tools: {
    rest: sleep(),
    askAHuman: askHuman({ input: ORDER, answer: z.object({ yes: z.boolean() }) }),
    paid: waitFor({ event: "paid", detail: z.object({ euros: z.number() }), timeLimit: "5h" }),
    ship,
  },
});
export const gated = defineAgent({
  ...{
    ...everyAgent,
    name: "gated",
    model: paced(serially("mailIfApproved", "mailIfApproved")),
    tools: { mailIfApproved },
  },
});
