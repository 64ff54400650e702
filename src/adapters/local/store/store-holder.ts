/**
 * Which process holds the write lock of a store. SQLite says only that the store is busy. Linux lists each lock with its
 * process, so there the message can name it: a client that was stopped in its commit holds up every run of the store.
 */
import { readFileSync, statSync } from "node:fs";

/** What the system says; `read` returns the text of a file, and throws where there is none. */
export interface HolderSource {
  readonly read: (path: string) => string;
  /** The inode of a file, or null. */
  readonly inode: (path: string) => number | null;
  readonly self: number;
}

const MACHINE: HolderSource = {
  read: (path) => readFileSync(path, "utf8"),
  inode: (path) => statSync(path, { throwIfNoEntry: false })?.ino ?? null,
  self: process.pid,
};

export interface StoreHolder {
  readonly pid: number;
  /** The name of its program, as the system shows it. */
  readonly program: string;
  readonly isStopped: boolean;
}

/** The byte of the shared memory file `-shm` that a writer locks in WAL mode. */
const WRITE_BYTE = 120;

/** Null where the system does not tell it, or where nobody holds the lock any more. */
export function storeHolder(dir: string, { read, inode, self }: HolderSource = MACHINE): StoreHolder | null {
  try {
    const file = inode(`${dir}/cairn.sqlite-shm`);
    const pids = read("/proc/locks")
      .split("\n")
      .flatMap((line) => {
        const [, pid, ino, from, to] = HELD.exec(line) ?? [];
        const isWriter = Number(ino) === file && Number(from) <= WRITE_BYTE && Number(to) >= WRITE_BYTE;
        return isWriter ? [Number(pid)] : [];
      });
    const [pid] = pids;
    // Pid 0 is a process that this one cannot see.
    if (pid === undefined || pid === 0 || pid === self || pids.length > 1) return null;
    const program = read(`/proc/${pid}/comm`)
      .trim()
      .replaceAll(/[^\w.: -]/g, "?");
    const stat = read(`/proc/${pid}/stat`);
    const state = stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3);
    return { pid, program, isStopped: state === "T" || state === "t" };
  } catch {
    return null;
  }
}

/** `7: POSIX  ADVISORY  WRITE 4242 fe:00:10314772 120 120`; a lock that is waited for has `->`. */
const HELD = /^\d+: POSIX +ADVISORY +WRITE +(\d+) \w+:\w+:(\d+) (\d+) (\d+)$/;
