/** How segments of a transcript are read: a large one in another thread, so that this one parses others meanwhile. */
import { expect, test } from "vitest";
import { cut, encodeSegment } from "../../src/codec/transcript.ts";
import { type Message, text } from "../../src/core/message.ts";
import { SegmentCache, readSegment } from "../../src/history/load.ts";
import { AT, BORN, RUN } from "../support/states/states-and-events.ts";

/** More microtasks than a read has steps. A result of another thread arrives in none of them. */
const MICROTASKS = 100;

/** Reads a segment of a little more than that. True: without another thread. */
async function reading(bytes: number) {
  const parts = [text("z".repeat(bytes))];
  const only: Message = { id: "m1", at: AT, source: "test", role: "user", tokens: 0, parts };
  const [segment] = cut([only], bytes).segments;
  if (segment === undefined) throw new Error("the message is no segment");
  const objects = { get: async () => encodeSegment(segment) };
  const from = { objects, row: { run: RUN, born: BORN }, cache: new SegmentCache() };
  let isRead = false;
  const read = readSegment(from as never, segment.ref).finally(() => (isRead = true));
  for (let each = 0; each < MICROTASKS; each += 1) await Promise.resolve();
  const isAtOnce = isRead;
  expect((await read).members).toEqual(segment.members);
  return isAtOnce;
}

test("a segment is decompressed in another thread from 512 KB on", async () => {
  expect(await reading(500 * 1024)).toBe(true);
  expect(await reading(512 * 1024)).toBe(false);
});
