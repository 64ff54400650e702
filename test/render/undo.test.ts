/** The timeline of a run that comes to nothing: what failed is told to its end, and what is undone by its own name. */
import { expect, test } from "vitest";
import { plain } from "../../src/render/paint.ts";
import { UNTOLD } from "../../src/render/story.ts";
import { renderEvents } from "../../src/render/timeline.ts";
import type { TimelineEntry } from "../../src/operations/views.ts";

const committed = (...events: readonly object[]): TimelineEntry[] =>
  events.map((event, index) => ({ version: index + 1, epoch: 1, at: 1_000 * index, ...event }) as TimelineEntry);

const linesOf = (...events: readonly object[]): readonly string[] =>
  renderEvents(UNTOLD, committed(...events), { paint: plain, width: 80 }).lines.map((line) =>
    line.slice("   +0.0s  e1   v1   ".length),
  );

const inline = (json: unknown) => ({ kind: "inline", json });
const asks = {
  ...{ kind: "ModelCallCompleted", model: "m", finish: "tool-calls", tokensIn: 1, tokensOut: 1, tookMs: 1 },
  parts: [{ kind: "call", tool: "book", args: inline({}), provider: null }],
};

test("an error shows the remedy even if the page ends before it", () => {
  const why = `the secret TOKEN is not set; ${"it was looked for in many places; ".repeat(3)}to set it: echo TOKEN=… >> .env`;
  const failed = { kind: "ToolResultRecorded", call: "c1", outcome: "failed", externalId: null, evidence: "" };
  const [, line = ""] = linesOf(asks, { ...failed, value: inline(why) });
  expect(line).toBe(`✖ book (c1) failed: ${why}`);
});

test("names the compensated call, not its undo", () => {
  const undo = { kind: "undo", call: "c1" };
  const restart = { kind: "restart", text: "Begin again." };
  expect(
    linesOf(
      asks,
      { kind: "RecoveryDecided", rule: "newest effect first", why: "it stands", action: undo },
      { kind: "ToolCompensated", call: "undo-c1", value: inline({ cancelled: "A7" }), evidence: "" },
      { kind: "RecoveryDecided", rule: "begins again", why: "NotDone: no letter", action: restart },
    ).slice(1),
  ).toEqual([
    "↻ book (c1) is undone next",
    '↶ book (c1) is undone {"cancelled":"A7"}',
    "↻ begins again from its task: NotDone: no letter",
  ]);
});
