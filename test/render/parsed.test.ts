/** Arguments of which the tool gets something else, as a human reads them before and after an approval. */
import { expect, test } from "vitest";
import { UNTOLD } from "../../src/render/story.ts";
import { renderGate } from "../../src/render/run.ts";
import { renderEvents } from "../../src/render/timeline.ts";
import { plain } from "../../src/render/paint.ts";
import { commandLine } from "../../src/render/words.ts";
import type { OpenGate, ShownParse, TimelineEntry } from "../../src/operations/views.ts";

const NOW = 1_790_000_000_000;
const gate: OpenGate = {
  ...{ gate: "c1-a", call: "c1", tool: "pay", reason: "it costs money", args: { euros: 5, note: "soon" } },
  ...{ argsHash: "a", planHash: "b", expiresAt: NOW + 60_000, decided: false, parsed: null, asksAgain: false },
};

const cardOf = (parsed: ShownParse | null): readonly string[] =>
  renderGate(
    "local-a",
    { ...gate, parsed },
    { now: NOW, paint: plain, width: 100, command: (...words) => commandLine(words) },
  )
    .split("\n")
    .map((line) => line.replaceAll(/\s+/g, " ").trim());

test("a card shows what the tool gets, and what it does not get", () => {
  const lines = cardOf({ as: "value", json: { euros: 5, stamp: 1 }, dropped: ["note"] });
  expect(lines).toEqual(
    expect.arrayContaining([
      'arguments {"euros":5,"note":"soon"}',
      'tool gets {"euros":5,"stamp":1}',
      "not sent note: its schema drops it",
    ]),
  );
});

test("a card says that a value is not JSON", () => {
  expect(cardOf({ as: "projection", json: { at: "Date(1970)" }, dropped: [] })).toContain(
    'tool gets {"at":"Date(1970)"} (not JSON: shown as text)',
  );
});

test("a card of arguments that the tool gets as they are shows them once", () => {
  expect(cardOf(null).filter((line) => line.startsWith("tool gets") || line.startsWith("not sent"))).toEqual([]);
});

const inline = (json: unknown) => ({ kind: "inline", json });
const intent = { kind: "ToolIntended", call: "c1", effect: "keyed", key: "k", argsDigest: "d" };
const edited = (args: unknown) => ({
  ...{ kind: "HumanApprovalReceived", gate: "c1-a", call: "c1" },
  decision: { as: "edit", args: inline(args), by: "ann", note: null },
});

const linesOf = (...events: readonly object[]): readonly string[] => {
  const entries = events.map((event, at) => ({ version: at + 1, epoch: 1, at, ...event }) as TimelineEntry);
  return renderEvents(UNTOLD, entries, { paint: plain, width: 100 }).lines.map((line) =>
    line.slice("   +0.0s  e1   v1   ".length),
  );
};

test("the timeline names what the tool does not get of edited arguments", () => {
  const parsed = { as: "value", json: inline({ euros: 3 }) };
  expect(linesOf(edited({ euros: 3, note: "soon" }), { ...intent, parsed }).at(-1)).toBe(
    'c1 gets, without note {"euros":3}',
  );
  // Nothing was edited, or the tool gets it as it is.
  expect(linesOf({ ...intent, parsed })).toEqual([]);
  expect(linesOf(edited({ euros: 3 }), intent)).toHaveLength(1);
});
