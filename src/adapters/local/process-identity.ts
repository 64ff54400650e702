/**
 * Identifies processes. The system reuses pids. A supervisor that kills what a dead one left behind must not kill an
 * unrelated process with a reused pid, nor take one for a live supervisor. A pid and the start time of its process
 * identify the process for good.
 *
 * Since processes are known by pid, all processes of a store must run on one machine and see each other's pids (one
 * container).
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { sentenceOf } from "../../codec/value.ts";
import type { ProcessIdentity } from "../../ports/driven-store.ts";
import { fileCode } from "./store/store-errors.ts";

/** What the system says of the process with a pid. */
export interface ProcessSeen {
  readonly startedAt: string;
  /** Dead, but not yet reaped by its parent. In a container without an init process it may stay so for ever. */
  readonly isZombie: boolean;
}

/** The process that has this pid now, or null. */
export function identityOf(pid: number): ProcessIdentity | null {
  const seen = look(pid);
  return seen === null ? null : { pid, startedAt: seen.startedAt };
}

/**
 * That of a process that was just started, or null. A process that cannot be identified, since the system has no room for
 * `ps`, could not be killed later: it is killed.
 */
export function identityOfStarted(
  pid: number,
  { identify = identityOf, kill = killGroup }: Partial<Starting> = {},
): ProcessIdentity | null {
  try {
    return identify(pid);
  } catch {
    kill(pid);
    return null;
  }
}

interface Starting {
  readonly identify: typeof identityOf;
  readonly kill: (pid: number) => void;
}

/** True if exactly that process is alive; a zombie is not. */
export function isAlive(identity: ProcessIdentity): boolean {
  const seen = look(identity.pid);
  return seen !== null && seen.startedAt === identity.startedAt && !seen.isZombie;
}

/** False if the machine has begun anew since that process started, or if this system does not say when it began. */
export const isOfThisBoot = ({ startedAt }: Pick<ProcessIdentity, "startedAt">): boolean => {
  const [boot = ""] = startedAt.split(":", 1);
  return boot !== "" && identityOf(process.pid)?.startedAt.startsWith(`${boot}:`) === true;
};

/** True if exactly that process is dead and keeps its process ID. */
export function isUnreaped(identity: ProcessIdentity): boolean {
  const seen = look(identity.pid);
  return seen !== null && seen.startedAt === identity.startedAt && seen.isZombie;
}

/**
 * Kills this process and everything that it started, and no other process with its pid. It leads its own process group.
 */
export function killIfAlive(identity: ProcessIdentity): void {
  if (!isAlive(identity)) return;
  try {
    process.kill(-identity.pid, "SIGKILL");
  } catch (error) {
    if (isAlive(identity)) throw error;
  }
}

/** Kills what is left of the process group that a child of this process leads, or led until a moment ago. */
export function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The group is gone.
  }
}

const look = (pid: number): ProcessSeen | null => (process.platform === "linux" ? seenInProc(pid) : seenByPs(pid));

/** `PID (NAME) STATE ...`, where the name may hold anything; the start time, in ticks since boot, is field 22. */
function seenInProc(pid: number): ProcessSeen | null {
  const stat = readOrNull(`/proc/${pid}/stat`);
  if (stat === null) return null;
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, ticks] = [fields[0], fields[19]];
  // Ticks restart at every boot, and a store outlives a boot.
  const boot = readOrNull("/proc/sys/kernel/random/boot_id")?.trim() ?? "";
  return { startedAt: `${boot}:${ticks}`, isZombie: state === "Z" || state === "X" };
}

function readOrNull(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    // Any other error, such as too many open files, says nothing about that process.
    if (["ENOENT", "ESRCH"].includes(fileCode(error) ?? "")) return null;
    throw error;
  }
}

/** Runs `ps` with these words and returns what it prints; throws the error of `execFileSync` if it fails. */
export type RunPs = (words: readonly string[]) => string;

/** Language and time zone are fixed, or the same time would read differently in another process. */
const runPs: RunPs = (words) =>
  execFileSync("ps", words, {
    encoding: "utf8",
    env: { PATH: "/bin:/usr/bin", LC_ALL: "C", TZ: "UTC" },
    stdio: ["ignore", "pipe", "ignore"],
  });

/** `STATE Sat Nov 28 22:18:50 2026`. The state is a letter and flags, which change. */
const PS_LINE = /^([A-Z]\S*)\s+([A-Z][a-z]{2})\s+([A-Z][a-z]{2})\s+(\d{1,2})\s+([\d:]{8})\s+(\d{4})$/;

/** For macOS and the BSDs, which have no `/proc`. */
export function seenByPs(pid: number, run: RunPs = runPs): ProcessSeen | null {
  // One `-o` for each column: after the first `=`, some systems take the rest of the word for a heading.
  const words = ["-o", "stat=", "-o", "lstart=", "-p", String(pid)];
  let printed: string;
  try {
    printed = run(words).trim();
  } catch (error) {
    if (saysNone(error)) return null;
    throw unreadable(pid, error);
  }
  if (printed === "") return null;
  const [, state = "", ...startedAt] = PS_LINE.exec(printed) ?? [];
  if (state === "") throw unreadable(pid, new Error(`ps printed ${JSON.stringify(printed.slice(0, 80))}`));
  return { startedAt: startedAt.join(" "), isZombie: state.startsWith("Z") };
}

/** `ps` ends with 1 and prints nothing if there is no such process. */
function saysNone(error: unknown): boolean {
  const { status, stdout } = error as { readonly status?: unknown; readonly stdout?: unknown };
  return status === 1 && typeof stdout === "string" && stdout.trim() === "";
}

/** A failure of `ps` says nothing about the process: a live supervisor taken for a dead one would get a rival. */
const unreadable = (pid: number, cause: unknown): Error =>
  new Error(`cannot tell whether process ${pid} is alive: ${sentenceOf(cause)}`, { cause });
