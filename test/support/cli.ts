/** The real command line as processes of their own, in a folder with one small agent; everything ends with its test. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, vi } from "vitest";

const ROOT = join(import.meta.dirname, "..", "..");
const MAIN = join(ROOT, "src", "cli", "main.ts");

/** A folder in which somebody types commands. */
export interface Desk {
  readonly dir: string;
  readonly store: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What was started and may still be there. */
  readonly running: Set<Running>;
}

export interface Ended {
  readonly exit: number | null;
  readonly out: string;
  readonly err: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly out: () => string;
  readonly err: () => string;
  readonly ended: Promise<Ended>;
}

/**
 * Does what its task says, call by call, then says how each call went. `mail` must not happen twice, and leaves a line
 * in the store for each time; `gate` waits until somebody opens it.
 */
const CLERK = `
import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { check, defineAgent, scriptedModel, tool } from "cairn";
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

/** What a test holds ends when the test lets it, and not when its time is over, however busy the machine is. */
export const PATIENT = { CAIRN_BEAT_SECONDS: "300", CAIRN_LIMITS: '{"toolMs":240000}' } as const;

/** A test that runs beside others of its file hands over its own `onTestFinished`. */
export function desk(env: Readonly<Record<string, string>> = {}, atEnd: typeof onTestFinished = onTestFinished): Desk {
  const dir = mkdtempSync(join(tmpdir(), "cairn-cli-"));
  const running = new Set<Running>();
  atEnd(async () => {
    for (const { child } of running) child.kill("SIGKILL");
    await Promise.all([...running].map(({ ended }) => ended));
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  });
  writeFileSync(join(dir, "clerk.ts"), CLERK);
  writeFileSync(join(dir, "cairn.config.ts"), 'export const config = { agents: ["./clerk.ts"] };\n');
  const own = { NO_COLOR: "1", FORCE_COLOR: undefined, CAIRN_STORE: undefined };
  return { dir, store: join(dir, "store"), env: { ...process.env, ...own, ...env }, running };
}

interface Circumstances {
  readonly stdin?: string;
  /** What the shell does before, such as `ulimit`. */
  readonly limits?: string;
  /** As somebody else. */
  readonly uid?: number;
  /** Without `--store`. */
  readonly bare?: true;
  /** As `npx cairn`, in the folder where npx finds it. What npx starts is not its end: end that by its own pid. */
  readonly npx?: true;
}

/** Starts `cairn WORDS --store STORE`. */
export function cairnRunning(of: Desk, words: readonly string[], options: Circumstances = {}): Running {
  const { stdin = "", limits = "", bare = false, npx = false, ...who } = options;
  const all = bare ? words : [...words, "--store", of.store];
  const inShell = ["sh", "-c", `${limits}; exec "$0" "$@"`];
  const typed = npx ? ["npx", "cairn"] : [process.execPath, MAIN];
  const [command = "", ...args] = [...(limits === "" ? [] : inShell), ...typed, ...all];
  const child = spawn(command, args, { cwd: npx ? ROOT : of.dir, env: of.env, ...who });
  const said = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said.out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said.err += text));
  child.stdin.on("error", () => {}).end(stdin);
  const ended = new Promise<Ended>((resolve) => child.once("close", (exit) => resolve({ exit, ...said })));
  const running = { child, out: () => said.out, err: () => said.err, ended };
  of.running.add(running);
  return running;
}

export const cairn = (of: Desk, words: readonly string[], options: Circumstances = {}): Promise<Ended> =>
  cairnRunning(of, words, options).ended;

/** The one document that a command prints under `--json`. */
export async function documentOf(of: Desk, words: readonly string[]): Promise<Record<string, unknown>> {
  return JSON.parse((await cairn(of, [...words, "--json"])).out) as Record<string, unknown>;
}

export const linesOf = (text: string): readonly Record<string, unknown>[] =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

export const input = (...steps: readonly string[]): string => JSON.stringify({ steps });

/** The key under which `queued` starts a run. */
export const keyOf = (...steps: readonly string[]): string => ["do", ...steps].join("-");

/** Starts a run that nobody works on yet, and gives its id. */
export async function queued(of: Desk, ...steps: readonly string[]): Promise<string> {
  const { run } = await documentOf(of, ["start", "clerk", "--input", input(...steps), "--key", keyOf(...steps)]);
  expect(run).toBeDefined();
  return String(run);
}

/** Waits until the expectation holds. Unlike `expect.poll` it serves tests that run beside others. */
export const until = (expectation: () => void | Promise<void>): Promise<void> =>
  vi.waitFor(expectation, { timeout: 100_000, interval: 10 });

export async function untilSaid(running: Running, words: string | RegExp): Promise<void> {
  await until(() => expect(running.out() + running.err()).toMatch(words));
}

export const openGate = ({ store }: Desk): void => writeFileSync(join(store, "open"), "");

export const mailsIn = ({ store }: Desk): number =>
  readFileSync(join(store, "mails"), "utf8").trim().split("\n").length;

/** Kills the process that is held at the edge of `CAIRN_HOLD`. */
export async function killHeld({ store }: Desk): Promise<void> {
  const mark = join(store, "held");
  await until(() => expect(existsSync(mark)).toBe(true));
  process.kill((JSON.parse(readFileSync(mark, "utf8")) as { pid: number }).pid, "SIGKILL");
}
