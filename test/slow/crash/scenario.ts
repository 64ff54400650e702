/**
 * The scenario of the enumerations: one run of one agent, whose first reply asks for a call of each effect, whose second
 * one for a call that leaves nobody knowing and one that a person has to approve and has no budget for, and to whom somebody speaks at the worst moments. Its services remember
 * what was done to them. Everything is a function of the conversation, so only faults make two histories differ.
 */
import { z } from "zod";
import type { Agent, Tool } from "../../../src/ports/agent.ts";
import {
  type Conversation,
  type Probe,
  type ScriptedReply,
  type ToolContext,
  OutcomeUnknown,
  defineAgent,
  scriptedModel,
  tool,
} from "../../../src/index.ts";
import type { Effect } from "../../simulation/services.ts";
import { isForSummary, tooLong } from "../../support/agents/small-context-agent.ts";

type Name = "look" | "keyed" | "probed" | "unsafe";

/** What was done, apart from the key that it was done under. */
export interface RecordedEffect extends Effect {
  readonly what: string;
}

/** Lets an invocation pass one of its points; it may end, stop or be overtaken there. */
export type Gate = <T>(point: string, act: () => Promise<T>) => Promise<T>;

export interface Services {
  readonly effects: readonly RecordedEffect[];
  /** How often a run that stops was asked for its last words. */
  closings(): number;
  /** How often the model was asked for a summary. */
  summaries(): number;
  /** How many replies its model gave, whoever got them. */
  replies(): number;
  agentIn(gate: Gate): Agent;
  /** Which version is deployed now: another one from the moment that the first unsafe call was done. */
  deployed(): string;
}

export const BEAT_MS = 3_000;
export const SETTLE_MS = 300;
export const TIMEOUT_MS = 400;
const INPUT = z.object({ what: z.string(), silent: z.boolean() });

/**
 * `forgetsKeys`: a service that calls itself keyed and is not, to see that the checkers notice. `stops`: the other scenario,
 * in which the model does the same again and again until the run has to stop. `compacts`: a third one, whose model takes no
 * question with more than two of its replies. `dialled`: the one in which most replies ask for nothing that acts outside,
 * and are not committed before that has run.
 */
export function services(of: {
  readonly now: () => number;
  readonly forgetsKeys?: boolean;
  readonly stops?: boolean;
  readonly compacts?: boolean;
  /** In invocations of so many beats; of several, nothing acts outside. */
  readonly dialled?: number | undefined;
}): Services {
  const { now, forgetsKeys = false, dialled } = of;
  const effects: RecordedEffect[] = [];
  const counts = { closings: 0, summaries: 0, replies: 0 };
  const isDone = (key: string): boolean => effects.some((effect) => effect.key === key);
  const act = (name: Name, gate: Gate): Tool =>
    tool({
      input: INPUT,
      effect: name === "look" ? "none" : name,
      ...(name === "probed" ? probed(gate) : {}),
      // One call is asked about first.
      approval: ({ what }: z.output<typeof INPUT>) => (what === "f" ? "it is the sixth" : false),
      // The keyed one names its effects itself; the unsafe one waits for its turn, and others for it.
      ...(name === "keyed" ? { key: ({ what }: z.output<typeof INPUT>) => `deed-${what}` } : {}),
      parallel: name !== "unsafe",
      timeoutMs: TIMEOUT_MS,
      settleMs: SETTLE_MS,
      run: async ({ input, key }: ToolContext<z.output<typeof INPUT>>) => {
        await gate(`tool.${name}`, async () => {
          const isKnown = name === "keyed" && !forgetsKeys && isDone(key);
          if (name !== "look" && !isKnown) effects.push({ tool: name, key, at: now(), what: input.what });
          if (input.silent) throw new OutcomeUnknown("the answer was lost");
        });
        return name === "keyed" ? slowly(() => gate("answer.keyed", async () => input.what)) : input.what;
      },
    }) as Tool;
  const countProbed = (): number => effects.filter((effect) => effect.tool === "probed").length;
  // The service knows no keys: only the before-image shows whether the call happened.
  const probed = (gate: Gate): Pick<Tool, "before" | "probe"> => ({
    before: () => gate("before", async () => countProbed()),
    probe: ({ before }) => gate("probe", () => answer(Number(before))),
  });
  const answer = async (before: number): Promise<Probe> =>
    countProbed() > before ? { kind: "happened", result: "as probed" } : { kind: "absent" };
  const agentIn = (gate: Gate): Agent =>
    defineAgent({
      name: "actor",
      version: "1",
      upgrade: "pin",
      instructions: "",
      task: z.object({}),
      model: scriptedModel({
        name: "script",
        reply: (conversation) => replyIn(of, { conversation, gate, counts }),
      }),
      tools: {
        look: act("look", gate),
        keyed: act("keyed", gate),
        probed: act("probed", gate),
        unsafe: act("unsafe", gate),
      },
      // The sixth call is one too many, until a person gives more.
      budget: { beats: 50, takeovers: 100, toolCalls: 5, wall: "1h", onExhausted: "ask" },
      retention: { archive: "warm" },
      dial: dialled === undefined ? "always" : "auto",
    }) as Agent;
  const deployed = (): string => (effects.some(({ what }) => what === "d") ? "2" : "1");
  const counted = { closings: () => counts.closings, summaries: () => counts.summaries, replies: () => counts.replies };
  return { effects, ...counted, agentIn, deployed };
}

/** Takes longer than the other calls of its reply and than a commit, without the passing of time. */
async function slowly<T>(answer: () => Promise<T>): Promise<T> {
  for (let turn = 0; turn < SLOW_TURNS; turn += 1) await Promise.resolve();
  return answer();
}

const SLOW_TURNS = 200;

interface Counts {
  closings: number;
  summaries: number;
  replies: number;
}

function replyIn(
  scene: { readonly stops?: boolean; readonly compacts?: boolean; readonly dialled?: number | undefined },
  of: { readonly conversation: Conversation; readonly gate: Gate; readonly counts: Counts },
): Promise<ScriptedReply> {
  const { conversation, gate, counts } = of;
  if (scene.compacts === true) {
    const isSummary = isForSummary(conversation);
    return gate(`model.${isSummary ? "summary" : "reads"}`, async () => {
      if (isSummary) counts.summaries += 1;
      return isSummary ? { text: "b is done", tokensIn: 5, tokensOut: 1 } : readingOn(conversation);
    });
  }
  if (scene.dialled !== undefined) {
    const { length } = conversation.calls;
    return gate(`model.after ${length}`, async () => {
      counts.replies += 1;
      return harmlessReplyTo(length, scene.dialled === 1);
    });
  }
  if (scene.stops !== true) return gate(`model.turn ${turnOf(conversation)}`, async () => replyTo(conversation));
  const isClosing = hasToStop(conversation);
  if (isClosing) counts.closings += 1;
  return gate(`model.${isClosing ? "closing" : "again"}`, async () => repeatedTo(conversation));
}

/** Replies that asked for calls: speech in between does not count. */
const turnOf = ({ calls }: Conversation): number => (calls.length === 0 ? 0 : calls.length < SPEECH ? 1 : 2);

const SPEECH = 6;

/** It looks twice at once, does something, looks again, and is done. */
function harmlessReplyTo(calls: number, acts: boolean): ScriptedReply {
  const ask = (tool: Name, what: string) => ({ tool, args: { what, silent: false } });
  const tokens = { tokensIn: 10, tokensOut: 1 };
  if (calls === 0) return { calls: [ask("look", "a"), ask("look", "b")], ...tokens };
  if (calls === 2) return { calls: [ask(acts ? "keyed" : "look", "c")], ...tokens };
  return calls === 3 ? { calls: [ask("look", "d")], ...tokens } : { text: "over", ...tokens };
}

const hasToStop = ({ messages }: Conversation): boolean =>
  messages.at(-1)?.text.startsWith("You have to stop now") === true;

/** It does something once, and then looks at the same thing for ever. */
function repeatedTo(conversation: Conversation): ScriptedReply {
  const tokens = { tokensIn: 10, tokensOut: 1 };
  if (hasToStop(conversation)) return { text: "b is done, a is not", ...tokens };
  const [tool, what] = conversation.calls.length === 0 ? ["keyed", "b"] : ["look", "a"];
  return { calls: [{ tool: tool as string, args: { what, silent: false } }], ...tokens };
}

/** What comes after the last call that it is shown. */
function readingOn({ calls, turn }: Conversation): ScriptedReply {
  if (turn > 2) throw tooLong();
  const tokens = { tokensIn: 10, tokensOut: 1 };
  const steps = ["b", "a", "g", "h"];
  const last = calls.at(-1)?.args as { readonly what: string } | undefined;
  const what = steps[last === undefined ? 0 : steps.indexOf(last.what) + 1];
  if (what === undefined) return { text: "all is read", ...tokens };
  return {
    calls: [{ tool: what === "b" || what === "g" ? "keyed" : "look", args: { what, silent: false } }],
    ...tokens,
  };
}

function replyTo(conversation: Conversation): ScriptedReply {
  const tokens = { tokensIn: 10, tokensOut: 1 };
  const ask = (tool: Name, what: string, silent = false) => ({ tool, args: { what, silent } });
  switch (turnOf(conversation)) {
    case 0:
      return { calls: [ask("look", "a"), ask("keyed", "b"), ask("probed", "c"), ask("unsafe", "d")], ...tokens };
    case 1:
      return { calls: [ask("unsafe", "e", true), ask("keyed", "f")], ...tokens };
    default: {
      // In the order of their names: when each of them is heard is a matter of chance.
      const heard = conversation.messages.filter(({ role, text }) => role === "user" && text.includes("words"));
      return {
        text: `over; ${heard
          .map(({ text }) => text)
          .toSorted()
          .join(", ")}`,
        ...tokens,
      };
    }
  }
}
