/** The question for more budget, as changes of the state: what waits for it, and what goes on. */
import { nextCommands, foldAll } from "../../../src/features/compose.ts";
import { extensionOf } from "../../../src/core/policy/extension.ts";
import { gateNamed } from "../../../src/features/approvals/core.ts";
import { describe, expect, test } from "vitest";
import type { Grant } from "../../../src/core/policy/budget.ts";
import type { EventOf } from "../../../src/core/event.ts";
import {
  AT,
  EVENT,
  GATE_UNTIL,
  IN_PHASE,
  decision,
  stateAfter,
  view,
  withCalls,
} from "../../support/states/states-and-events.ts";

const answered = (as: "approve" | "deny", more: Grant = {}): EventOf<"HumanApprovalReceived"> => ({
  ...{ kind: "HumanApprovalReceived", at: AT, gate: "budget-1", call: "budget" },
  decision: { ...decision(as), more },
});

const inWords = (state: ReturnType<typeof stateAfter>, now = AT) =>
  nextCommands(state, view({ now })).map((command) =>
    "calls" in command ? `${command.kind} ${command.calls.join()}` : command.kind,
  );

describe("while a budget extension is requested", () => {
  test("the model is not called; the run waits for a decision or its expiry", () => {
    const asking = stateAfter(EVENT.started, EVENT.budgetRequested());
    expect(asking.phase).toBe("AwaitingApproval");
    expect(nextCommands(asking, view())).toEqual([{ kind: "wait", until: GATE_UNTIL }]);
    expect(nextCommands(asking, view({ now: GATE_UNTIL }))).toEqual([{ kind: "expireGate", call: "budget" }]);
    expect(nextCommands(asking, view({ cancel: true }))).toEqual([{ kind: "cancel" }]);
    expect(nextCommands(asking, view({ pause: true }))).toEqual([{ kind: "pause" }]);
  });

  test("nothing is released, and released calls run to their end", () => {
    const asking = foldAll(withCalls(), [EVENT.budgetRequested()]);
    expect(asking.phase).toBe("ExecutingTools");
    expect(inWords(asking)).toEqual(["perform c3"]);
    const settled = foldAll(asking, [EVENT.resulted("c3")]);
    expect(settled.phase).toBe("AwaitingReconcile");
    expect(inWords(settled)).toEqual(["wait"]);
    const given = foldAll(settled, [answered("approve", { toolCalls: 2 })]);
    expect({ phase: given.phase, commands: inWords(given) }).toEqual({
      phase: "ExecutingTools",
      commands: ["intend c1,c2"],
    });
  });

  test("its gate has a name of its own, and a call that is not open has none", () => {
    const asking = stateAfter(EVENT.started, EVENT.budgetRequested());
    expect(gateNamed(asking, "budget")).toMatchObject({ gate: "budget-1" });
    expect(gateNamed(asking, "c9")).toBeNull();
  });

  test("a request without a budget is refused", () => {
    const { budget: _, ...question } = EVENT.budgetRequested();
    expect(() => foldAll(IN_PHASE.AwaitingLLM(), [question])).toThrow(/once at a time/);
  });

  test("no second request is made", () => {
    const asking = foldAll(withCalls(), [EVENT.budgetRequested()]);
    expect(() => foldAll(asking, [EVENT.budgetRequested({ gate: "budget-2" })])).toThrow(/once at a time/);
  });
});

describe("a decision about a budget", () => {
  test("adds to the budget only when it approves", () => {
    const once = stateAfter(EVENT.started, EVENT.budgetRequested(), answered("approve", { beats: 2, tokens: 5 }));
    expect({ phase: once.phase, extension: extensionOf(once) }).toEqual({
      phase: "AwaitingLLM",
      extension: { questions: 1, granted: { beats: 2, tokens: 5 }, gate: null },
    });
    const twice = foldAll(once, [EVENT.budgetRequested(), answered("approve", { beats: 1 })]);
    expect(extensionOf(twice)).toEqual({ questions: 2, granted: { beats: 3, tokens: 5 }, gate: null });
    const denied = foldAll(once, [EVENT.budgetRequested(), answered("deny", { beats: 1 })]);
    expect(extensionOf(denied)).toEqual({ questions: 2, granted: { beats: 2, tokens: 5 }, gate: null });
  });

  test("about another gate changes nothing", () => {
    const asking = stateAfter(EVENT.started, EVENT.budgetRequested());
    expect(() => foldAll(asking, [{ ...answered("approve"), gate: "budget-2" }])).toThrow(/does not wait at gate/);
  });

  test("returns a run that was about to retry its model to that retry", () => {
    const retrying = stateAfter(
      EVENT.started,
      EVENT.decided({ kind: "retry", at: AT + 1_000, outage: { since: AT, attempts: 1 } }),
      EVENT.budgetRequested(),
    );
    expect({ phase: retrying.phase, retryAt: retrying.retryAt }).toEqual({ phase: "AwaitingApproval", retryAt: null });
    expect(foldAll(retrying, [answered("approve", { beats: 1 })]).phase).toBe("AwaitingLLM");
  });

  test("in a paused run is applied when it is resumed", () => {
    const asking = stateAfter(EVENT.started, EVENT.budgetRequested(), EVENT.paused);
    const heard = foldAll(asking, [
      {
        ...{ kind: "MessageAbsorbed", at: AT, stage: "taken", message: "gate#budget-1" },
        body: { kind: "decision", gate: "budget-1", decision: { ...decision("approve"), more: { beats: 1 } } },
      },
    ]);
    expect(heard.phase).toBe("Paused");
    const resumed = foldAll(heard, [EVENT.resumed]);
    expect(nextCommands(resumed, view({ now: GATE_UNTIL }))).toEqual([{ kind: "decide", call: "budget" }]);
  });
});
