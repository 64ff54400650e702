/**
 * Writes to a file. Node writes a text once and hears nothing of what the system did not take of it, as on a disk that is
 * nearly full: a document would end in its middle, and the command with 0.
 */
import { fstatSync, writeSync } from "node:fs";
import type { Stream } from "./output.ts";

/** Writes some of the bytes from an index on, and returns how many. */
type WriteSome = (fd: number, bytes: Uint8Array, from: number) => number;

const LINE_END = 10;

/** Writes whole texts. What follows a text that was cut begins with a line of its own. */
export function wholeWrites(fd: number, writeSome: WriteSome = writeSync): Stream["write"] {
  let isCut = false;
  return (text, then) => {
    const bytes = Buffer.from(isCut ? `\n${text}` : text);
    let done = 0;
    try {
      while (done < bytes.byteLength) done += some(writeSome(fd, bytes, done));
      isCut = false;
    } catch (error) {
      if (done > 0) isCut = bytes[done - 1] !== LINE_END;
      return then(error as Error);
    }
    return then(null);
  };
}

function some(count: number): number {
  if (count > 0) return count;
  throw Object.assign(new Error("the file takes nothing"), { code: "EIO" });
}

export function isRegularFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile();
  } catch {
    return false;
  }
}
