/** `cairn serve` on the store of a campaign: a process that is killed and started again, and whose workers are known. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { LIMITS } from "../../support/gate/limits.ts";
import { type ProcessHarness, eventually } from "../../support/processes/supervisor-process.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const CLI = join(ROOT, "src", "cli", "main.ts");

/** A process that died while it did an attempt. */
export interface Death {
  readonly pid: number;
  readonly run: string;
  readonly how: string;
  /** The fault at that time; null: none. */
  readonly during: string | null;
}

export interface CampaignServer {
  /** The process that supervises now. */
  readonly pid: () => number;
  readonly url: string;
  /** The workers that the supervisor has started and not lost. */
  readonly workers: () => readonly number[];
  readonly deaths: readonly Death[];
  /** Kills the supervisor and starts another one on the same store. */
  restart(): Promise<void>;
  /** Asks it to end; its exit code. */
  stop(): Promise<number | null>;
}

interface Line {
  readonly kind: string;
  readonly pid?: number;
  readonly run?: string;
  readonly how?: string;
  readonly error?: unknown;
}

const AGENTS = [
  join(import.meta.dirname, "agents.ts"),
  ...["invoice", "event", "letter", "compare"].map((name) => join(ROOT, "agents", name, "agent.ts")),
];

export async function startCampaignServer(
  harness: ProcessHarness,
  { port, faultNow }: { readonly port: number; readonly faultNow: () => string | null },
): Promise<CampaignServer> {
  const folder = join(harness.dir, "project");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "cairn.config.ts"), `export const config = { agents: ${JSON.stringify(AGENTS)} };\n`);
  const deaths: Death[] = [];
  const living = new Set<number>();
  let current: { readonly child: ChildProcess; readonly exited: Promise<number | null> };
  const start = async (): Promise<void> => {
    const words = [CLI, "serve", "--port", String(port), "--store", harness.dir, "--json", "--workers", "3"];
    const child = spawn(process.execPath, [...words, "--beats-per-worker", "6"], {
      cwd: folder,
      env: { ...process.env, ...harness.env, EXAMPLES: join(harness.dir, "examples") },
      stdio: ["ignore", "pipe", "inherit"],
    });
    living.clear();
    let isListening = false;
    const read = ({ kind, pid = 0, run = "", how = "", error }: Line): void => {
      if (kind === "listening") isListening = true;
      if (kind === "workerSpawned") living.add(pid);
      if (kind === "workerGone") living.delete(pid);
      if (kind === "attemptFailed" && (error ?? null) === null) deaths.push({ pid, run, how, during: faultNow() });
    };
    createInterface({ input: child.stdout }).on("line", (line) => read(JSON.parse(line) as Line));
    current = { child, exited: new Promise((resolve) => child.once("exit", resolve)) };
    await eventually("the server listens", () => isListening || child.exitCode !== null, LIMITS.sceneMs);
  };
  await start();
  harness.atEnd(async () => {
    current.child.kill("SIGKILL");
    await current.exited;
  });
  return {
    pid: () => current.child.pid ?? 0,
    url: `http://127.0.0.1:${port}`,
    workers: () => [...living],
    deaths,
    restart: async () => {
      current.child.kill("SIGKILL");
      await current.exited;
      await start();
    },
    stop: async () => {
      current.child.kill("SIGTERM");
      return current.exited;
    },
  };
}
