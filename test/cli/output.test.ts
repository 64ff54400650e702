/** Streams that do not take what is written, as commands see them. */
import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { lostLines, outputLost, sayLost } from "../../src/cli/process.ts";
import { guardOutput } from "../../src/cli/terminal/output.ts";

/** A stream that fails as the test says, and calls back in the next turn or not at all. */
function stream() {
  const written: string[] = [];
  const state = { fails: null as string | null, throws: false, waits: false, writableLength: 0, gone: 0 };
  const base = new EventEmitter();
  const emitter = Object.defineProperty(base, "writableLength", { get: () => state.writableLength });
  const held: (() => void)[] = [];
  const output = guardOutput({
    stream: emitter as unknown as NodeJS.WriteStream,
    write: (text, then) => {
      const error = state.fails === null ? null : Object.assign(new Error(state.fails), { code: state.fails });
      if (error !== null && state.throws) throw error;
      if (error === null) written.push(text);
      const end = (): void => {
        then(error);
        if (error !== null) emitter.emit("error", error);
      };
      if (state.waits) held.push(end);
      else queueMicrotask(end);
    },
    onGone: () => (state.gone += 1),
  });
  return { output, state, written, release: () => held.splice(0).forEach((end) => end()) };
}

const describe = (lost: { readonly lines: number; readonly code: string }): string => `${lost.lines} ${lost.code}`;

test.each([false, true])(
  "a command that answers knows what was lost, and how many lines: thrown %s",
  async (throws) => {
    const { output, state } = stream();
    Object.assign(state, { fails: "ENOSPC", throws });
    output.write("one\ntwo\n");
    output.write("three\n");
    await output.settled();
    expect({ lost: output.lost(), gone: state.gone }).toEqual({ lost: { lines: 3, code: "ENOSPC" }, gone: 0 });
  },
);

test("a reader that has gone stops a command that answers, once, and gets no more", async () => {
  const { output, state, written } = stream();
  state.fails = "EPIPE";
  output.write("one\n");
  await output.settled();
  state.fails = null;
  output.write("two\n");
  await output.settled();
  expect({ gone: state.gone, written }).toEqual({ gone: 1, written: [] });
});

test("a command that outlives its output says how many lines are missing, once text can be written again", async () => {
  const { output, state, written } = stream();
  output.outlive(describe);
  for (const fails of ["EPIPE", "ENOSPC", null, null]) {
    state.fails = fails;
    output.write(`${fails}\n`);
    await output.settled();
  }
  expect({ gone: state.gone, written, lost: output.lost() }).toEqual({
    gone: 0,
    written: ["null\n", "2 ENOSPC\n", "null\n"],
    lost: null,
  });
  // What was said once is still known to those who cannot read it.
  expect(output.lostInAll()).toEqual({ lines: 2, code: "ENOSPC" });
});

test("a count that cannot be written is kept", async () => {
  const { output, state, written, release } = stream();
  output.outlive(describe);
  Object.assign(state, { fails: "ENOSPC", waits: true });
  output.write("a\n");
  release();
  state.fails = null;
  output.write("b\n");
  state.fails = "ENOSPC";
  // The text is written, and its count fails.
  release();
  release();
  await output.settled();
  expect({ written, lost: output.lost() }).toEqual({ written: ["b\n"], lost: { lines: 1, code: "ENOSPC" } });
});

test("a reader that takes nothing costs a bounded memory", async () => {
  const { output, state, written } = stream();
  output.outlive(describe);
  state.writableLength = 2 * 1024 * 1024;
  output.write("a\n");
  expect({ written, lost: output.lost() }).toEqual({ written: [], lost: { lines: 1, code: "FULL" } });
  state.writableLength = 0;
  output.write("b\n");
  await output.settled();
  expect(written).toEqual(["b\n", "1 FULL\n"]);
});

test("an answer waits for a slow reader, however much it is", async () => {
  const { output, state, written, release } = stream();
  Object.assign(state, { waits: true, writableLength: 2 * 1024 * 1024 });
  output.write("a\n");
  let isSettled = false;
  void output.settled().then(() => (isSettled = true));
  await Promise.resolve();
  expect({ written, isSettled }).toEqual({ written: ["a\n"], isSettled: false });
  release();
  await output.settled();
  expect(output.lost()).toBeNull();
});

test("what all streams of a process have lost is one count, or nothing", () => {
  const lost = { lines: 2, code: "ENOSPC" };
  expect(lostLines([null, null])).toBeNull();
  expect(lostLines([lost, { lines: 3, code: "EPIPE" }])).toEqual({ lines: 5, why: "the disk is full (ENOSPC)" });
  expect(lostLines([null, lost])).toEqual({ lines: 2, why: "the disk is full (ENOSPC)" });
});

test("what is said names the reason, and for a program the code", () => {
  expect(outputLost({ lines: 1, code: "ENOSPC" }).trouble).toMatchObject({
    ...{ code: "OutputLost", exit: 5, next: "df -h" },
    what: "the output of this command could not be written: the disk is full (ENOSPC)",
  });
  expect(sayLost({ lines: 1, code: "EPIPE" }, false)).toBe(
    "1 line of output could not be written: its reader has gone (EPIPE)",
  );
  expect(sayLost({ lines: 7, code: "EBADF" }, false)).toBe(
    "7 lines of output could not be written: the system reports EBADF",
  );
  expect(JSON.parse(sayLost({ lines: 7, code: "FULL" }, true))).toMatchObject({
    kind: "outputLost",
    lines: 7,
    code: "FULL",
  });
});
