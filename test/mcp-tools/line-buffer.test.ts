/** The lines of a server over standard output: whole ones whatever the chunks are, at a cost that grows with their length. */
import fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { LineBuffer } from "../../src/mcp-tools/line-buffer.ts";

const LINE_FEED = Buffer.from("\n");

/** What a message of that size costs, per byte of it: bytes that are searched for its end, and bytes of memory. */
function costOf(bytes: number, chunkBytes: number): { readonly searched: number; readonly allocated: number } {
  const buffer = new LineBuffer();
  const chunk = Buffer.alloc(chunkBytes, "x");
  const [search, allocate] = [vi.spyOn(Buffer.prototype, "indexOf"), vi.spyOn(Buffer, "allocUnsafe")];
  onTestFinished(() => [search, allocate].forEach((spy) => spy.mockRestore()));
  let [searched, allocated, lines] = [0, 0, 0];
  for (let sent = 0; sent < bytes; sent += chunkBytes) {
    const isLast = sent + chunkBytes >= bytes;
    lines += buffer.append(isLast ? LINE_FEED : chunk).lines.length;
    // Read each time, since a spy keeps the arguments of all its calls.
    for (const each of search.mock.contexts) searched += (each as Buffer).length;
    for (const [size] of allocate.mock.calls) allocated += size;
    [search, allocate].forEach((spy) => spy.mockClear());
  }
  expect(lines).toBe(1);
  return { searched: searched / bytes, allocated: allocated / bytes };
}

describe.each([16, 4_096, 65_536])("a message that comes in chunks of %i bytes", (chunkBytes) => {
  test.each([65_536 * 2, 65_536 * 16, 65_536 * 128])("costs a fixed amount per byte when it has %i", (bytes) => {
    const { searched, allocated } = costOf(chunkBytes === 16 ? bytes / 64 : bytes, chunkBytes);
    expect(searched).toBeLessThanOrEqual(1);
    // Twice the memory that is needed, and as much again for all the smaller ones before.
    expect(allocated).toBeLessThanOrEqual(4);
  });
});

test("gives the same lines however their bytes are cut", () => {
  const line = fc
    .string({ unit: fc.constantFrom("a", "é", "€", "🙂", "\r", "{") })
    .filter((each) => !each.endsWith("\r"));
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.nat(40)), fc.constantFrom("\n", "\r\n"), (lines, cuts, end) => {
      const bytes = Buffer.from(lines.map((each) => each + end).join(""));
      const buffer = new LineBuffer();
      const found: string[] = [];
      let begin = 0;
      for (const length of [...cuts, bytes.length]) {
        const { lines: ended, isTooLong } = buffer.append(bytes.subarray(begin, begin + length));
        found.push(...ended);
        begin += length;
        expect(isTooLong).toBe(false);
      }
      expect(found).toEqual(lines);
    }),
  );
});

describe("a line", () => {
  const MAX = 10;
  const append = (buffer: LineBuffer, text: string) => buffer.append(Buffer.from(text));

  test("may be as long as the limit, also beside other lines", () => {
    const text = "x".repeat(MAX);
    const buffer = new LineBuffer(MAX);
    expect(append(buffer, `${text}\n${text}\n${text}`)).toEqual({ lines: [text, text], isTooLong: false });
    expect(append(buffer, "\n")).toEqual({ lines: [text], isTooLong: false });
  });

  test.each(["", "\n"])("that is longer is told before its end, after the lines before it (%j)", (end) => {
    const text = "x".repeat(MAX);
    expect(append(new LineBuffer(MAX), `a\n${text}x${end}`)).toEqual({ lines: ["a"], isTooLong: true });
    const buffer = new LineBuffer(MAX);
    append(buffer, text);
    expect(append(buffer, `x${end}`)).toEqual({ lines: [], isTooLong: true });
  });
});
