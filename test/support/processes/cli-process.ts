/** The real command line in separate processes, in a folder with one small agent; everything ends with its test. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { LIMITS } from "../gate/limits.ts";
import { waitUntil } from "../gate/safety.ts";
import { fitPrinted } from "./printed-json.ts";
import { MAIN, PROGRAM_ENV } from "./program.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");

/** A folder in which commands are typed. */
export interface CliFolder {
  readonly dir: string;
  readonly store: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The command line (`program.ts`); `SOURCE_MAIN` where the sources are the subject. */
  readonly main: string;
  /** The started processes that may still run. */
  readonly running: Set<CliProcess>;
}

interface CliResult {
  readonly exit: number | null;
  readonly out: string;
  readonly err: string;
}

export interface CliProcess {
  readonly child: ChildProcess;
  readonly out: () => string;
  readonly err: () => string;
  readonly ended: Promise<CliResult>;
}

/**
 * Makes the calls of its task, then reports the outcome of each. `mail` must not happen twice, and appends a line
 * to a file in the store each time; `gate` waits until the test opens it.
 */
const CLERK = `
import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { check, defineAgent, scriptedModel, tool } from "cairn-run";
import { z } from "zod";

console.log("clerk is imported");
const here = (name: string) => join(process.env.CAIRN_STORE ?? ".", name);
const nothing = z.object({});

export const clerk = defineAgent({
  name: "clerk",
  version: "1",
  model: scriptedModel({
    name: "clerk-model",
    reply: ({ task, calls }) => {
      const steps = (task.json as { steps: string[] }).steps.filter((step) => step !== "despair");
      const step = steps[calls.length];
      const cost = { tokensIn: 10_000, tokensOut: 0 };
      if (step !== undefined) return { calls: [{ tool: step, args: { step: calls.length + 1 } }], ...cost };
      return { text: "done: " + (calls.map(({ outcome }) => outcome).join(", ") || "nothing"), ...cost };
    },
  }),
  price: { inUsd: 1, outUsd: 1 },
  instructions: "Do what the task says.",
  task: z.object({ steps: z.array(z.enum(["note", "mail", "gate", "pay", "despair"])) }),
  tools: {
    note: tool({ effect: "none", input: z.object({ step: z.int() }), run: ({ input }) => "noted step " + input.step }),
    mail: tool({
      effect: "unsafe",
      input: z.object({ step: z.int() }),
      externalId: () => "letter-1",
      run: ({ key }) => appendFileSync(here("mails"), key + "\\n"),
    }),
    pay: tool({
      effect: "keyed",
      approval: "always",
      input: z.object({ step: z.int() }),
      run: ({ input }) => "paid for step " + input.step,
    }),
    gate: tool({
      effect: "none",
      input: z.object({ step: z.int() }),
      run: async ({ signal }) => {
        while (!existsSync(here("open"))) await wait(10, undefined, { signal });
        return "open";
      },
    }),
  },
  done: [check("hope", ({ task }) => !task.steps.includes("despair") || "there is no hope")],
});
`;

/** A beat has at most 900 seconds. */
const LONG_BEAT_SECONDS = Math.min(900, Math.ceil((2 * LIMITS.runMs) / 1_000));

/** So long that a call which the test holds ends only when the test lets it. */
export const LONG_TIMEOUTS = {
  CAIRN_BEAT_SECONDS: String(LONG_BEAT_SECONDS),
  CAIRN_LIMITS: JSON.stringify({ toolMs: (LONG_BEAT_SECONDS - 60) * 1_000 }),
} as const;

/** A concurrent test passes its own `onTestFinished`. */
export function createCliFolder(
  env: Readonly<Record<string, string>> = {},
  atEnd: typeof onTestFinished = onTestFinished,
): CliFolder {
  const dir = mkdtempSync(join(tmpdir(), "cairn-cli-"));
  const running = new Set<CliProcess>();
  atEnd(async () => {
    for (const { child } of running) child.kill("SIGKILL");
    await Promise.all([...running].map(({ ended }) => ended));
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  });
  writeFileSync(join(dir, "clerk.ts"), CLERK);
  writeFileSync(join(dir, "cairn.config.ts"), 'export const config = { agents: ["./clerk.ts"] };\n');
  const own = { NO_COLOR: "1", FORCE_COLOR: undefined, CAIRN_STORE: undefined };
  return {
    dir,
    store: join(dir, "store"),
    env: { ...process.env, ...PROGRAM_ENV, ...own, ...env },
    main: MAIN,
    running,
  };
}

interface Circumstances {
  readonly stdin?: string;
  /** Shell commands before it, such as `ulimit`. */
  readonly limits?: string;
  /** As another user. */
  readonly uid?: number;
  /** Without `--store`. */
  readonly bare?: true;
  /** As `npx cairn`, in the folder where npx finds it. To stop the process that npx starts, use that process's pid. */
  readonly npx?: true;
}

/** Starts `cairn WORDS --store STORE`. */
export function spawnCairn(of: CliFolder, words: readonly string[], options: Circumstances = {}): CliProcess {
  const { stdin = "", limits = "", bare = false, npx = false, ...who } = options;
  const all = bare ? words : [...words, "--store", of.store];
  const inShell = ["sh", "-c", `${limits}; exec "$0" "$@"`];
  const typed = npx ? ["npx", "cairn"] : [process.execPath, of.main];
  const [command = "", ...args] = [...(limits === "" ? [] : inShell), ...typed, ...all];
  const child = spawn(command, args, { cwd: npx ? ROOT : of.dir, env: of.env, ...who });
  const said = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said.out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said.err += text));
  child.stdin.on("error", () => {}).end(stdin);
  const ended = new Promise<CliResult>((resolve) => child.once("close", (exit) => resolve({ exit, ...said })));
  const running = { child, out: () => said.out, err: () => said.err, ended };
  of.running.add(running);
  return running;
}

export const runCairn = (of: CliFolder, words: readonly string[], options: Circumstances = {}): Promise<CliResult> =>
  spawnCairn(of, words, options).ended;

/**
 * The same command within the process of the test, which costs a hundredth of a start of Node: for what a test asks again and
 * again while it waits, and for what it asks beside its subject. It imports no agent.
 */
export async function askCairn({ dir, store, env }: CliFolder, words: readonly string[]): Promise<CliResult> {
  // Loaded when it is needed: most tests of processes ask for nothing.
  const { runCliAt } = await import("./cli-in-process.ts");
  return runCliAt({ dir, store, env, person: null }, ...words);
}

/** The one document that `askCairn` prints. */
export const askCairnJson = async (of: CliFolder, words: readonly string[]): Promise<Record<string, unknown>> =>
  JSON.parse((await askCairn(of, [...words, "--json"])).out) as Record<string, unknown>;

/** The one document that a command prints under `--json`. */
export async function runCairnJson(of: CliFolder, words: readonly string[]): Promise<Record<string, unknown>> {
  const { out } = await runCairn(of, [...words, "--json"]);
  fitPrinted(words, out);
  return JSON.parse(out) as Record<string, unknown>;
}

export const parseJsonLines = (text: string): readonly Record<string, unknown>[] =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

export const stepsInput = (...steps: readonly string[]): string => JSON.stringify({ steps });

/** The key under which `queued` starts a run. */
export const keyOfSteps = (...steps: readonly string[]): string => ["do", ...steps].join("-");

/** Starts a run without a supervisor, and returns its ID. */
export async function startQueuedRun(of: CliFolder, ...steps: readonly string[]): Promise<string> {
  const { run } = await runCairnJson(of, [
    "start",
    "clerk",
    "--input",
    stepsInput(...steps),
    "--key",
    keyOfSteps(...steps),
  ]);
  expect(run).toBeDefined();
  return String(run);
}

export async function waitForOutput(running: CliProcess, words: string | RegExp): Promise<void> {
  await waitUntil(() => expect(running.out() + running.err()).toMatch(words));
}

export const openGate = ({ store }: CliFolder): void => writeFileSync(join(store, "open"), "");

export const countMails = ({ store }: CliFolder): number =>
  readFileSync(join(store, "mails"), "utf8").trim().split("\n").length;

/** Kills the process that pauses at the fault point of `CAIRN_HOLD`. */
export async function killPausedProcess({ store }: CliFolder): Promise<void> {
  const mark = join(store, "held");
  await waitUntil(() => expect(existsSync(mark)).toBe(true));
  process.kill((JSON.parse(readFileSync(mark, "utf8")) as { pid: number }).pid, "SIGKILL");
}

/** A port that is free now. */
export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
