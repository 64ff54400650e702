/**
 * The scenario of waits: one reply waits for a human's answer, an event, a time and an event that never comes, beside a
 * call that works; the next one waits for an event that came before. A person answers and signals as soon as they can.
 */
import { waitIn } from "../../../src/core/calls/held-calls.ts";
import { z } from "zod";
import type { Agent, Tool } from "../../../src/ports/agent.ts";
import type { State } from "../../../src/core/state.ts";
import type { World } from "../../../src/ports/world.ts";
import { answerQuestion } from "../../../src/operations/answer.ts";
import { signal } from "../../../src/operations/signal.ts";
import {
  type Conversation,
  type ScriptedReply,
  askHuman,
  defineAgent,
  scriptedModel,
  sleep,
  tool,
  waitFor,
} from "../../../src/index.ts";
import { type Gate, type RecordedEffect, type Services, SETTLE_MS, TIMEOUT_MS } from "./scenario.ts";

export function waitServices({ now }: { readonly now: () => number }): Services {
  const effects: RecordedEffect[] = [];
  const keyed = (gate: Gate): Tool =>
    tool({
      ...{ input: z.object({ what: z.string() }), effect: "keyed", timeoutMs: TIMEOUT_MS, settleMs: SETTLE_MS },
      run: ({ input: { what }, key }) =>
        gate("tool.keyed", async () => {
          if (!effects.some((effect) => effect.key === key)) effects.push({ tool: "keyed", key, at: now(), what });
          return what;
        }),
    }) as Tool;
  const agentIn = (gate: Gate): Agent =>
    defineAgent({
      ...{ name: "actor", version: "1", instructions: "", task: z.object({}) },
      model: scriptedModel({
        name: "script",
        reply: (conversation) => gate("model", async () => replyTo(conversation)),
      }),
      tools: {
        ask: askHuman({ answer: z.object({ yes: z.boolean() }) }),
        paid: waitFor({ event: "paid", detail: z.object({ part: z.int() }) }),
        gone: waitFor({ event: "gone", timeLimit: 4_000 }),
        rest: sleep(),
        keyed: keyed(gate),
      },
      budget: { beats: 50, takeovers: 100 },
      retention: { archive: "warm" },
      result: ({ calls }) =>
        calls
          .map(({ tool: name, outcome, result }) => ({ name, outcome, result: PLAIN.has(name) ? result : null }))
          .toSorted((one, other) => JSON.stringify(one).localeCompare(JSON.stringify(other))),
    }) as Agent;
  return { effects, closings: () => 0, summaries: () => 0, replies: () => 0, agentIn, deployed: () => "1" };
}

/** Their results name no time. */
const PLAIN: ReadonlySet<string> = new Set(["ask", "keyed"]);

function replyTo({ calls }: Conversation): ScriptedReply {
  const tokens = { tokensIn: 10, tokensOut: 1 };
  const ask = (name: string, args: object = {}) => ({ tool: name, args: { ...args } });
  switch (calls.length) {
    case 0:
      return {
        calls: [
          ...[ask("ask", { question: "?" }), ask("paid"), ask("rest", { seconds: 2 })],
          ...[ask("gone"), ask("keyed", { what: "a" })],
        ],
        ...tokens,
      };
    case 5:
      return { calls: [ask("paid"), ask("keyed", { what: "b" })], ...tokens };
    default:
      return { text: "over", ...tokens };
  }
}

/** The person gives one thing that a call waits for, and the second payment early. False: nothing is waited for. */
export async function giveInput(of: {
  readonly run: string;
  readonly state: State;
  readonly said: Set<string>;
  readonly act: (work: (world: World) => Promise<{ readonly kind: string }>) => Promise<unknown>;
}): Promise<boolean> {
  const { run, state, said, act } = of;
  const by = { run, by: "person", agent: null };
  for (const open of state.open) {
    const { call } = open;
    const wait = waitIn(open);
    if (wait === undefined || wait.given !== undefined || said.has(`wait ${call}`)) continue;
    if (wait.for === "time" || wait.event === "gone") continue;
    said.add(`wait ${call}`);
    if (wait.for === "answer") {
      await act((world) => answerQuestion(world, { ...by, call, result: { yes: true } }));
      return true;
    }
    for (const part of said.has("paid") ? [] : [1, 2]) {
      await act((world) => signal(world, { ...by, event: "paid", detail: { part }, id: `payment ${part}` }));
    }
    said.add("paid");
    return true;
  }
  return false;
}
