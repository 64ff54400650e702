/**
 * Signals to a process and to those that it has started. A command is often a script, or npx, which starts the server as
 * a process of its own: a signal to the script alone leaves the server behind. A process group would hold both, but then
 * the end of the group of the worker would no longer end the server.
 */
import type { ChildProcess } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";

/** Only Linux tells the processes that a process has started; elsewhere the signal reaches the process alone. */
export function signalTree(child: ChildProcess, signal: "SIGTERM" | "SIGKILL"): void {
  // The pid of a process that has ended may be that of another one.
  if (child.pid === undefined || hasExited(child)) return;
  const started = startedBy(child.pid);
  child.kill(signal);
  for (const pid of started) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended.
    }
  }
}

export const hasExited = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null;

function startedBy(pid: number): readonly number[] {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const children = threads.flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").split(" ").filter(Boolean).map(Number),
    );
    return children.flatMap((each) => [each, ...startedBy(each)]);
  } catch {
    return [];
  }
}
