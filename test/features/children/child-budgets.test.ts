/** The budgets of child runs: what is reserved, granted, refused and asked. */
import { describe, expect, test } from "vitest";
import type { ScriptedReply } from "../../../src/index.ts";
import { show } from "../../../src/operations/views.ts";
import { createChainHarness } from "../../support/harness/harness.ts";
import { childrenOf, kindsOf, played } from "../../support/runs/played-family.ts";
import { boss, worker } from "../../support/agents/workers.ts";

describe("a budget", () => {
  test("without room for a child refuses the call, and the model is told", async () => {
    const harness = createChainHarness();
    const run = await played(harness, [boss({ children: 3, budget: { beats: 12 } }), worker()]);
    const shown = await show(harness.world, run);
    expect(shown?.result).toMatchObject(
      [
        { outcome: "succeeded" },
        { outcome: "succeeded" },
        { outcome: "failed", result: expect.stringMatching(/no room for this child run: it takes 5 of beats/) },
      ].toSorted((one, other) => (one.outcome < other.outcome ? -1 : 1)),
    );
    expect(childrenOf(harness, run)).toHaveLength(2);
  });

  test("of a child is at most the grant of its parent", async () => {
    const harness = createChainHarness();
    const endless = worker({ reply: () => ({ calls: [{ tool: "act", args: {} }] }), budget: { beats: 20 } });
    const run = await played(harness, [boss({ children: 1 }), endless]);
    const [child] = childrenOf(harness, run);
    expect(child).toMatchObject({ status: "failed", spent: { beats: 5 } });
    // The signal of a runaway comes at four fifths of the grant.
    expect(await kindsOf(harness, child?.run ?? "")).toContain("CrackSignalled");
  });

  test("of a child bounds its closing call too", async () => {
    const harness = createChainHarness();
    let replies = 0;
    const reply = (): ScriptedReply => {
      replies += 1;
      return { calls: [{ tool: "act", args: {} }], tokensIn: 40, tokensOut: 1 };
    };
    const endless = worker({ reply, budget: { beats: 20, tokens: 100_000 } });
    const run = await played(harness, [boss({ children: 1, child: { budget: { beats: 5, tokens: 30 } } }), endless]);
    const [child] = childrenOf(harness, run);
    expect({ status: child?.status, tokensIn: child?.spent.tokensIn, replies }).toEqual({
      status: "failed",
      tokensIn: 40,
      replies: 1,
    });
  });
});

describe("an exhausted budget", () => {
  test("of a child asks no operator: the child ends, and the model of its parent is told why", async () => {
    const harness = createChainHarness();
    const asking = worker({
      reply: () => ({ calls: [{ tool: "act", args: {} }] }),
      budget: { beats: 20, onExhausted: "ask" },
    });
    const run = await played(harness, [boss({ children: 1 }), asking]);
    const [child] = childrenOf(harness, run);
    expect(child).toMatchObject({ status: "failed", endNotified: true });
    expect(await kindsOf(harness, child?.run ?? "")).not.toContain("ApprovalRequested");
    expect((await show(harness.world, run))?.result).toMatchObject([
      { outcome: "failed", result: { status: "failed", why: { code: "BudgetExhausted" } } },
    ]);
  });
});

describe("a child that is left alone", () => {
  test("has no parent, its grant is spent at once, and the call gives its name", async () => {
    const harness = createChainHarness();
    const run = await played(harness, [boss({ children: 1, child: { wait: false } }), worker()]);
    const shown = await show(harness.world, run);
    const left = [...harness.world.store.rows.values()].filter((row) => row.run !== run);
    expect(left).toMatchObject([{ parent: null, status: "completed" }]);
    expect(shown?.result).toEqual([{ outcome: "succeeded", result: { run: left[0]?.run } }]);
    // Two replies of its own, and the grant.
    expect(harness.row(run).spent.beats).toBe(2 + 5);
  });
});
