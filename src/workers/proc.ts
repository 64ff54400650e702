/**
 * Reads all processes that this one sees, from `/proc`. Linux has it; on other systems every answer is *unknown*.
 *
 * A process that ends during the look is left out. So is one that another user hides (`hidepid`).
 */
import { readFileSync, readdirSync } from "node:fs";

/** A process, as `/proc/PID/stat` describes it. */
export interface SeenProcess {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** Its own name, such as `node`. Any process may choose its name. */
  readonly name: string;
  /** Dead, and not reaped by its parent. It keeps its process ID. */
  readonly isZombie: boolean;
  /** Each of them takes up one process ID. */
  readonly threads: number;
}

/** The process with that ID; null if there is none that this process sees. */
export function seenProcess(pid: number): SeenProcess | null {
  const stat = textOfFile(`/proc/${pid}/stat`);
  return stat === null ? null : parsedStat(pid, stat);
}

/** `PID (NAME) STATE PARENT GROUP ...`, where the name may hold anything. Field 20 counts the threads. */
export function parsedStat(pid: number, stat: string): SeenProcess {
  const nameEnd = stat.lastIndexOf(")");
  const fields = stat.slice(nameEnd + 2).split(" ");
  const numberAt = (index: number): number => Number(fields[index] ?? 0);
  return {
    pid,
    parent: numberAt(1),
    group: numberAt(2),
    name: stat.slice(stat.indexOf("(") + 1, nameEnd),
    isZombie: fields[0] === "Z" || fields[0] === "X",
    threads: numberAt(17),
  };
}

/** All processes; null where the system has no `/proc`, or one of another process namespace. */
export function seenProcesses(): readonly SeenProcess[] | null {
  if (!isOwnProc()) return null;
  try {
    const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    return pids.flatMap((pid) => seenProcess(Number(pid)) ?? []);
  } catch {
    return null;
  }
}

/** Whether `/proc` shows the processes by the same IDs as system calls do. A namespace without a mount of its own does not. */
const isOwnProc = (): boolean => seenProcess(process.pid) !== null && ownPid() === process.pid;

const ownPid = (): number => Number(textOfFile("/proc/self/stat")?.split(" ")[0]);

/** The text of a small file of the system; null if it cannot be read. */
export function textOfFile(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}
