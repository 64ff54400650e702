/**
 * The scenario of sagas: a run does a keyed, a probed and an unsafe effect, each of which can be undone, and nobody knows what
 * became of the last one. Its agent wants everything undone then, and lets it begin again, which succeeds; or somebody
 * cancels it while the last effect is under way, and wants that first.
 */
import { z } from "zod";
import type { Agent, CallContext, Tool, UndoContext } from "../../../src/ports/agent.ts";
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
import { type RecordedEffect, type Gate, type Services, SETTLE_MS, TIMEOUT_MS } from "./scenario.ts";

const NAMES = ["keyed", "probed", "unsafe"] as const;
type Name = (typeof NAMES)[number];

const INPUT = z.object({ what: z.string() });
type Input = z.output<typeof INPUT>;

/** Where somebody cancels the run, if anybody does; or in its first undo, where the effect was never begun. */
export const CANCELLED_AT = "tool.unsafe";

export function sagaServices(of: { readonly now: () => number; readonly forgetsKeys?: boolean }): Services {
  const { now, forgetsKeys } = of;
  const effects: RecordedEffect[] = [];
  const isDone = (key: string): boolean => effects.some((effect) => effect.key === key);
  const act = (name: Name, effect: Omit<RecordedEffect, "tool" | "at">): void => {
    const isKnown = name === "keyed" && !forgetsKeys && isDone(effect.key);
    if (!isKnown) effects.push({ tool: name, at: now(), ...effect });
  };
  const answer = async (key: string): Promise<Probe> =>
    isDone(key) ? { kind: "happened", result: "as probed" } : { kind: "absent" };
  const toolIn = (gate: Gate, name: Name): Tool => {
    const probe = (point: string) =>
      name === "probed" ? { probe: ({ key }: { readonly key: string }) => gate(point, () => answer(key)) } : {};
    return tool({
      ...{ input: INPUT, effect: name, timeoutMs: TIMEOUT_MS, settleMs: SETTLE_MS, ...probe("probe") },
      ...(name === "keyed" ? { key: ({ what }: Input, { restart }: CallContext) => `${what}-${restart}` } : {}),
      ...(name === "unsafe" ? { onUnknown: "compensate" as const } : {}),
      undo: {
        effect: name,
        ...probe("undo.probe"),
        run: ({ input: { what }, key, of: { key: undoes } }: UndoContext<Input>) =>
          gate(`undo.${name}`, async () => act(name, { key, what: `undo of ${what}`, undoes })),
      },
      run: ({ input: { what }, key }: ToolContext<Input>) =>
        gate(`tool.${name}`, async () => {
          act(name, { key, what });
          if (name === "unsafe") throw new OutcomeUnknown("the answer was lost");
          return what;
        }),
    }) as Tool;
  };
  const agentIn = (gate: Gate): Agent =>
    defineAgent({
      ...{ name: "actor", version: "1", instructions: "", task: z.object({}) },
      model: scriptedModel({
        name: "script",
        reply: (conversation) => gate("model", async () => replyTo(conversation)),
      }),
      tools: Object.fromEntries(NAMES.map((name) => [name, toolIn(gate, name)])),
      budget: { beats: 50, takeovers: 100 },
      saga: { restarts: 1 },
      retention: { archive: "warm" },
    }) as Agent;
  return { effects, closings: () => 0, summaries: () => 0, replies: () => 0, agentIn, deployed: () => "1" };
}

/** The second attempt does without the effect that the first one came to grief over. */
function replyTo({ messages, calls }: Conversation): ScriptedReply {
  const isSecond = messages.some(({ text }) => text.startsWith("Attempt 1 did not succeed"));
  const next = NAMES[calls.length];
  const tokens = { tokensIn: 10, tokensOut: 1 };
  if (next === undefined || (isSecond && next === "unsafe")) return { text: "over", ...tokens };
  return { calls: [{ tool: next, args: { what: next } }], ...tokens };
}

/** What is still as it was done, in words. */
export const standing = (effects: readonly RecordedEffect[]): readonly string[] =>
  effects
    .filter(({ key, undoes }) => undoes === undefined && !effects.some((other) => other.undoes === key))
    .map(({ tool, what }) => `${tool} ${what}`);

/** Newest first, each effect once, and after it has happened. */
export function wrongWithUndos(effects: readonly RecordedEffect[]): readonly string[] {
  let last = Infinity;
  return effects.flatMap(({ undoes }, at) => {
    if (undoes === undefined) {
      last = Infinity;
      return [];
    }
    const done = effects.findLastIndex(({ key }) => key === undoes);
    const isAgain = effects.findIndex((other) => other.undoes === undoes) < at;
    // What never happened is undone all the same, and has no place in the order.
    const wrong =
      done > at ? "lands after its undo" : isAgain ? "is undone twice" : done > last ? "is undone late" : "";
    if (done >= 0) last = done;
    return wrong === "" ? [] : [`undo: ${undoes} ${wrong}`];
  });
}
