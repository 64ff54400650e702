/** The digest of what a summary replaces, and what a process does for it. */
import { expect, test } from "vitest";
import type { Message } from "../../../src/core/message.ts";
import { canonical, sha256 } from "../../../src/codec/canonical.ts";
import { digestOfTranscript } from "../../../src/features/compaction/engine.ts";

/** A message that counts how often its parts are read. */
function counted(id: string, reads: { count: number }): Message {
  const parts = [{ kind: "text", text: `words of ${id}` }] as Message["parts"];
  const message = { id, role: "user", source: "user:a", parts } as unknown as Message;
  return Object.defineProperty({ ...message }, "parts", {
    enumerable: true,
    get: () => {
      reads.count += 1;
      return parts;
    },
  });
}

test("each message is made canonical once, however often a longer transcript is hashed", () => {
  const reads = { count: 0 };
  const messages = Array.from({ length: 100 }, (_, index) => counted(`m${index}`, reads));
  const first = digestOfTranscript(messages.slice(0, 99));
  const once = reads.count;
  const second = digestOfTranscript(messages);
  expect(reads.count - once).toBeLessThanOrEqual(once / 99);
  expect(digestOfTranscript(messages.slice(0, 99))).toBe(first);
  expect(second).toBe(sha256(messages.map((message) => sha256(canonical(message))).join("")));
});

test("a changed message, another order and a missing message change it", () => {
  const [one, two] = ["m1", "m2"].map((id) => counted(id, { count: 0 })) as [Message, Message];
  const whole = digestOfTranscript([one, two]);
  expect(digestOfTranscript([two, one])).not.toBe(whole);
  expect(digestOfTranscript([one])).not.toBe(whole);
  expect(digestOfTranscript([one, { ...two, source: "user:b" }])).not.toBe(whole);
});
