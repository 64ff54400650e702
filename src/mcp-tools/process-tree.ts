/**
 * Signals to a process and to those that it has started. A command is often a script, or npx, which starts the server as
 * a process of its own: a signal to the script alone leaves the server behind. A process group would hold both, but then
 * the end of the group of the worker would no longer end the server.
 */
import { type ChildProcess, execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";

/** Where the system does not tell what a process has started, the signal reaches the process alone. */
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
    return process.platform === "linux" ? startedInProc(pid) : startedIn(runPs(), pid);
  } catch {
    return [];
  }
}

function startedInProc(pid: number): readonly number[] {
  const threads = readdirSync(`/proc/${pid}/task`);
  const children = threads.flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").split(" ").filter(Boolean).map(Number),
  );
  return children.flatMap((each) => [each].concat(startedBy(each)));
}

/** All processes of the machine, for macOS and the BSDs: a line `PID PARENT` each. */
const runPs = (): string =>
  execFileSync("ps", ["-A", "-o", "pid=", "-o", "ppid="], {
    encoding: "utf8",
    env: { PATH: "/bin:/usr/bin", LC_ALL: "C" },
    stdio: ["ignore", "pipe", "ignore"],
    timeout: PS_MS,
  });

/** A slow `ps` must not hold up the calls of other runs. */
const PS_MS = 2_000;

/** The processes that this one has started, and those that they have started, by the lines of `ps`. */
export function startedIn(lines: string, pid: number): readonly number[] {
  const children = new Map<number, number[]>();
  for (const line of lines.split("\n")) {
    const [each, parent] = line.trim().split(/\s+/).map(Number);
    if (each !== undefined && parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), each]);
  }
  const found = new Set(children.get(pid));
  for (const each of found) for (const child of children.get(each) ?? []) found.add(child);
  return [...found];
}
