/** A conversation whose model's provider refuses it: the page is told, and goes on where the run goes on. */
import { expect, test } from "vitest";
import { addEntries, uiFold } from "../../../src/integrations/chat/ui-messages.ts";
import type { Event } from "../../../src/core/event.ts";
import type { TimelineEntry } from "../../../src/operations/views.ts";
import { AT, textPart, EVENT } from "../../support/states/states-and-events.ts";

const failure = { code: "ModelRefused", message: "HTTP 401: no" };
const REFUSED = EVENT.decided({ kind: "block", mends: "request", failure });

const entry = (event: Event, version: number): TimelineEntry => ({ ...event, version, epoch: 1 });

function chunksOf(...events: readonly Event[]) {
  const fold = uiFold("local-a");
  addEntries(
    fold,
    events.map((event, index) => entry(event, index + 1)),
  );
  return fold.segments.map(({ chunks, isDone, turn }) => ({
    turn,
    isDone,
    types: chunks.map(({ type }) => type),
    chunks,
  }));
}

test("ends its stream with the words of the provider", () => {
  const [segment] = chunksOf(EVENT.started, REFUSED);
  expect(segment).toMatchObject({ isDone: true, types: ["start", "error", "finish"] });
  expect(segment?.chunks.slice(1)).toMatchObject([
    { errorText: "ModelRefused: HTTP 401: no" },
    { finishReason: "error", messageMetadata: { status: "waiting" } },
  ]);
});

test("is one turn with what follows after a resume or another version", () => {
  const upgraded: Event = { kind: "AgentChanged", at: AT, from: "1", to: "2" };
  for (const way of [EVENT.resumed, upgraded]) {
    const segments = chunksOf(EVENT.started, REFUSED, way, EVENT.replied([textPart("Hello")]), EVENT.completed);
    expect(segments.map(({ turn, isDone }) => ({ turn, isDone }))).toEqual([
      { turn: 1, isDone: true },
      { turn: 1, isDone: true },
    ]);
    expect(segments[1]?.types).not.toContain("error");
    expect(segments[1]?.chunks.at(-1)).toMatchObject({
      finishReason: "stop",
      messageMetadata: { status: "completed" },
    });
  }
});

test("is not told of a run that waits for its agent", () => {
  expect(chunksOf(EVENT.started, EVENT.decided({ kind: "hold", to: null }))[0]).toMatchObject({ isDone: false });
});
