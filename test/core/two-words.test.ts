/**
 * Two words of operators, one after the other, in each phase: which one holds. `docs/sagas.md` has the table for
 * people. `two-words-ended.test.ts` has the words that need an end.
 */
import { gateIn } from "../../src/core/calls/held-calls.ts";
import { describe, expect, test } from "vitest";
import { isTerminal } from "../../src/core/phases.ts";
import type { State } from "../../src/core/state.ts";
import { IN_PHASE, view } from "../support/states/states-and-events.ts";
import { CANCELS, PLACES, type Run, STATES, WORDS, outcomeOf, step } from "../support/walks/two-words.ts";

const said = (words: readonly string[], run: Run): Run | null =>
  words.reduce<Run | null>((now, word) => now && (WORDS[word]?.(now) ?? null), run);

const names = Object.keys(WORDS);

describe.each(Object.keys(STATES))("in %s", (where) => {
  test.each(names)("%s comes first", (first) => {
    for (const second of names) {
      const start = STATES[where]?.() as State;
      let between = said([first], { state: start, view: view({ epoch: 2, pause: start.phase === "Paused" }) });
      for (let place = 0; between !== null && place < PLACES; place += 1) {
        const { phase, restart } = between.state;
        if (isTerminal(phase) || restart > start.restart) break;
        const both = said([second], between);
        if (both !== null) {
          expectHeld({ first, second, both });
          expectAnswers(both);
        }
        between = step(between);
      }
    }
  });
});

function expectHeld(of: { readonly first: string; readonly second: string; readonly both: Run }): void {
  const { first, second, both } = of;
  const { how, state } = outcomeOf(both);
  const hasCancelled = CANCELS.has(first) || CANCELS.has(second);
  // An end that the run decided by itself, before any of the words, is not one of these states.
  if (hasCancelled) {
    // A pause that nobody lifts holds no cancel back.
    expect({ first, second, how }).toEqual({ first, second, how: "Cancelled" });
    const undoes = [first, second].some((word) => word.startsWith("cancel and undo"));
    if (undoes) expect((state.undo ?? []).map(({ call }) => call)).toEqual(state.saga?.leftInPlace ?? []);
    return;
  }
  if (second === "pause") return expect(how).toBe("Paused");
  if (first === "restart" || second === "restart") {
    // Only its agent can undo what the run did, so a run without one waits for it first.
    return expect(state.phase === "AwaitingAgent" ? ["AwaitingAgent"] : ["restarted", "Paused"]).toContain(how);
  }
  if (first === "pause" && second !== "resume") return expect(how).toBe("Paused");
  expect(how).not.toBe("Cancelled");
  expect(JSON.stringify(state.failure)).not.toContain("RestartRequested");
}

/** What a human said of the outside is in the transcript once the run has ended or restarted, whatever word came with it. */
function expectAnswers({ state: before, view: seen }: Run): void {
  const { how, state } = outcomeOf({ state: before, view: seen });
  const parts = state.messages.flatMap((each) => each.parts);
  for (const { call, answer: given } of before.open) {
    if (given?.as !== "succeeded" && given?.as !== "failed") continue;
    const waits = state.open.find((open) => open.call === call)?.answer;
    const result = parts.find((part) => part.kind === "result" && part.call === call);
    const outcome = result?.kind === "result" ? result.outcome : undefined;
    const isOver = isTerminal(state.phase) || state.restart > before.restart;
    const kept = { call, how, outcome: isOver || waits === undefined ? outcome : waits?.as };
    expect(kept).toEqual({ call, how, outcome: given.as });
  }
}

test("the first of two decisions about a gate counts, and the newest assignment", () => {
  const start = { state: IN_PHASE.AwaitingApproval(), view: view() };
  for (const [first, second] of [
    ["approve", "deny"],
    ["deny", "approve"],
  ] as const) {
    const run = said([first, second], start);
    expect(run?.state.open.map(gateIn).find((gate) => gate !== null)?.decision?.as).toBe(first);
  }
  const assigned = said(["assign", "assign"], start);
  expect(assigned?.state.assigned?.number).toBe(2);
});
