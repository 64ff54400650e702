/** Writing to a file on a disk that is nearly full: the system takes a part of a text, and says nothing. */
import { expect, test } from "vitest";
import { wholeWrites } from "../../src/cli/terminal/whole-writes.ts";

/** A disk with some room, which takes a few bytes at a time. */
function disk(bytes: number, atOnce = bytes) {
  const state = { left: bytes, text: "" };
  const write = wholeWrites(1, (_, all, from) => {
    const count = Math.min(all.byteLength - from, state.left, atOnce);
    if (count === 0) throw Object.assign(new Error("full"), { code: "ENOSPC" });
    state.text += Buffer.from(all.subarray(from, from + count)).toString("latin1");
    state.left -= count;
    return count;
  });
  const codeOf = (text: string): string | null => {
    let code: string | null = "unknown";
    write(text, (error) => (code = error == null ? null : ((error as NodeJS.ErrnoException).code ?? "")));
    return code;
  };
  return { state, codeOf };
}

test("a text that is taken in parts is whole", () => {
  const { state, codeOf } = disk(100, 3);
  expect({ code: codeOf("one line\n"), text: state.text }).toEqual({ code: null, text: "one line\n" });
});

test("a text of which a part was written is lost, not written", () => {
  const { state, codeOf } = disk(4);
  expect({ code: codeOf("one line\n"), text: state.text }).toEqual({ code: "ENOSPC", text: "one " });
});

test("no line is joined to the beginning of one that was cut", () => {
  const { state, codeOf } = disk(4);
  expect([codeOf("one line\n"), codeOf("two\n")]).toEqual(["ENOSPC", "ENOSPC"]);
  state.left = 1;
  expect(codeOf("three\n")).toBe("ENOSPC");
  state.left = 100;
  expect([codeOf("four\n"), codeOf("five\n")]).toEqual([null, null]);
  expect(state.text).toBe("one \nfour\nfive\n");
});

test("a file that takes nothing without a reason ends no command in a loop", () => {
  let code: string | undefined;
  wholeWrites(1, () => 0)("one\n", (error) => (code = (error as NodeJS.ErrnoException).code));
  expect(code).toBe("EIO");
});
