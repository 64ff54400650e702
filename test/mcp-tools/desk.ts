/** A desk (`fixtures/desk-server.ts`), and agents that call its tools. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, vi } from "vitest";
import { z } from "zod";
import { defineAgent, scriptedModel } from "../../src/index.ts";
import { type McpServerOptions, mcpServer } from "../../src/mcp-tools/index.ts";
import { fakeService } from "../../src/testing/kit/index.ts";
import type { ToolSecrets, ToolSource } from "../../src/ports/agent.ts";
import { LIMITS } from "../support/gate/limits.ts";

/** How long connecting may take on a slow machine: at most what a beat of a minute has for it. */
const CONNECT_MS = Math.min(LIMITS.startMs, 45_000);

const SERVER = join(import.meta.dirname, "fixtures/desk-server.ts");

export interface Seen {
  readonly what: "started" | "asked" | "done" | "cancelled";
  readonly tool?: string;
  readonly key?: string;
  readonly pid?: number;
  readonly worker?: number;
}

export type Fault = "die-before" | "die-after" | "hang" | "busy" | "fail" | "refuse-to-start";

export interface Desk {
  readonly dir: string;
  readonly options: McpServerOptions;
  /** The next call has this fault; of `refuse-to-start` the next start. */
  readonly fault: (fault: Fault) => void;
  readonly setTools: (names: readonly string[]) => void;
  /** Tells a server that runs to read the names again. */
  readonly change: () => void;
  /** Lets a call with the fault `busy` go on. */
  readonly goOn: () => void;
  readonly seen: (what?: Seen["what"]) => readonly Seen[];
}

/** Its processes end with the test, since they end without their folder. */
export function openDesk(): Desk {
  const dir = mkdtempSync(join(tmpdir(), "cairn-desk-"));
  const file = join(dir, "effects.jsonl");
  const seen: Desk["seen"] = (what) => {
    const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
    const all = lines.map((line) => JSON.parse(line) as Seen);
    return what === undefined ? all : all.filter((each) => each.what === what);
  };
  onTestFinished(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }));
  const setTools = (names: readonly string[]): void => writeFileSync(join(dir, "tools.json"), JSON.stringify(names));
  setTools(["look", "post", "drop"]);
  return {
    dir,
    options: { name: "desk", command: process.execPath, args: [SERVER, dir], connectMs: CONNECT_MS },
    fault: (fault) => writeFileSync(join(dir, fault), ""),
    setTools,
    change: () => writeFileSync(join(dir, "change"), ""),
    goOn: () => writeFileSync(join(dir, "go-on"), ""),
    seen,
  };
}

/**
 * Plays runs in memory whose tools may take as long as a slow machine needs to start a server. A tool that takes two
 * seconds of real time hangs there, and its timeout fires: so no real time passes for these runs.
 */
export async function patiently<Played>(play: () => Promise<Played>): Promise<Played> {
  const stopped = vi.spyOn(performance, "now").mockReturnValue(performance.now());
  try {
    return await play();
  } finally {
    stopped.mockRestore();
  }
}

/** For `runAgent`: the desk is a process of the test, and no service of a user. */
export const OF_THE_TEST = { input: {}, services: [fakeService({ name: "desk", reply: () => null })] };

export const NO_SECRETS: ToolSecrets = { get: (name) => Promise.reject(new Error(`no ${name}`)) };

/** A server of this test alone. No test takes as long as its connection may be idle, unless the options say otherwise. */
export const serverOf = (options: McpServerOptions): ToolSource =>
  mcpServer({ connectMs: CONNECT_MS, idleMs: LIMITS.runMs, ...options });

/** The same, whose process runs already: a start on a busy machine takes longer than a run in memory has patience. */
export async function startedServerOf(options: McpServerOptions): Promise<ToolSource> {
  const source = serverOf(options);
  await source.list({ secrets: NO_SECRETS, mayBeOld: false, now: Date.now() });
  return source;
}

/** A function that calls that tool of a list of the server. */
export async function callsOf(source: ToolSource, name: string, secrets: ToolSecrets) {
  const { [name]: tool } = await source.list({ secrets, mayBeOld: false, now: 0 });
  return async (signal = new AbortController().signal): Promise<unknown> =>
    tool?.run({ input: { text: "a" }, key: "key-1", secrets, signal } as never);
}

/** Whether a process of that ID runs. */
export const isAlive = (pid: number | undefined): boolean => {
  try {
    return process.kill(pid ?? 0, 0);
  } catch {
    return false;
  }
};

export interface Calling {
  readonly source: ToolSource;
  readonly tools: readonly string[];
  readonly secrets?: readonly string[];
  readonly args?: object;
}

/** An agent that calls these tools, one after the other, each with the text `a` unless `args` says otherwise. */
export const callingAgent = ({ source, tools, secrets = [], args = { text: "a" } }: Calling) =>
  defineAgent({
    name: "clerk",
    version: "1",
    instructions: "Make the calls, one after the other.",
    model: scriptedModel({
      name: "clerk-model",
      reply: ({ calls }) => {
        const tool = tools[calls.length];
        return tool === undefined ? { text: "All calls are made." } : { calls: [{ tool, args }] };
      },
    }),
    task: z.object({}),
    tools: {},
    mcp: [source],
    budget: { beats: 30 },
    secrets,
  });
