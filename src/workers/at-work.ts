/**
 * What code of agents a worker process is at, in a file without a name that it shares with its supervisor. A process in a
 * loop can say nothing any more, and one that is gone neither; its supervisor reads here what was announced before.
 */
import { closeSync, openSync, readSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomHex } from "../adapters/local/random.ts";

/** Code that was announced and has not ended. `what`: `tool pay`. */
export interface CodeInProcess {
  readonly run: string;
  readonly what: string;
}

/** The descriptor that a worker process gets, and the variable that names it. */
export const AT_WORK = { fd: 4, variable: "CAIRN_AT_WORK" } as const;

/** Longer lists lose what began first. */
const BYTES = 2_048;

export interface AtWork {
  readonly fd: number;
  /** What was announced last, the newest first. Closes the file. */
  readonly end: () => readonly CodeInProcess[];
}

/** Null: this machine has no room for such a file, and nothing is known of a process that is gone. */
export function openAtWork(): AtWork | null {
  try {
    const file = join(tmpdir(), `cairn-${process.pid}-${randomHex(16)}`);
    const fd = openSync(file, "wx+", 0o600);
    unlinkSync(file);
    let isOpen = true;
    return {
      fd,
      end: () => {
        if (!isOpen) return [];
        isOpen = false;
        try {
          const bytes = Buffer.alloc(BYTES);
          readSync(fd, bytes, 0, BYTES, 0);
          return codeIn(bytes.toString("utf8"));
        } catch {
          return [];
        } finally {
          closeSync(fd);
        }
      },
    };
  } catch {
    return null;
  }
}

const codeIn = (text: string): readonly CodeInProcess[] =>
  text
    .slice(0, Math.max(0, text.indexOf("\0")))
    .split("\n")
    .flatMap((line) => {
      const [run = "", what = ""] = line.split("\t");
      return what === "" ? [] : [{ run, what }];
    });

/** For the worker: writes what is announced into that file. */
export function announceInto(fd: number): (code: CodeInProcess) => () => void {
  const all = new Set<string>();
  const write = (): void => {
    try {
      const bytes = Buffer.alloc(BYTES);
      bytes.write([...all].toReversed().join("\n"), 0, BYTES - 1);
      writeSync(fd, bytes, 0, BYTES, 0);
    } catch {
      // Then nobody hears of it, and the code runs as well.
    }
  };
  let count = 0;
  return ({ run, what }) => {
    count += 1;
    // The number at the end keeps two equal announcements apart.
    const line = `${run}\t${what.replaceAll(/\s+/g, " ").slice(0, 120)}\t${count}`;
    all.add(line);
    write();
    return () => {
      if (all.delete(line)) write();
    };
  };
}

/** How the process ended, and which code of that run was at work in it. */
export function endedAt(how: string, run: string | null, code: readonly CodeInProcess[]): string {
  const own = [...new Set(code.flatMap((each) => (each.run === run ? [each.what] : [])))].slice(0, 3);
  return own.length === 0 ? how : `${how}, while ${own.join(" and ")} ${own.length === 1 ? "was" : "were"} at work`;
}
