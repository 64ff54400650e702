/** What one reader of a UI message stream gets while a model speaks, and after its process died. */
import { describe, expect, it } from "vitest";
import { UiReader } from "../../../src/integrations/chat/ui-live.ts";
import { IDLE_CHUNK, LIVE_CHUNKS, type UiChunk, replyChunks } from "../../../src/integrations/chat/ui-chunks.ts";
import { assistantMessage } from "../../../src/integrations/chat/ui-history.ts";

const START: UiChunk = { type: "start", messageId: "turn-1" };
const FINISH: UiChunk = { type: "finish", finishReason: "stop" };
const REPLY = replyChunks(
  { parts: [{ kind: "text", text: "the whole reply" }] },
  { run: "local-x", version: 3, calls: [] },
);
const COMMITTED: readonly UiChunk[] = [START, ...REPLY, { type: "finish-step" }, FINISH];
const OPEN = { base: 1, hasStep: false };

const delta = (text: string, epoch = 1, seq = 1) => ({
  ...{ epoch, version: 2, call: 1, seq, at: 0 },
  parts: [{ kind: "text" as const, index: 0, text }],
});
const said = (...texts: readonly string[]) => ({ reset: null, deltas: texts.map((text) => delta(text)) });
const TAKEOVER = { epoch: 1, version: 2, call: 1, why: "takeover" } as const;

const textOf = (chunks: readonly UiChunk[]): string =>
  assistantMessage(chunks)
    .parts.flatMap((part) => (part.type === "text" ? [String(part["text"])] : []))
    .join("|");

/** A reader that has got everything so far. */
function reading() {
  const reader = new UiReader(0);
  const got = [...reader.committed({ chunks: [START], isDone: false })];
  return { reader, got };
}

describe("a reader of a UI message stream", () => {
  it("sees what the model says, and then the committed reply at the same index as every other reader", () => {
    const { reader, got } = reading();
    got.push(...reader.live(said("the ", "whole"), OPEN));
    expect(textOf(got)).toBe("the whole");
    got.push(...reader.committed({ chunks: [...COMMITTED], isDone: true }));
    expect(got).toHaveLength(COMMITTED.length);
    expect(got.slice(1 + 1 + LIVE_CHUNKS)).toEqual(COMMITTED.slice(1 + 1 + LIVE_CHUNKS));
    expect(textOf(got)).toBe("the whole reply");
  });

  it("drops what a dead call said as soon as another invocation goes on", () => {
    const { reader, got } = reading();
    got.push(...reader.live(said("lost words"), OPEN));
    got.push(...reader.live({ reset: TAKEOVER, deltas: [] }, OPEN));
    expect(textOf(got)).toBe("");
    got.push(...reader.live({ reset: null, deltas: [delta("new words", 2)] }, OPEN));
    expect(textOf(got)).toBe("new words");
  });

  it("drops what a reader before the reconnect was shown of the open step", () => {
    const { reader: before, got } = reading();
    got.push(...before.live(said("half a re"), OPEN));
    const reader = new UiReader(got.length);
    got.push(...reader.committed({ chunks: [START], isDone: false }), ...reader.live(said("half a reply"), OPEN));
    expect(textOf(got)).toBe("half a reply");
    got.push(...reader.committed({ chunks: [...COMMITTED], isDone: true }));
    expect({ got: got.length, text: textOf(got) }).toEqual({ got: COMMITTED.length, text: "the whole reply" });
  });

  it("drops what was said of a reply that never came, because the run ended", () => {
    const ended = [START, { type: "error", errorText: "Expired: late" }, FINISH];
    for (const isNew of [false, true]) {
      const { reader: before, got } = reading();
      got.push(...before.live(said("lost words"), OPEN));
      const reader = isNew ? new UiReader(got.length) : before;
      got.push(...reader.committed({ chunks: ended, isDone: true }));
      expect(textOf(got)).toBe("");
      expect(got.at(-1)).toEqual(FINISH);
    }
  });

  it("never uses more than the free chunks, however long the model speaks and however often its process dies", () => {
    const { reader, got } = reading();
    for (let epoch = 1; epoch < 60; epoch += 1) {
      const reset = epoch % 7 === 0 ? TAKEOVER : null;
      got.push(...reader.live({ reset, deltas: [delta("x".repeat(epoch * 5), epoch)] }, OPEN));
    }
    expect(got.length).toBeLessThanOrEqual(2 + LIVE_CHUNKS);
    got.push(...reader.committed({ chunks: [...COMMITTED], isDone: true }));
    expect({ got: got.length, text: textOf(got) }).toEqual({ got: COMMITTED.length, text: "the whole reply" });
  });

  it("begins a later step behind the end of the one before", () => {
    const first = [START, ...REPLY];
    const reader = new UiReader(0);
    const got = [...reader.committed({ chunks: first, isDone: false })];
    got.push(...reader.live(said("more"), { base: first.length, hasStep: true }));
    expect(got.slice(first.length, first.length + 2)).toEqual([{ type: "finish-step" }, { type: "start-step" }]);
    const all = [...first, { type: "finish-step" }, ...REPLY, { type: "finish-step" }, FINISH];
    got.push(...reader.committed({ chunks: all, isDone: true }));
    expect({ got: got.length, text: textOf(got) }).toEqual({
      got: all.length,
      text: "the whole reply|the whole reply",
    });
  });

  it("fills the free chunks with ones that change nothing", () => {
    expect(REPLY.filter((chunk) => chunk === IDLE_CHUNK)).toHaveLength(LIVE_CHUNKS);
    expect(textOf(COMMITTED)).toBe("the whole reply");
  });
});
