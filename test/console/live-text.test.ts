/** The text that streams, folded from deltas, resets and events. */
import { describe, expect, test } from "vitest";
import type { Delta } from "../../src/ports/delta-log.ts";
import type { TimelineEntry } from "../../src/operations/views.ts";
import { withDelta, withEntries, withReset } from "../../src/console/model/live-text.ts";

const delta = (seq: number, text: string, of: Partial<Delta> = {}): Delta => ({
  ...{ epoch: 1, version: 4, seq, at: 0, parts: [{ kind: "text", index: 0, text }] },
  ...of,
});

const spoken = withDelta(withDelta(null, delta(1, "Order ")), delta(2, "A-1 is"));

describe("what the model says now", () => {
  test("grows by each delta once, also if one comes again after a reconnect", () => {
    expect(spoken.parts).toEqual([{ kind: "text", tool: null, text: "Order A-1 is" }]);
    expect(withDelta(spoken, delta(2, "A-1 is"))).toBe(spoken);
  });

  test("has its parts in their order, and the tool of a call", () => {
    const call = { kind: "call", index: 1, tool: "pay", text: '{"euros":' } as const;
    const both = withDelta(spoken, delta(3, "", { parts: [{ ...call }], isCut: true }));
    expect(both.parts.map(({ kind, tool }) => ({ kind, tool }))).toEqual([
      { kind: "text", tool: null },
      { kind: "call", tool: "pay" },
    ]);
    expect({ spoken: spoken.isCut, both: both.isCut }).toEqual({ spoken: false, both: true });
  });

  test("begins anew with the next step", () => {
    expect(withDelta(spoken, delta(1, "Again", { epoch: 2 })).parts).toEqual([
      { kind: "text", tool: null, text: "Again" },
    ]);
  });

  test("is marked as lost by a reset of its own step, and by no other", () => {
    expect(withReset(spoken, { epoch: 1, version: 4, why: "takeover" })?.lost).toBe("takeover");
    expect(withReset(spoken, { epoch: 1, version: 3, why: "noReply" })).toBe(spoken);
    expect(withReset(null, { epoch: 1, version: 4, why: "noReply" })).toBe(null);
  });

  test("is gone with its reply, and stays through other events", () => {
    const entry = (kind: string) => ({ kind }) as unknown as TimelineEntry;
    expect(withEntries(spoken, [entry("EpochClaimed")])).toBe(spoken);
    expect(withEntries(spoken, [entry("ModelCallCompleted"), entry("BudgetDebited")])).toBe(null);
  });
});
