/** What an approval rests on: the results of earlier calls. */
import { expect, test } from "vitest";
import { readBefore } from "../../src/console/model/read-before.ts";
import { inline } from "../../src/core/message.ts";
import type { TimelineEntry } from "../../src/operations/views.ts";

const entries = (...events: readonly object[]): readonly TimelineEntry[] =>
  events.map((event, index) => ({ version: index + 1, epoch: 1, at: index, ...event }) as TimelineEntry);

const result = (call: string, value: object, outcome = "succeeded") => ({
  ...{ kind: "ToolResultRecorded", call, outcome, value, externalId: null, evidence: "" },
});

const proposes = (...tools: readonly string[]) => ({
  ...{ kind: "ModelCallCompleted", model: "m", finish: "tool-calls", tokensIn: 1, tokensOut: 1, tookMs: 1 },
  parts: tools.map((tool) => ({ kind: "call", tool, args: inline({}), provider: null })),
});

test("shows the last three results before the call by tool, and neither failures nor the call itself", () => {
  const told = readBefore(
    entries(
      proposes("search", "search", "read", "read", "pay"),
      result("c1", inline("first")),
      result("c2", inline({ found: 2 })),
      result("c3", inline("broken"), "failed"),
      result("c4", { kind: "ref", head: "a long text", tail: "", bytes: 90_000 }),
      result("c5", inline("paid")),
    ),
    "c5",
  );
  expect(told).toEqual([
    { call: "c1", tool: "search", says: "first" },
    { call: "c2", tool: "search", says: '{"found": 2}' },
    { call: "c4", tool: "read", says: "a long text…" },
  ]);
});
