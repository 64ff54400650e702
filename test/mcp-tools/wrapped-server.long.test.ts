/** Servers that a script starts as a process of their own, which holds the pipes and gets no signal that the script gets. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import type { McpServerOptions, McpStdioServer } from "../../src/mcp-tools/server-options.ts";
import type { ToolSource } from "../../src/ports/agent.ts";
import { waitUntil } from "../support/processes/cli-process.ts";
import { type Desk, isAlive, openDesk, serverOf } from "./desk.ts";

const SECRETS = { get: (name: string) => Promise.reject(new Error(`no ${name}`)) };
const listOf = (source: ToolSource) => source.list({ secrets: SECRETS, mayBeOld: false, now: 0 });

/** The options of a script of the shell, whose arguments start the desk. */
function scriptOf({ options }: Desk, script: string): McpServerOptions {
  const { command, args } = options as McpStdioServer;
  return { ...options, command: "sh", args: ["-c", script, "sh", command, ...(args ?? [])] } as McpServerOptions;
}

/** A list of a server that never answers, which the shell starts in this way. */
async function unansweredList(started: string) {
  const desk = openDesk();
  const file = join(desk.dir, "pid");
  const source = serverOf({ ...scriptOf(desk, `${started} & echo $! > ${file}; wait; true`), connectMs: 500 });
  const listed = listOf(source);
  listed.catch(() => undefined);
  const written = (): string | undefined => /^(\d+)\n$/.exec(readFileSync(file, "utf8"))?.[1];
  const pid = await vi.waitFor(() => Number(written() ?? expect.fail()), 20_000);
  onTestFinished(() => void (isAlive(pid) && process.kill(pid, "SIGKILL")));
  return { listed, pid };
}

test.each([
  ["takes SIGTERM", "sleep 600"],
  ["takes only SIGKILL", 'trap "" TERM; sleep 600'],
])("a server that never answers, and %s, is ended with the script that started it", async (_, started) => {
  const { listed, pid } = await unansweredList(started);
  await expect(listed).rejects.toThrow(/MCP server desk cannot be reached/);
  await waitUntil(() => expect(isAlive(pid)).toBe(false));
});

test("a list does not wait for a server that outlives the script that started it", async () => {
  const { listed, pid } = await unansweredList('(trap "" TERM; exec sleep 600)');
  await expect(listed).rejects.toThrow(/MCP server desk cannot be reached/);
  expect(isAlive(pid)).toBe(true);
});

test("a server that a script started serves calls, and ends with its connection", async () => {
  const desk = openDesk();
  const tools = await listOf(serverOf({ ...scriptOf(desk, '"$@"; true'), idleMs: 50 }));
  const call = { input: { text: "a" }, key: "key-1", secrets: SECRETS, signal: new AbortController().signal };
  expect(await tools["desk_look"]?.run(call as never)).toBe("look: a, no token");
  expect(desk.seen("started")).toHaveLength(1);
  for (const { pid } of desk.seen("started")) await waitUntil(() => expect(isAlive(pid)).toBe(false));
});
