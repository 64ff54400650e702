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
import { fileCode } from "../store/store-errors.ts";

export interface ProcessIdentity {
  readonly pid: number;
  /** Opaque; the same for one process, and different for any other process with its pid. */
  readonly startedAt: string;
}

interface Seen {
  readonly startedAt: string;
  /** Dead, but not yet reaped by its parent. In a container without an init process it may stay so for ever. */
  readonly isZombie: boolean;
}

/** The process that has this pid now, or null. */
export function identityOf(pid: number): ProcessIdentity | null {
  const seen = look(pid);
  return seen === null ? null : { pid, startedAt: seen.startedAt };
}

/** True if exactly that process is alive; a zombie is not. */
export function isAlive(identity: ProcessIdentity): boolean {
  const seen = look(identity.pid);
  return seen !== null && seen.startedAt === identity.startedAt && !seen.isZombie;
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

const look = (pid: number): Seen | null => (process.platform === "linux" ? lookInProc(pid) : lookWithPs(pid));

/** `PID (NAME) STATE ...`, where the name may hold anything; the start time, in ticks since boot, is field 22. */
function lookInProc(pid: number): Seen | null {
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

/** For macOS and the BSDs. Language and time zone are fixed, or the same time would read differently elsewhere. */
function lookWithPs(pid: number): Seen | null {
  try {
    const out = execFileSync("ps", ["-o", "stat=,lstart=", "-p", String(pid)], {
      encoding: "utf8",
      env: { PATH: "/bin:/usr/bin", LC_ALL: "C", TZ: "UTC" },
      stdio: ["ignore", "pipe", "ignore"],
    });
    const [state = "", ...startedAt] = out.trim().split(/\s+/);
    return state === "" ? null : { startedAt: startedAt.join(" "), isZombie: state.startsWith("Z") };
  } catch {
    return null;
  }
}
