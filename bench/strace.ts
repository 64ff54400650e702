/** The system calls of a process, where the machine has strace. */
import { spawnSync } from "node:child_process";

/** The options that every trace has: all threads, names of files, no contents. */
const OPTIONS = ["-f", "-qq", "-y", "-s", "0"];

/** Whether this machine lets a process be traced. */
export const canTrace = spawnSync("strace", [...OPTIONS, "-o", "/dev/null", "true"]).status === 0;

/** The words in front of a command whose calls go to `file`; `calls` are names with commas. */
export const strace = (file: string, calls: string): readonly string[] => [
  "strace",
  ...OPTIONS,
  ...["-e", `trace=${calls}`, "-o", file],
];
