/**
 * What the model of a history says: which tools at each of its steps, drawn once from the seed. A reply is a function
 * of the conversation, so whichever process asks gets the same one.
 */
import type { Conversation, ScriptedReply } from "../../src/index.ts";
import { isForSummary, tooLong, afterTwoReplies } from "../support/agents/small-context-agent.ts";
import type { SeededChoices } from "./seeded-choices.ts";
import { inRole, saidIn } from "./topologies.ts";

export const TOOLS = ["look", "keyed", "probed", "unsafe"] as const;
export type ToolName = (typeof TOOLS)[number];

interface Asked {
  readonly tool: string;
  readonly args: { readonly step: number; readonly index: number | string } | { readonly seconds: number };
}

export interface Script {
  readonly steps: readonly (readonly Asked[])[];
  /** Characters of what each tool returns besides its name: a transcript of many is sealed, a large one is a blob. */
  readonly bulk: number;
  /** The run is done only after the model has said so twice. */
  readonly isStrict: boolean;
  /** After its last step the model looks at the same thing for ever, until it has to stop. */
  readonly isCircling: boolean;
  /** Its model takes no question with more than one of its replies. */
  readonly isNarrow: boolean;
}

/** Results of that size fill a sealed stretch in a few calls, and larger ones are kept as blobs. */
const SEALED = 6_000;
const BLOB = 17_000;

/** Mostly those that rest on clocks. */
export const CAREFUL: readonly ToolName[] = ["probed", "probed", "unsafe", "unsafe", "keyed"];

export function scriptOf(chance: SeededChoices, tools: readonly ToolName[]): Script {
  const count = 1 + chance.below(4);
  const steps = Array.from({ length: count }, (_, step) =>
    Array.from({ length: 1 + chance.below(3) }, (_, index) => askedOf(chance, tools, { step, index })),
  );
  const bulk = chance.oneIn(8) ? chance.pick([SEALED, BLOB]) : 0;
  const [isCircling, isNarrow] = [chance.child("circling").oneIn(8), chance.child("compacting").oneIn(8)];
  return { steps, bulk, isStrict: chance.oneIn(6), isCircling, isNarrow };
}

/** The same script, some of whose replies ask only for calls that act nowhere. */
export const harmlessIn = (script: Script, chance: SeededChoices): Script => ({
  ...script,
  steps: script.steps.map((step) => (chance.oneIn(3) ? step : step.map((asked) => ({ ...asked, tool: "look" })))),
});

/** Models ask for tools that are not there, and with arguments that do not fit. */
function askedOf(
  chance: SeededChoices,
  tools: readonly ToolName[],
  args: { readonly step: number; readonly index: number },
): Asked {
  if (chance.oneIn(40)) return { tool: "nothing", args };
  const tool = chance.pick(tools);
  return chance.oneIn(40) ? { tool, args: { ...args, index: "first" } } : { tool, args };
}

/** The step follows the last one that was asked for; it depends on nothing but the conversation. */
export function replyOf({ steps, isCircling, isNarrow }: Script, conversation: Conversation): ScriptedReply {
  const { calls: made, messages } = conversation;
  if (isForSummary(conversation)) return { text: "so far", tokensIn: 5, tokensOut: 1 };
  if (isNarrow && afterTwoReplies(conversation)) throw tooLong();
  if (messages.at(-1)?.text.startsWith("You have to stop now")) return { text: "open", tokensIn: 1, tokensOut: 1 };
  const role = inRole(conversation);
  if (role !== null) return role;
  const last = made.at(-1);
  const step = last === undefined ? 0 : (last.args as unknown as { readonly step: number }).step + 1;
  const calls = steps[step];
  if (calls === undefined && isCircling) {
    return { calls: [{ tool: "look", args: { step: steps.length, index: 0 } }], tokensIn: 10, tokensOut: 1 };
  }
  if (calls === undefined) return { text: saidIn(conversation), tokensIn: 1, tokensOut: 1 };
  return { calls, tokensIn: 10, tokensOut: 1 };
}
