/**
 * The outside world of a simulation: services that remember what was done to them, so that checkers can count effects.
 * A keyed service honours keys; an unsafe one does what it is told, as often as it is told.
 */
import { z } from "zod";
import type { Agent, Tool } from "../../src/agent/define.ts";
import {
  type Conversation,
  type Probe,
  type ScriptedReply,
  type ToolContext,
  OutcomeUnknown,
  defineAgent,
  scriptedModel,
  tool,
} from "../../src/index.ts";
import type { Clock } from "../../src/ports/world.ts";
import type { Chance } from "./chance.ts";

export interface Effect {
  readonly tool: string;
  readonly key: string;
  readonly at: number;
}

export interface Outside {
  /** Every time that something really happened, in order. */
  readonly effects: readonly Effect[];
  /** The agent as one process has it: its tools wait and stop with that process. */
  agentIn(here: Process): Agent;
}

/** What of a process a tool can feel. */
export interface Process {
  /** Its timers die with it. */
  readonly clock: Clock;
  /** Lets go of the thread of control: it may die, freeze or be overtaken there. */
  readonly pause: () => Promise<void>;
}

const arguments_ = z.object({ step: z.number(), index: z.number() });

/** An agent with a script of its own: how many steps, which tools at each, and how each try of each call behaves. */
export function outside(of: { readonly chance: Chance; readonly clock: Clock }): Outside {
  const { chance, clock } = of;
  const effects: Effect[] = [];
  const done = new Set<string>();
  const script = scriptOf(chance.child("script"));
  const behaviour = chance.child("behaviour");
  const act = (name: "look" | "keyed" | "probed" | "unsafe", here: Process): Tool => {
    const happen = (key: string): void => {
      // Keys that are known are answered from memory; that is what makes a tool keyed.
      if (name === "keyed" && done.has(key)) return;
      done.add(key);
      effects.push({ tool: name, key, at: clock.now() });
    };
    return tool({
      input: arguments_,
      effect: name === "look" ? "none" : name,
      ...(name === "probed" ? { probe: ({ key }: { readonly key: string }) => probe(key, here) } : {}),
      timeoutMs: TIMEOUT_MS,
      settleMs: SETTLE_MS,
      run: async ({ input, key, signal }: ToolContext<z.output<typeof arguments_>>) => {
        await here.pause();
        const kind = behaviour.below(14);
        if (kind === 0) throw new Error("it did not happen");
        if (kind === 1) await later(here.clock, { ms: TIMEOUT_MS * 2, signal: null });
        if (kind === 2) await later(here.clock, { ms: TIMEOUT_MS * 2, signal });
        // The request is on its way and lands by itself, whatever becomes of its sender.
        if (kind === 3) clock.after(behaviour.below(SETTLE_MS), () => happen(key));
        if (kind === 3) throw new OutcomeUnknown("the connection broke");
        happen(key);
        await here.pause();
        if (kind === 4) await later(here.clock, { ms: TIMEOUT_MS * 2, signal: null });
        if (kind === 5) throw new OutcomeUnknown("the answer was lost");
        return `${name} ${input.step}.${input.index}`;
      },
    }) as Tool;
  };
  /** The other side tells the truth about now, or that it cannot tell. */
  const probe = async (key: string, here: Process): Promise<Probe> => {
    await here.pause();
    if (behaviour.oneIn(8)) return { kind: "unknown" };
    return done.has(key) ? { kind: "happened", result: "as probed" } : { kind: "absent" };
  };
  const agentIn = (here: Process): Agent =>
    defineAgent({
      name: "actor",
      version: "1",
      instructions: "",
      task: z.object({}),
      model: scriptedModel({ name: "script", reply: (conversation) => replyOf(script, conversation) }),
      tools: {
        look: act("look", here),
        keyed: act("keyed", here),
        probed: act("probed", here),
        unsafe: act("unsafe", here),
      },
      budget: { beats: 200, takeovers: 1_000 },
    }) as Agent;
  return { effects, agentIn };
}

const TIMEOUT_MS = 400;
export const SETTLE_MS = 300;

type Script = readonly (readonly string[])[];

function scriptOf(chance: Chance): Script {
  const steps = 1 + chance.below(4);
  return Array.from({ length: steps }, () =>
    Array.from({ length: 1 + chance.below(3) }, () => chance.pick(["look", "keyed", "probed", "unsafe"])),
  );
}

/** The step follows the last one that was asked for; it depends on nothing but the conversation. */
function replyOf(script: Script, { calls: made }: Conversation): ScriptedReply {
  const last = made.at(-1);
  const step = last === undefined ? 0 : arguments_.parse(last.args).step + 1;
  const tools = script[step];
  if (tools === undefined) return { text: "over", tokensIn: 1, tokensOut: 1 };
  const calls = tools.map((name, index) => ({ tool: name, args: { step, index } }));
  return { calls, tokensIn: 10, tokensOut: 1 };
}

/** Waits on the simulation's clock; with a signal it stops when it is told to. */
function later(clock: Clock, of: { readonly ms: number; readonly signal: AbortSignal | null }): Promise<void> {
  return new Promise((resolve, reject) => {
    clock.after(of.ms, resolve);
    of.signal?.addEventListener("abort", () => reject(new Error("stopped")));
  });
}
