/**
 * An agent for tests with real processes. Its task says which tools it calls, one after another, and each of them
 * has an effect at the external service. Its result depends only on the steps.
 */
import { setTimeout as elapse } from "node:timers/promises";
import { defineAgent, scriptedModel, tool } from "cairn-run";
import { z } from "zod";
import { LIMITS } from "../gate/limits.ts";
import { type ExternalService, externalService } from "./external-service.ts";

/** `look` none, `book` keyed, `ship` probed, `mail` unsafe; the late ones outlive their timeout by far. */
const TOOLS = ["look", "book", "ship", "mail", "bookLate", "mailLate"] as const;

export interface EffectsTask {
  /** The label by which the external service knows the run. */
  readonly of: string;
  readonly steps: readonly (typeof TOOLS)[number][];
  /** How long the model takes for a reply, and the external service before and after each effect; milliseconds. */
  readonly paceMs?: number;
}

/** In each of these times a slow machine has to call a tool, and in the late one to begin another run. */
const QUICK_TIMEOUT_MS = Math.ceil(LIMITS.shortBeatMs / 4);
const LATE_TIMEOUT_MS = Math.ceil(LIMITS.turnMs / 50);
/** How long after its timeout a late tool writes; milliseconds. */
const LATE_MS = 5_000;

/** The external service for this process, in the store's folder that the environment names. */
let side: ExternalService | null = null;
const here = (): ExternalService => (side ??= externalService(process.env["CAIRN_STORE"] ?? "."));

const input = z.object({ of: z.string(), step: z.int(), paceMs: z.int() });

/** Runs after the request has left and before its effect. */
type Inside = (tool: string) => Promise<void>;

/** A tool of that name: it sends a request, the effect happens, it returns. */
function acting(name: string, of: { readonly honoursKeys: boolean; readonly inside: Inside }) {
  return async (context: { readonly input: z.output<typeof input>; readonly key: string }): Promise<string> => {
    const { paceMs, ...what } = context.input;
    const order = { tool: name, ...what, key: context.key };
    here().ask(order);
    await of.inside(name);
    await elapse(paceMs);
    here().happen(order, of);
    await elapse(paceMs);
    return `${name} ${order.step}`;
  };
}

/** Ignores its signal. */
const late: Inside = () => elapse(LATE_TIMEOUT_MS + LATE_MS);

const QUICK = { input, timeoutMs: QUICK_TIMEOUT_MS, settleMs: 100 };
const LATE = { input, timeoutMs: LATE_TIMEOUT_MS };

export const effectsAgentWith = (inside: Inside) =>
  defineAgent({
    name: "effects",
    version: "1",
    instructions: "Do what the task says.",
    task: z.object({ of: z.string(), steps: z.array(z.enum(TOOLS)), paceMs: z.int().default(0) }),
    model: scriptedModel({
      name: "effects-model",
      reply: ({ task, calls }) => {
        const { of, steps, paceMs } = task.json as unknown as Required<EffectsTask>;
        const step = steps[calls.length];
        const said = { delayMs: paceMs, tokensIn: 10, tokensOut: 1 };
        if (step !== undefined)
          return { calls: [{ tool: step, args: { of, step: calls.length + 1, paceMs } }], ...said };
        return { text: calls.map(({ tool, outcome }) => `${tool} ${outcome}`).join(", "), ...said };
      },
    }),
    tools: {
      look: tool({ ...QUICK, effect: "none", run: ({ input }) => `look ${input.step}` }),
      book: tool({ ...QUICK, effect: "keyed", run: acting("book", { honoursKeys: true, inside }) }),
      ship: tool({
        ...QUICK,
        effect: "probed",
        run: acting("ship", { honoursKeys: false, inside }),
        probe: ({ key }) => (here().knows(key) ? { kind: "happened", result: "as probed" } : { kind: "absent" }),
      }),
      mail: tool({ ...QUICK, effect: "unsafe", run: acting("mail", { honoursKeys: false, inside }) }),
      bookLate: tool({ ...LATE, effect: "keyed", run: acting("bookLate", { honoursKeys: true, inside: late }) }),
      mailLate: tool({ ...LATE, effect: "unsafe", run: acting("mailLate", { honoursKeys: false, inside: late }) }),
    },
  });

/** A supervisor finds it by the path of this file. */
export const effectsAgent = effectsAgentWith(async () => {});
