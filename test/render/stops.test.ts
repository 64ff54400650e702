/** What the timeline tells of a run that has to stop, and of one whose context gets too long. */
import { expect, test } from "vitest";
import { UNTOLD } from "../../src/render/story.ts";
import { renderEvents } from "../../src/render/timeline.ts";
import type { TimelineEntry } from "../../src/operations/views.ts";
import { AT, IN_PHASE, callPart, textPart, EVENT } from "../support/states/states-and-events.ts";

test("the timeline shows the first signal, the forced stop, and a closing call that is not a beat", () => {
  const signal = { kind: "CrackSignalled", at: AT, why: "w", times: 1, section: 0 } as const;
  const events = [
    EVENT.started,
    EVENT.replied([callPart("look")]),
    { ...signal, crack: "runaway" },
    { ...signal, crack: "oscillation" },
    { ...signal, crack: "prematureStop" },
    EVENT.stopDecided,
    EVENT.replied([textPart("half of it is done")]),
  ] as const;
  const entries = events.map((event, index): TimelineEntry => ({ version: index + 1, epoch: 1, ...event }));
  const page = { paint: (_: string, text: string) => text, width: 120 };
  const lines = renderEvents(UNTOLD, entries, page).lines.map((line) => line.slice("   +0.0s  e1   v1   ".length));
  expect(lines.slice(1)).toEqual([
    "beat 1 asks for look (c1) {}",
    "! runs away: w",
    "! goes back and forth: w",
    "! stops too early: w",
    "✖ has to stop (r): w",
    "closing reply says: half of it is done",
  ]);
});

test("the timeline shows a compaction, what the summary replaces and what it costs", () => {
  const events = [
    EVENT.started,
    EVENT.decided({ kind: "compact" }),
    EVENT.compacted(IN_PHASE.Compacting()),
    { kind: "BudgetDebited", at: AT, debit: { microUsd: 1_200 }, for: "m" },
  ] as const;
  const entries = events.map((event, index): TimelineEntry => ({ version: index + 1, epoch: 1, ...event }));
  const page = { paint: (_: string, text: string) => text, width: 120 };
  const lines = renderEvents(UNTOLD, entries, page).lines.map((line) => line.slice("   +0.0s  e1   v1   ".length));
  expect(lines.slice(1)).toEqual([
    "↻ its context is compacted next (r): w",
    "≡ its context was compacted $0.0012, $0.0012 in all: summary stands for messages m2–m3 (2), 4 tokens",
  ]);
});
