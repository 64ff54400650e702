/** Segments of the transcript: equal prefixes are stored once, and the manifest stays short. */
import { describe, expect, test } from "vitest";
import { canonical, compress } from "../../src/codec/canonical.ts";
import { type Cut, type Segment, cut as cutInto, decodeSegment, encodeSegment } from "../../src/codec/transcript.ts";
import { SIZES } from "../../src/codec/limits.ts";
import { FEW_BYTES } from "../../src/ports/stored-sizes.ts";
import { type Message, text } from "../../src/core/message.ts";

/** Messages of one kilobyte each, so that a chunk has sixteen. */
const CHUNK = 16;

const cut = (messages: readonly Message[]): Cut => cutInto(messages, FEW_BYTES.segmentBytes);

function transcript(length: number, word = "x"): Message[] {
  return Array.from({ length }, (_, index) => {
    const message = { id: `m${index + 1}`, at: 1_000_000 + index, source: "test", role: "user", tokens: 0 } as const;
    const bare = Buffer.byteLength(canonical({ ...message, parts: [text("")] }));
    return { ...message, parts: [text(word.repeat(1_024 - bare))] };
  });
}

const digests = (segments: readonly Segment[]): string[] => segments.map(({ ref }) => ref.sha256);

describe("cutting", () => {
  test("ends a chunk with the message that fills it", () => {
    expect(cut(transcript(CHUNK - 1)).segments).toEqual([]);
    const { segments, tail } = cut(transcript(CHUNK + 1));
    expect(segments.map(({ ref }) => ref.count)).toEqual([CHUNK]);
    expect(tail.map(({ id }) => id)).toEqual(["m17"]);
    expect(cut([])).toEqual({ segments: [], tail: [] });
  });

  test("measures bytes, not characters", () => {
    expect(cut(transcript(CHUNK, "ä")).segments).toHaveLength(1);
    const short = transcript(CHUNK, "ä").map((message) => ({ ...message, parts: [text("ä".repeat(100))] }));
    expect(cut(short).segments).toEqual([]);
  });

  test("makes segments from the digits of the chunk count in base `segmentFanIn`, largest first", () => {
    const counts = (chunks: number) => cut(transcript(chunks * CHUNK)).segments.map(({ ref }) => ref.count / CHUNK);
    expect(SIZES.segmentFanIn).toBe(8);
    expect(counts(1)).toEqual([1]);
    expect(counts(7)).toEqual([1, 1, 1, 1, 1, 1, 1]);
    expect(counts(8)).toEqual([8]);
    expect(counts(19)).toEqual([8, 8, 1, 1, 1]);
    expect(counts(64)).toEqual([64]);
    expect(counts(74)).toEqual([64, 8, 1, 1]);
  });

  test("depends only on the messages: equal prefixes give equal segments in every process", () => {
    const messages = transcript(40 * CHUNK);
    const own = digests(cut(messages).segments);
    expect(digests(cut(structuredClone(messages)).segments)).toEqual(own);
    expect(digests(cut([...messages, ...transcript(3)]).segments)).toEqual(own);
    expect(digests(cut(messages.slice(0, 16 * CHUNK)).segments)).toEqual(own.slice(0, 2));
  });

  test("gives another segment for a changed message", () => {
    const messages = transcript(2 * CHUNK);
    const changed = messages.with(3, { ...(messages[3] as Message), at: 1_999_999 });
    expect(digests(cut(changed).segments)[0]).not.toBe(digests(cut(messages).segments)[0]);
    expect(digests(cut(changed).segments)[1]).toBe(digests(cut(messages).segments)[1]);
  });
});

test("a growing transcript costs O(n log n) written bytes, and its manifest has O(log n) entries", () => {
  const messages = transcript(100 * CHUNK);
  const stored = new Map<string, number>();
  let longest = 0;
  for (let length = 0; length <= messages.length; length += 2) {
    const { segments } = cut(messages.slice(0, length));
    longest = Math.max(longest, segments.length);
    for (const { ref } of segments) stored.set(ref.sha256, ref.bytes);
  }
  const raw = messages.length * 1_024;
  const written = [...stored.values()].reduce((sum, bytes) => sum + bytes, 0);
  // Each byte is written at most once per level: in a single chunk, in 8 chunks, in 64 chunks.
  expect(written / raw).toBeGreaterThan(2);
  expect(written / raw).toBeLessThan(3);
  expect(longest).toBeLessThanOrEqual(3 * 7);
});

describe("a segment", () => {
  const segment = cut(transcript(CHUNK)).segments[0] as Segment;
  const unreadable = (why: string) =>
    expect.objectContaining({ name: "Unreadable", message: expect.stringContaining(why) });

  test("reads back as it was written", () => {
    expect(decodeSegment(segment.ref, encodeSegment(segment))).toEqual(segment);
  });

  test("refuses a size that no text can have", () => {
    const beyond = { ...segment.ref, bytes: Number.MAX_SAFE_INTEGER };
    expect(() => decodeSegment(beyond, encodeSegment(segment))).toThrow(unreadable("cannot be decompressed"));
  });

  test("that was read is cached by its messages and not hashed again", () => {
    const read = decodeSegment(segment.ref, encodeSegment(segment));
    expect(cut(read.members).segments[0]).toBe(read);
  });

  test("is refused when its bytes do not match its name", () => {
    const other = cut(transcript(CHUNK, "y")).segments[0] as Segment;
    expect(() => decodeSegment(segment.ref, encodeSegment(other))).toThrow(
      unreadable("does not match the digest in its name"),
    );
    expect(() => decodeSegment(segment.ref, new Uint8Array([1]))).toThrow(unreadable("cannot be decompressed"));
    expect(() => decodeSegment(segment.ref, compress("x".repeat(99_999)))).toThrow(
      unreadable("cannot be decompressed"),
    );
  });

  test("is refused when it has another number of messages than the manifest says", () => {
    const ref = { ...segment.ref, count: CHUNK - 1 };
    expect(() => decodeSegment(ref, encodeSegment(segment))).toThrow(unreadable("another number of messages"));
  });

  test("is refused when its members are not messages", () => {
    const members = [{ id: "m1" }] as unknown as readonly Message[];
    const forged = cut([{ ...(transcript(1)[0] as Message), parts: [text("z".repeat(20_000))] }])
      .segments[0] as Segment;
    expect(() => decodeSegment({ ...forged.ref, bytes: 99 }, encodeSegment({ ...forged, members }))).toThrow(
      "does not match the digest in its name",
    );
  });
});
