/** A desk (`fixtures/desk-server.ts`), and agents that call its tools. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { z } from "zod";
import { defineAgent, scriptedModel } from "../../src/index.ts";
import { type McpServerOptions, mcpServer } from "../../src/mcp-tools/index.ts";
import type { ToolSource } from "../../src/ports/agent.ts";

const SERVER = join(import.meta.dirname, "fixtures/desk-server.ts");

export interface Seen {
  readonly what: "started" | "asked" | "done" | "cancelled";
  readonly tool?: string;
  readonly key?: string;
  readonly pid?: number;
  readonly worker?: number;
}

export type Fault = "die-before" | "die-after" | "hang" | "fail" | "refuse-to-start";

export interface Desk {
  readonly dir: string;
  readonly options: McpServerOptions;
  /** The next call has this fault; of `refuse-to-start` the next start. */
  readonly fault: (fault: Fault) => void;
  readonly setTools: (names: readonly string[]) => void;
  /** Tells a server that runs to read the names again. */
  readonly change: () => void;
  readonly seen: (what?: Seen["what"]) => readonly Seen[];
}

export function openDesk(): Desk {
  const dir = mkdtempSync(join(tmpdir(), "cairn-desk-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const file = join(dir, "effects.jsonl");
  const setTools = (names: readonly string[]): void => writeFileSync(join(dir, "tools.json"), JSON.stringify(names));
  setTools(["look", "post", "drop"]);
  return {
    dir,
    options: { name: "desk", command: process.execPath, args: [SERVER, dir], connectMs: 20_000 },
    fault: (fault) => writeFileSync(join(dir, fault), ""),
    setTools,
    change: () => writeFileSync(join(dir, "change"), ""),
    seen: (what) => {
      const lines = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
      const all = lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Seen);
      return what === undefined ? all : all.filter((each) => each.what === what);
    },
  };
}

/** A server of this test alone. Its process ends with the test. */
export function serverOf(options: McpServerOptions): ToolSource {
  const source = mcpServer({ idleMs: 200, ...options });
  return source;
}

export interface Calling {
  readonly source: ToolSource;
  readonly tools: readonly string[];
  readonly secrets?: readonly string[];
}

/** An agent that calls these tools, one after the other, each with the text `a`. */
export const callingAgent = ({ source, tools, secrets = [] }: Calling) =>
  defineAgent({
    name: "clerk",
    version: "1",
    instructions: "Make the calls, one after the other.",
    model: scriptedModel({
      name: "clerk-model",
      reply: ({ calls }) => {
        const tool = tools[calls.length];
        return tool === undefined ? { text: "All calls are made." } : { calls: [{ tool, args: { text: "a" } }] };
      },
    }),
    task: z.object({}),
    tools: {},
    mcp: [source],
    budget: { beats: 30 },
    secrets,
  });
