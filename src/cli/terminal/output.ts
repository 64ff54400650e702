/**
 * A stream of this process that may not take what is written: its reader has gone (`cairn list | head -1`), or its disk is
 * full.
 *
 * A command that answers says so at its end: its exit code must not claim that the answer was given. A command that works
 * for hours outlives its log: what cannot be written is dropped and counted, and the count is printed once the stream
 * takes text again.
 */
import type { Output } from "./terminal.ts";

/** What was not written. */
export interface LostOutput {
  readonly lines: number;
  /** The code of the system, such as `ENOSPC`; `FULL`: the reader takes nothing. */
  readonly code: string;
}

export interface GuardedOutput extends Output {
  /** From now on what cannot be written is dropped, and `describe` says how much that was. */
  readonly outlive: (describe: (lost: LostOutput) => string) => void;
  /** What was not written, and not said since; null: nothing. */
  readonly lost: () => LostOutput | null;
  /** What was not written since the start, said or not; null: nothing. */
  readonly lostInAll: () => LostOutput | null;
  /** Resolves when everything is written or lost. */
  readonly settled: () => Promise<void>;
}

/** How much may wait in memory for a reader that is slow, or stopped. */
const WAITING_BYTES_MAX = 1024 * 1024;

/** The part of a stream that is used. */
export type Stream = Pick<NodeJS.WriteStream, "on" | "writableLength"> & {
  readonly write: (text: string, then: (error?: Error | null) => void) => unknown;
};

/** `onGone` is called once, when the reader has gone and the output is not outlived. */
export function guardOutput(output: {
  readonly stream: NodeJS.WriteStream;
  /** Writes to the stream, which other code may have been given something else for. */
  readonly write: Stream["write"];
  readonly onGone: () => void;
}): GuardedOutput {
  const { stream, onGone } = output;
  let describe: ((lost: LostOutput) => string) | null = null;
  let [pending, isGone] = [0, false];
  let lost: LostOutput | null = null;
  let inAll: LostOutput | null = null;
  let onSettled: (() => void)[] = [];

  const lose = (code: string, lines: number): void => {
    lost = { lines: (lost?.lines ?? 0) + lines, code };
    inAll = { lines: (inAll?.lines ?? 0) + lines, code };
    if (code !== "EPIPE" || describe !== null || isGone) return;
    isGone = true;
    onGone();
  };
  const send = (text: string, onEnd: (error: unknown) => void): void => {
    pending += 1;
    const settle = (error: unknown): void => {
      pending -= 1;
      onEnd(error);
      if (pending > 0) return;
      for (const call of onSettled) call();
      onSettled = [];
    };
    try {
      output.write(text, (error) => settle(error ?? null));
    } catch (error) {
      settle(error);
    }
  };
  /** Said once, before the first text that can be written again. A loss of this line counts on. */
  const sayLost = (): void => {
    if (describe === null || lost === null) return;
    const before = lost;
    lost = null;
    send(`${describe(before)}\n`, (error) => {
      if (error !== null) lost = { lines: before.lines + (lost?.lines ?? 0), code: codeOf(error) };
    });
  };
  // Without a listener an error would end the process. Each write is told its own.
  stream.on("error", () => {});
  return {
    stream,
    write: (text) => {
      // A command that answers has its reader's whole attention, or none.
      if (isGone) return;
      const lines = linesIn(text);
      if (describe !== null && stream.writableLength > WAITING_BYTES_MAX) return lose("FULL", lines);
      send(text, (error) => {
        if (error !== null) lose(codeOf(error), lines);
        else sayLost();
      });
    },
    outlive: (words) => {
      describe = words;
    },
    lost: () => lost,
    lostInAll: () => inAll,
    settled: () => (pending === 0 ? Promise.resolve() : new Promise((resolve) => void onSettled.push(resolve))),
  };
}

const linesIn = (text: string): number => Math.max(1, text.split("\n").length - 1);

/** A stream that ended after an error has that error's code, or none. */
function codeOf(error: unknown): string {
  const code = typeof error === "object" && error !== null && "code" in error ? String(error.code) : "unknown";
  return code === "ERR_STREAM_DESTROYED" ? "EPIPE" : code;
}

const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota of this user is used up",
  EFBIG: "the file may not become larger",
  EIO: "the disk or terminal reports an error",
  EPIPE: "its reader has gone",
  FULL: "its reader takes nothing",
};

/** Why it was not written, for humans. */
export const reasonOfLoss = ({ code }: LostOutput): string => {
  const why = REASONS[code];
  return why === undefined ? `the system reports ${code}` : `${why} (${code})`;
};
