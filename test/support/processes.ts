/** Real supervisors as processes of their own, on a store in a temporary folder; everything ends with its test. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished } from "vitest";
import { openStore } from "../../src/adapters/local/database.ts";
import { localWorld } from "../../src/adapters/local/world.ts";
import { limitsFor } from "../../src/core/limits.ts";
import type { World } from "../../src/ports/world.ts";

const CLI = join(import.meta.dirname, "..", "..", "src", "cli", "main.ts");

export interface Workshop {
  readonly dir: string;
  /** What the processes of a supervisor get besides this process's own environment. */
  readonly env: Readonly<Record<string, string>>;
  /** This process's own view of the store. */
  readonly world: World;
}

export function workshop(env: Readonly<Record<string, string>> = {}): Workshop {
  const dir = mkdtempSync(join(tmpdir(), "cairn-process-"));
  const store = openStore({ dir, create: true });
  onTestFinished(() => {
    store.close();
    rmSync(dir, { recursive: true, force: true });
  });
  const limits = limitsFor(3_000);
  const world = localWorld({ store, limits, telemetry: { record: () => undefined } });
  return { dir, world, env: { CAIRN_BEAT_SECONDS: "3", TRAVEL_PACE: "0", ...env } };
}

export interface SupervisorProcess {
  readonly child: ChildProcess;
  /** The JSON lines that it printed. */
  readonly events: readonly { readonly kind?: string; readonly pid?: number }[];
  kill(signal: NodeJS.Signals): Promise<void>;
}

export function supervise(
  of: Workshop,
  options: { env?: Record<string, string>; workers?: number } = {},
): SupervisorProcess {
  const { env = {}, workers = 2 } = options;
  const child = spawn(process.execPath, [CLI, "work", "--store", of.dir, "--json", "--workers", String(workers)], {
    env: { ...process.env, ...of.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const events: { kind?: string; pid?: number }[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => events.push(JSON.parse(line) as { kind?: string }));
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const kill = (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    return exited;
  };
  onTestFinished(() => kill("SIGKILL"));
  return { child, events, kill };
}

/** The processes that are held at an edge, by the run that they hold (`""` for any run). */
export function heldIn(dir: string): ReadonlyMap<string, number> {
  const marks = readdirSync(dir).filter((name) => name === "held" || name.startsWith("held."));
  return new Map(
    marks.map((name) => {
      const { pid } = JSON.parse(readFileSync(join(dir, name), "utf8")) as { pid: number };
      return [name.slice("held.".length), pid];
    }),
  );
}

/** Waits for the mark of a process that is held, and kills that process. */
export async function killHeld({ dir }: Workshop): Promise<void> {
  await expect.poll(() => existsSync(join(dir, "held")), { timeout: 15_000, interval: 10 }).toBe(true);
  process.kill(heldIn(dir).get("") ?? 0, "SIGKILL");
}

const statusOf = async ({ world }: Workshop, run: string): Promise<string | undefined> =>
  (await world.table.read(run, Date.now()))?.status;

export async function untilStatus(of: Workshop, run: string, status: string): Promise<void> {
  await expect.poll(() => statusOf(of, run), { timeout: 20_000, interval: 20 }).toBe(status);
}
