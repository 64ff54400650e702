/**
 * The scenario of summaries: a run reads and books on, and a model of its own summarises its context twice. That model
 * answers, or it answers once and its provider is down from then on.
 */
import { fold } from "../../../src/features/compose.ts";
import { z } from "zod";
import { canonical, sha256 } from "../../../src/codec/canonical.ts";
import type { Spent } from "../../../src/core/policy/budget.ts";
import { type Price, microUsdOf } from "../../../src/core/policy/price.ts";
import { indexOf } from "../../../src/core/policy/window.ts";
import { estimatedCost } from "../../../src/engine/context/unaccounted-model-calls.ts";
import type { Agent, Tool } from "../../../src/ports/agent.ts";
import { type Conversation, type ScriptedReply, defineAgent, scriptedModel, tool } from "../../../src/index.ts";
import type { State } from "../../../src/core/state.ts";
import type { History } from "../../simulation/history.ts";
import { eventsOf, eventsOfKind, finalRow, replay } from "../../simulation/replay.ts";
import { SUMMARY, isForSummary } from "../../support/agents/small-context-agent.ts";
import { type Gate, type RecordedEffect, type Services, SETTLE_MS, TIMEOUT_MS } from "./scenario.ts";

export const SUMMARISERS = ["answers", "dies"] as const;
export type SummariserScene = (typeof SUMMARISERS)[number];

const PRICE: Price = { inUsd: 1_000, outUsd: 2_000 };
const CHEAP_PRICE: Price = { inUsd: 1, outUsd: 2 };
const TOKENS_MAX = 100;
/** Of a reply that is shown none or one reply before it, and of any later one: more than 80 % of the context. */
const [TOKENS, CROWDED] = [10, 90] as const;
/** What the run does: it books the words in capitals. */
const STEPS = ["B", "a", "G", "h", "K", "l"] as const;

const WORKING = "scripted:script";
const CHEAP = "scripted:cheap";

export function summaryServices(of: { readonly now: () => number; readonly scene: SummariserScene }): Services {
  const { now, scene } = of;
  const effects: RecordedEffect[] = [];
  const counts = { summaries: 0, replies: 0 };
  const act = (gate: Gate, effect: "none" | "keyed"): Tool =>
    tool({
      ...{ input: z.object({ what: z.string() }), effect, timeoutMs: TIMEOUT_MS, settleMs: SETTLE_MS },
      run: ({ input: { what }, key }) =>
        gate(`tool.${effect}`, async () => {
          const isKnown = effect === "none" || effects.some((each) => each.key === key);
          if (!isKnown) effects.push({ tool: "keyed", key, at: now(), what });
          return what;
        }),
    }) as Tool;
  const summary = async (): Promise<ScriptedReply> => {
    counts.summaries += 1;
    return SUMMARY;
  };
  const agentIn = (gate: Gate): Agent => {
    const reply = (conversation: Conversation): Promise<ScriptedReply> => {
      if (isForSummary(conversation)) return gate("model.summary", summary);
      return gate("model.reads", async () => {
        counts.replies += 1;
        return readingOn(conversation);
      });
    };
    const cheap = (): Promise<ScriptedReply> =>
      gate("model.cheap", async () => {
        if (scene === "dies" && counts.summaries > 0) throw noConnection();
        return summary();
      });
    return defineAgent({
      ...{ name: "actor", version: "1", instructions: "", task: z.object({}), price: PRICE },
      model: scriptedModel({ name: "script", reply }),
      models: { cheap: { model: scriptedModel({ name: "cheap", reply: cheap }), price: CHEAP_PRICE } },
      context: { tokensMax: TOKENS_MAX, model: "cheap" },
      tools: { look: act(gate, "none"), book: act(gate, "keyed") },
      budget: { beats: 50, takeovers: 100 },
      retention: { archive: "warm" },
    }) as Agent;
  };
  const counted = { closings: () => 0, summaries: () => counts.summaries, replies: () => counts.replies };
  return { effects, ...counted, agentIn, deployed: () => "1" };
}

/** A failure of a model's provider that a retry may mend. */
export const noConnection = (): Error => Object.assign(new Error("no connection"), { code: "ECONNRESET" });

/** What comes after the last call that the model is shown. */
function readingOn({ calls, turn }: Conversation): ScriptedReply {
  const last = calls.at(-1)?.args as { readonly what: (typeof STEPS)[number] } | undefined;
  const what = STEPS[last === undefined ? 0 : STEPS.indexOf(last.what) + 1];
  const tokens = { tokensIn: turn < 2 ? TOKENS : CROWDED, tokensOut: 1 };
  if (what === undefined) return { text: "all is read", ...tokens };
  return { calls: [{ tool: what < "a" ? "book" : "look", args: { what } }], ...tokens };
}

const AGAIN = "model of summaries failed, may be asked again";
const LEFT = "model of summaries failed, the working model summarises";
const RETRIES_MAX = 3;

/**
 * What is wrong with the summaries of a history. The working model writes one only after the rule that says so, and the
 * model of summaries none after it. Each window stands behind the one before it, and its event names what it replaced.
 */
export function wrongWithSummaries(history: History & Paid): readonly string[] {
  const violations: string[] = [];
  let [state, retries, isLeft] = [replay(history).first, 0, false];
  for (const event of eventsOf(history)) {
    const before = state;
    state = fold(state, event);
    if (event.kind === "RecoveryDecided" && event.rule === AGAIN) retries += 1;
    if (event.kind === "RecoveryDecided" && event.rule === LEFT) isLeft = true;
    if (event.kind === "ModelCallCompleted") [retries, isLeft] = [0, false];
    if (retries > RETRIES_MAX) violations.push(`summaries: its model was asked again ${retries} times`);
    if (event.kind !== "Compacted") continue;
    const { window, replaced, model } = event;
    if (model !== (isLeft ? WORKING : CHEAP)) violations.push(`summaries: ${model} wrote one, left: ${isLeft}`);
    const isNamed = indexOf(replaced.from) === 1 && indexOf(replaced.to) === window.from - 1;
    const stood = before.messages.slice(1, window.from);
    const digest = sha256(stood.map((message) => sha256(canonical(message))).join(""));
    if (!isNamed || replaced.digest !== digest)
      violations.push(`summaries: ${JSON.stringify(replaced)} is not what was replaced`);
    if (window.lead[0] !== state.messages.at(-1)?.id) violations.push("summaries: a window leads with another message");
  }
  return [...violations, ...wrongWithDebits(history)];
}

/** How many replies and summaries were paid for, whoever got them. */
interface Paid {
  readonly replies: number;
  readonly summaries: number;
}

/** Each debit is what that call costs, a lost call costs its estimate, and no call is left out or counted twice. */
function wrongWithDebits(history: History & Paid): readonly string[] {
  const violations: string[] = [];
  const events = eventsOf(history);
  let state = replay(history).first;
  for (const [index, event] of events.entries()) {
    const before = state;
    state = fold(state, event);
    if (event.kind !== "BudgetDebited" || event.debit.tokensIn === undefined) continue;
    const lost = events[index - 1];
    const calls = lost?.kind === "ModelCallLost" ? lost.calls : 0;
    const due = event.for === LOST ? estimatesOf(before, calls) : (COSTS[event.for] ?? []);
    if (due.every((each) => canonical(each) !== canonical(event.debit)))
      violations.push(`debits: ${canonical(event.debit)} for ${event.for} is none of ${canonical(due)}`);
  }
  const kept = (["ModelCallCompleted", "Compacted"] as const).flatMap((kind) => eventsOfKind(history, kind)).length;
  const lost = eventsOfKind(history, "ModelCallLost").reduce((sum, { calls }) => sum + calls, 0);
  const paid = history.replies + history.summaries;
  // An invocation that was overtaken may have made the call that its mark allowed.
  const isRight = paid <= kept + lost && kept + lost <= paid + finalRow(history).takeovers;
  if (!isRight) violations.push(`debits: ${paid} calls were paid for, ${kept} are kept and ${lost} lost`);
  return violations;
}

const LOST = "lost model calls, estimated";

/** Which model a lost call was for is not known: its estimate has the price of the call that is due. */
const estimatesOf = (state: State, calls: number): readonly Partial<Spent>[] =>
  [PRICE, CHEAP_PRICE].map((price) => estimatedCost(state, price, calls));

const costOf = (price: Price, tokensIn: number, tokensOut: number): Partial<Spent> => ({
  ...{ tokensIn, tokensOut, microUsd: microUsdOf(price, { tokensIn, tokensOut }) },
});

const { tokensIn: SUMMARY_IN = 0, tokensOut: SUMMARY_OUT = 0 } = SUMMARY;

/** What each call of a model may cost. Only a reply counts as a beat. */
const COSTS: Readonly<Record<string, readonly Partial<Spent>[]>> = {
  [CHEAP]: [costOf(CHEAP_PRICE, SUMMARY_IN, SUMMARY_OUT)],
  [WORKING]: [
    costOf(PRICE, SUMMARY_IN, SUMMARY_OUT),
    ...[TOKENS, CROWDED].map((tokensIn) => ({ ...costOf(PRICE, tokensIn, 1), beats: 1 })),
  ],
};
