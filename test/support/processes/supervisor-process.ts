/**
 * Real supervisors as separate processes, on a store in a temporary folder. Everything ends with its test, or with
 * another owner.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as elapse } from "node:timers/promises";
import { expect, onTestFinished } from "vitest";
import { type Store, openStore } from "../../../src/adapters/local/store/database.ts";
import { withKernel } from "../../../src/features/compose.ts";
import { localWorld } from "../../../src/adapters/local/world.ts";
import { limitsFor } from "../../../src/protocol/limits.ts";
import type { World } from "../../../src/ports/world.ts";
import { LIMITS } from "../gate/limits.ts";
import { MissingEvent } from "../gate/safety.ts";
import { MAIN, PROGRAM_ENV } from "./program.ts";

/** Registers a callback for the end of the test. */
type AtEnd = (end: () => void | Promise<void>) => void;

export interface ProcessHarness {
  readonly dir: string;
  readonly store: Store;
  readonly atEnd: AtEnd;
  /** Additional environment variables of a supervisor's processes. */
  readonly env: Readonly<Record<string, string>>;
  /** The world of this process on the same store. */
  readonly world: World;
}

/** Code outside of a test passes its own `atEnd`. */
export function createProcessHarness(
  env: Readonly<Record<string, string>> = {},
  atEnd: AtEnd = onTestFinished,
): ProcessHarness {
  const dir = mkdtempSync(join(tmpdir(), "cairn-process-"));
  const store = openStore({ dir, create: true });
  atEnd(() => {
    store.close();
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  });
  const limits = limitsFor(3_000);
  const world = withKernel(localWorld({ store, limits, telemetry: { record: () => undefined } }));
  return { dir, store, atEnd, world, env: { CAIRN_BEAT_SECONDS: "3", TRAVEL_PACE: "0", ...env } };
}

/** The parts of a supervisor's `--json` output that tests read. */
interface SupervisorLine {
  readonly kind: string;
  readonly pid?: number;
  readonly state?: string;
  readonly how?: string;
  readonly why?: string;
}

export interface SupervisorProcess {
  readonly child: ChildProcess;
  /** The JSON lines that it printed. */
  readonly events: readonly SupervisorLine[];
  kill(signal: NodeJS.Signals): Promise<void>;
}

export function startSupervisorProcess(
  of: ProcessHarness,
  options: { env?: Record<string, string>; workers?: number; beatsPerWorker?: number } = {},
): SupervisorProcess {
  const { env = {}, workers = 2, beatsPerWorker = 16 } = options;
  const sizes = ["--workers", String(workers), "--beats-per-worker", String(beatsPerWorker)];
  const child = spawn(process.execPath, [MAIN, "work", "--store", of.dir, "--json", ...sizes], {
    env: { ...process.env, ...PROGRAM_ENV, ...of.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const events: SupervisorLine[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => events.push(JSON.parse(line) as SupervisorLine));
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const kill = (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    return exited;
  };
  of.atEnd(() => kill("SIGKILL"));
  return { child, events, kill };
}

/** Polls until the condition holds; for code outside of tests, where `expect.poll` is not available. */
export async function eventually(
  what: string,
  holds: () => boolean | Promise<boolean>,
  withinMs: number = LIMITS.eventMs,
): Promise<void> {
  const begun = performance.now();
  while (!(await holds())) {
    if (performance.now() - begun > withinMs)
      throw new MissingEvent(`after ${withinMs} ms it is still not so that ${what}`);
    await elapse(5);
  }
}

/** The processes that pause at a fault point, by their run (`""` for any run). */
export function pausedProcesses(dir: string): ReadonlyMap<string, number> {
  const marks = readdirSync(dir).filter((name) => name === "held" || name.startsWith("held."));
  return new Map(
    marks.map((name) => {
      const { pid } = JSON.parse(readFileSync(join(dir, name), "utf8")) as { pid: number };
      return [name.slice("held.".length), pid];
    }),
  );
}

/** Kills the process, and says whether it was there. */
export const killIfThere = (pid: number): boolean => signalIfThere(pid, "SIGKILL");

/** Sends the signal to the process, and says whether it was there. */
export function signalIfThere(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

/**
 * Kills the processes that pause at the fault points of runs that are not in `killed`, and adds these runs to it. One
 * that paused until its deadline has been killed there by its supervisor.
 */
export function killPausedProcesses(dir: string, killed: Set<string>): void {
  for (const [run, pid] of pausedProcesses(dir)) {
    if (killed.has(run)) continue;
    killed.add(run);
    killIfThere(pid);
  }
}

/** Waits until a process pauses at its fault point, and kills it. */
export async function killPausedProcess({ dir }: ProcessHarness): Promise<void> {
  await expect.poll(() => existsSync(join(dir, "held")), { interval: 10 }).toBe(true);
  process.kill(pausedProcesses(dir).get("") ?? 0, "SIGKILL");
}

const statusOf = async ({ world }: ProcessHarness, run: string): Promise<string | undefined> =>
  (await world.table.read(run, Date.now()))?.status;

export async function waitForStatus(of: ProcessHarness, run: string, status: string): Promise<void> {
  await expect.poll(() => statusOf(of, run), { interval: 20 }).toBe(status);
}
