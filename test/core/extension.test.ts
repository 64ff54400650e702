/** The question for more budget, as changes of the state: what waits for it, and what goes on. */
import { describe, expect, test } from "vitest";
import type { Grant } from "../../src/core/policy/budget.ts";
import type { EventOf } from "../../src/core/event.ts";
import { extensionOf, gateNamed } from "../../src/core/policy/extension.ts";
import { nextCommands } from "../../src/core/outstanding.ts";
import { foldAll } from "../../src/core/transition.ts";
import * as build from "../support/build.ts";

const { AT, GATE_UNTIL, after, askedForMore, decided, startedEvent, view } = build;

const answered = (as: "approve" | "deny", more: Grant = {}): EventOf<"HumanApprovalReceived"> => ({
  ...{ kind: "HumanApprovalReceived", at: AT, gate: "budget-1", call: "budget" },
  decision: { ...build.decision(as), more },
});

const inWords = (state: ReturnType<typeof after>, now = AT) =>
  nextCommands(state, view({ now })).map((command) =>
    "calls" in command ? `${command.kind} ${command.calls.join()}` : command.kind,
  );

describe("while more is asked for", () => {
  test("the model is not asked; the run waits until somebody decides or nobody did in time", () => {
    const asking = after(startedEvent, askedForMore());
    expect(asking.phase).toBe("AwaitingApproval");
    expect(nextCommands(asking, view())).toEqual([{ kind: "wait", until: GATE_UNTIL }]);
    expect(nextCommands(asking, view({ now: GATE_UNTIL }))).toEqual([{ kind: "expireGate", call: "budget" }]);
    expect(nextCommands(asking, view({ cancel: true }))).toEqual([{ kind: "cancel" }]);
    expect(nextCommands(asking, view({ pause: true }))).toEqual([{ kind: "pause" }]);
  });

  test("nothing is released, and what is released already comes to its end", () => {
    const asking = foldAll(build.withCalls(), [askedForMore()]);
    expect(asking.phase).toBe("ExecutingTools");
    expect(inWords(asking)).toEqual(["perform c3"]);
    const settled = foldAll(asking, [build.resulted("c3")]);
    expect(settled.phase).toBe("AwaitingReconcile");
    expect(inWords(settled)).toEqual(["wait"]);
    const given = foldAll(settled, [answered("approve", { toolCalls: 2 })]);
    expect([given.phase, inWords(given)]).toEqual(["ExecutingTools", ["intend c1,c2"]]);
  });

  test("its gate has a name of its own, and a call that is not open has none", () => {
    const asking = after(startedEvent, askedForMore());
    expect(gateNamed(asking, "budget")).toMatchObject({ gate: "budget-1" });
    expect(gateNamed(asking, "c9")).toBeNull();
  });

  test("a question without a budget is refused", () => {
    const { budget: _, ...question } = askedForMore();
    expect(() => foldAll(build.IN_PHASE.AwaitingLLM(), [question])).toThrow(/once at a time/);
  });

  test("it is not asked for again", () => {
    const asking = foldAll(build.withCalls(), [askedForMore()]);
    expect(() => foldAll(asking, [askedForMore({ gate: "budget-2" })])).toThrow(/once at a time/);
  });
});

describe("what is decided", () => {
  test("adds up, and only what is approved", () => {
    const once = after(startedEvent, askedForMore(), answered("approve", { beats: 2, tokens: 5 }));
    expect([once.phase, extensionOf(once)]).toEqual([
      "AwaitingLLM",
      { asked: 1, granted: { beats: 2, tokens: 5 }, gate: null },
    ]);
    const twice = foldAll(once, [askedForMore(), answered("approve", { beats: 1 })]);
    expect(extensionOf(twice)).toEqual({ asked: 2, granted: { beats: 3, tokens: 5 }, gate: null });
    const denied = foldAll(once, [askedForMore(), answered("deny", { beats: 1 })]);
    expect(extensionOf(denied)).toEqual({ asked: 2, granted: { beats: 2, tokens: 5 }, gate: null });
  });

  test("about another gate changes nothing", () => {
    const asking = after(startedEvent, askedForMore());
    expect(() => foldAll(asking, [{ ...answered("approve"), gate: "budget-2" }])).toThrow(/does not wait at gate/);
  });

  test("leads a run that was to ask its model again later back to asking it", () => {
    const retrying = after(startedEvent, decided({ kind: "retry", at: AT + 1_000 }), askedForMore());
    expect([retrying.phase, retrying.retryAt]).toEqual(["AwaitingApproval", null]);
    expect(foldAll(retrying, [answered("approve", { beats: 1 })]).phase).toBe("AwaitingLLM");
  });

  test("in a paused run is applied when it goes on", () => {
    const asking = after(startedEvent, askedForMore(), build.paused);
    const heard = foldAll(asking, [
      {
        ...{ kind: "MessageAbsorbed", at: AT, stage: "taken", message: "gate#budget-1" },
        body: { kind: "decision", gate: "budget-1", decision: { ...build.decision("approve"), more: { beats: 1 } } },
      },
    ]);
    expect(heard.phase).toBe("Paused");
    const resumed = foldAll(heard, [build.resumed]);
    expect(nextCommands(resumed, view({ now: GATE_UNTIL }))).toEqual([{ kind: "decide", call: "budget" }]);
  });
});
