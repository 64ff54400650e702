/**
 * Waits until the disk has the write-ahead log, for several transactions at once. SQLite waits inside a transaction:
 * the process stands still, and every other process waits for its lock. Here runs of one process share a wait, and the
 * others go on meanwhile.
 *
 * A wait covers every transaction that ended before it began. A log that starts again from its beginning has been
 * written back to the file by then, and SQLite waits for that by itself.
 */
import { closeSync, fdatasync, openSync } from "node:fs";
import { promisify } from "node:util";

export interface LogSync {
  /** Whether other runs of this process write too. A run that is alone waits inside its transaction, which is cheaper. */
  readonly isShared: (run: string) => boolean;
  /** Resolves when the disk has every transaction that has ended. Rejects from the first failure of the disk on. */
  readonly done: () => Promise<void>;
  /**
   * Throws after a failure of the disk. The system may have dropped what it could not write, so nothing may be built on
   * it: this process ends, and its runs are recovered as after a death.
   */
  readonly assert: () => void;
  readonly close: () => void;
}

/** `file`: the log. It exists as long as a connection is open. */
export function logSync(file: string): LogSync {
  let fd: number | null = null;
  let isClosed = false;
  let failure: Error | null = null;
  let writer = "";
  /** The wait that has not begun: it begins when the one before has ended. */
  let next: Promise<void> | null = null;
  let last: Promise<void> | null = null;

  const shut = (): void => {
    if (fd !== null) closeSync(fd);
    fd = null;
  };
  const sync = async (): Promise<void> => {
    if (failure !== null) throw failure;
    try {
      fd ??= openSync(file, "r");
      await promisify(fdatasync)(fd);
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error));
      throw failure;
    } finally {
      last = null;
      if (isClosed) shut();
    }
  };
  const begin = (): Promise<void> => {
    next = null;
    last = sync();
    return last;
  };
  return {
    isShared: (run) => {
      const isOther = writer !== run;
      writer = run;
      return isOther || last !== null || next !== null;
    },
    // In a microtask, so that transactions that end together share the wait.
    done: () => (next ??= (last ?? Promise.resolve()).then(begin, begin)),
    assert: () => {
      if (failure !== null) throw failure;
    },
    close: () => {
      isClosed = true;
      // The descriptor of a wait under way must not go to another file.
      if (last === null) shut();
    },
  };
}
