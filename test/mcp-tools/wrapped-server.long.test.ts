/** Servers that a script starts as a process of their own, which holds the pipes and gets no signal that the script gets. */
import { readFileSync } from "node:fs";
import { waitUntil } from "../support/gate/safety.ts";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { LIMITS } from "../support/gate/limits.ts";
import type { McpServerOptions, McpStdioServer } from "../../src/mcp-tools/server-options.ts";
import type { ToolSource } from "../../src/ports/agent.ts";

import { type Desk, isAlive, openDesk, serverOf } from "./desk.ts";

const SECRETS = { get: (name: string) => Promise.reject(new Error(`no ${name}`)) };
const listOf = (source: ToolSource) => source.list({ secrets: SECRETS, mayBeOld: false, now: 0 });

/** The options of a script of the shell, whose arguments start the desk. */
function scriptOf({ options }: Desk, script: string): McpServerOptions {
  const { command, args } = options as McpStdioServer;
  return { ...options, command: "sh", args: ["-c", script, "sh", command, ...(args ?? [])] } as McpServerOptions;
}

/** Only the test lets time pass: the limits of the product, of which each is a timer of this process. */
function stopTimers(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
}

/**
 * A list of a server that never answers, after its time to connect. The shell runs the script, in which `$0` is the file
 * for the process ID of the server.
 */
async function unansweredList(script: string) {
  stopTimers();
  const desk = openDesk();
  const file = join(desk.dir, "pid");
  const listed = listOf(serverOf({ ...desk.options, command: "sh", args: ["-c", script, file] } as McpServerOptions));
  listed.catch(() => undefined);
  const written = (): string | undefined => /^(\d+)\n$/.exec(readFileSync(file, "utf8"))?.[1];
  const pid = await waitUntil(() => Number(written() ?? expect.fail("no process ID is written")));
  onTestFinished(() => void (isAlive(pid) && process.kill(pid, "SIGKILL")));
  await vi.advanceTimersByTimeAsync(LIMITS.startMs);
  return { listed, pid };
}

test.each([
  ["takes SIGTERM", 1, 'sleep 600 & echo $! > "$0"; wait; true'],
  ["takes only SIGKILL", 2, 'trap "" TERM; sleep 600 & echo $! > "$0"; wait; true'],
])("a server that never answers, and %s, is ended with the script that started it", async (_, signals, script) => {
  const { listed, pid } = await unansweredList(script);
  for (let sent = 0; sent < signals; sent += 1) {
    expect(isAlive(pid)).toBe(true);
    await vi.advanceTimersToNextTimerAsync();
  }
  await expect(listed).rejects.toThrow(/MCP server desk cannot be reached/);
  await waitUntil(() => expect(isAlive(pid)).toBe(false));
});

test("a list does not wait for a server that outlives the script that started it", async () => {
  // The server ignores SIGTERM before the test knows its process ID.
  const { listed, pid } = await unansweredList(
    `sh -c 'trap "" TERM; echo $$ > "$0"; exec sleep 600' "$0" & wait; true`,
  );
  await vi.advanceTimersToNextTimerAsync();
  await expect(listed).rejects.toThrow(/MCP server desk cannot be reached/);
  expect(isAlive(pid)).toBe(true);
});

test("a server that a script started serves calls, and ends with its connection", async () => {
  stopTimers();
  const desk = openDesk();
  const tools = await listOf(serverOf(scriptOf(desk, '"$@"; true')));
  const call = { input: { text: "a" }, key: "key-1", secrets: SECRETS, signal: new AbortController().signal };
  expect(await tools["desk_look"]?.run(call as never)).toBe("look: a, no token");
  expect(desk.seen("started")).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(LIMITS.runMs);
  for (const { pid } of desk.seen("started")) await waitUntil(() => expect(isAlive(pid)).toBe(false));
});
