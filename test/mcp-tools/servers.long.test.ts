/** Real MCP servers from npm, over both transports: their lists, their results, and their end. */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { FILE } from "../../src/codec/file.ts";
import { type McpServerOptions } from "../../src/mcp-tools/index.ts";
import type { Tool, ToolSource } from "../../src/ports/agent.ts";
import { LIMITS } from "../support/gate/limits.ts";
import { waitForCount, waitUntil } from "../support/gate/safety.ts";
import { freePort } from "../support/processes/cli-process.ts";
import { isAlive, openDesk, serverOf } from "./desk.ts";

const SERVERS = join(import.meta.dirname, "../../node_modules/@modelcontextprotocol");
const EVERYTHING = join(SERVERS, "server-everything/dist/index.js");
const FILES = join(SERVERS, "server-filesystem/dist/index.js");

const SECRETS = { get: async (name: string) => `value of ${name}` };
const listOf = (source: ToolSource) => source.list({ secrets: SECRETS, mayBeOld: false, now: 0 });

const callOf = (tools: Readonly<Record<string, Tool>>, name: string, input: object, signal?: AbortSignal) =>
  tools[name]?.run({
    ...{ input, key: "key-1", secrets: SECRETS, signal: signal ?? new AbortController().signal },
  } as never);

const filesIn = (result: unknown) =>
  (result as { files: readonly { [FILE]: { mediaType?: string; bytes: Uint8Array } }[] }).files.map(
    (each) => each[FILE],
  );

/** Server Everything over streamable HTTP, in a process of its own. */
async function everythingOverHttp() {
  const port = await freePort();
  const start = () => {
    const child = spawn(process.execPath, [EVERYTHING, "streamableHttp"], {
      env: { PORT: String(port) },
      stdio: "ignore",
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    return child;
  };
  const url = `http://127.0.0.1:${port}/mcp`;
  const child = start();
  await waitUntil(async () => expect((await fetch(url)).status).toBe(400));
  return { url, child, start };
}

/** So that a process which does not know its test ends with it. A call after its end starts the next one. */
const SOON = { idleMs: 200 } as const;

const overStdio = async (): Promise<McpServerOptions> => ({
  ...{ name: "all", command: process.execPath, args: [EVERYTHING, "stdio"], ...SOON },
});

const overHttp = async (): Promise<McpServerOptions> => ({ name: "all", url: (await everythingOverHttp()).url });

describe.each([
  ["stdio", overStdio],
  ["streamable HTTP", overHttp],
] as const)("Server Everything over %s", (_, optionsOf) => {
  test("lists its tools, and returns texts, JSON and files", async () => {
    const tools = await listOf(serverOf(await optionsOf()));
    expect(tools["all_echo"]?.effect).toBe("none");
    expect(tools["all_gzip-file-as-resource"]?.effect).toBe("unsafe");
    expect(await callOf(tools, "all_echo", { message: "hi" })).toBe("Echo: hi");
    const weather = await callOf(tools, "all_get-structured-content", { location: "New York" });
    expect(weather).toEqual({ temperature: 33, conditions: "Cloudy", humidity: 82 });
    const image = filesIn(await callOf(tools, "all_get-tiny-image", {}));
    expect(image.map(({ mediaType }) => mediaType)).toEqual(["image/png"]);
    const resource = { resourceType: "Blob", resourceId: 1 };
    const [blob] = filesIn(await callOf(tools, "all_get-resource-reference", resource));
    expect(Buffer.from(blob?.bytes ?? []).toString()).toContain("Resource 1: This is a base64 blob");
    await expect(callOf(tools, "all_get-sum", { a: "x" })).rejects.toThrow(/Invalid arguments for tool get-sum/);
  });

  test("stops a call whose signal fires, and the outcome is unknown", async () => {
    const tools = await listOf(serverOf(await optionsOf()));
    const stop = new AbortController();
    const long = callOf(tools, "all_trigger-long-running-operation", { duration: 3_600, steps: 1 }, stop.signal);
    stop.abort(new DOMException("too late", "TimeoutError"));
    await expect(long).rejects.toMatchObject({
      name: "OutcomeUnknown",
      message: "MCP server all did not answer in time",
    });
    expect(await callOf(tools, "all_echo", { message: "still here" })).toBe("Echo: still here");
  });
});

test("a server over HTTP that dies in a call leaves an unknown outcome, and is found again", async () => {
  const { url, child, start } = await everythingOverHttp();
  const source = serverOf({ name: "all", url });
  const tools = await listOf(source);
  const sent = vi.spyOn(globalThis, "fetch");
  onTestFinished(() => sent.mockRestore());
  const long = Promise.resolve(callOf(tools, "all_trigger-long-running-operation", { duration: 3_600, steps: 60 }));
  long.catch(() => undefined);
  // The server has begun its answer, so the call has arrived.
  await waitUntil(() =>
    expect(sent.mock.settledResults[0]).toMatchObject({ type: "fulfilled", value: { status: 200 } }),
  );
  child.kill("SIGKILL");
  await expect(long).rejects.toMatchObject({ name: "OutcomeUnknown" });
  await expect(callOf(tools, "all_echo", { message: "x" })).rejects.toThrow(/cannot be reached|did not take the call/);
  start();
  await waitUntil(async () => {
    const again = await source.list({ secrets: SECRETS, mayBeOld: false, now: Date.now() });
    expect(await callOf(again, "all_echo", { message: "back" })).toBe("Echo: back");
  });
});

test("a server over HTTP gets the headers, made for each request", async () => {
  let made = 0;
  const { url } = await everythingOverHttp();
  const headers = async (secrets: typeof SECRETS) => {
    made += 1;
    return { authorization: `Bearer ${await secrets.get("TOKEN")}` };
  };
  const tools = await listOf(serverOf({ name: "all", url, headers }));
  const before = made;
  await callOf(tools, "all_echo", { message: "hi" });
  expect([before > 0, made > before]).toEqual([true, true]);
});

test("Server Filesystem writes a file in its folder and no other, and inherits no variable of the worker", async () => {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "cairn-files-")));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const tools = await listOf(serverOf({ name: "files", command: process.execPath, args: [FILES, dir], ...SOON }));
  expect([tools["files_read_text_file"]?.effect, tools["files_write_file"]?.effect]).toEqual(["none", "unsafe"]);
  await callOf(tools, "files_write_file", { path: join(dir, "a.txt"), content: "hello" });
  expect(readFileSync(join(dir, "a.txt"), "utf8")).toBe("hello");
  const outside = callOf(tools, "files_write_file", { path: join(dir, "../b.txt"), content: "x" });
  await expect(outside).rejects.toThrow(/Access denied/);
});

test("a process gets what env says, and of the worker only what programs need", async () => {
  process.env["WORKER_SECRET"] = "of the worker";
  onTestFinished(() => void Reflect.deleteProperty(process.env, "WORKER_SECRET"));
  const env = async (secrets: typeof SECRETS) => ({ TOKEN: await secrets.get("TOKEN") });
  const tools = await listOf(serverOf({ ...(await overStdio()), env } as McpServerOptions));
  const seen = JSON.parse(String(await callOf(tools, "all_get-env", {}))) as Record<string, string>;
  expect(seen["TOKEN"]).toBe("value of TOKEN");
  const allowed = new Set(["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TOKEN"]);
  expect(Object.keys(seen).filter((name) => !allowed.has(name))).toEqual([]);
});

/** Only the test lets time pass: the time after which an idle connection is closed is a timer of this process. */
function stopTimers(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
}

test("a process ends once its connection was not used for a while, and the next call starts another one", async () => {
  stopTimers();
  const desk = openDesk();
  const tools = await listOf(serverOf(desk.options));
  await vi.advanceTimersByTimeAsync(LIMITS.runMs);
  const [first] = desk.seen("started");
  await waitUntil(() => expect(isAlive(first?.pid)).toBe(false));
  expect(await callOf(tools, "desk_look", { text: "a" })).toBe("look: a, no token");
  const [, second] = desk.seen("started");
  expect(second?.pid).not.toBe(first?.pid);
  await vi.advanceTimersByTimeAsync(LIMITS.runMs - 1);
  expect(isAlive(second?.pid)).toBe(true);
  await vi.advanceTimersByTimeAsync(1);
  await waitUntil(() => expect(isAlive(second?.pid)).toBe(false));
  expect(desk.seen("started")).toHaveLength(2);
});

test("a process whose call is still at work is not idle, however long the call takes", async () => {
  stopTimers();
  const desk = openDesk();
  const tools = await listOf(serverOf(desk.options));
  desk.fault("hang");
  const stop = new AbortController();
  const hanging = Promise.resolve(callOf(tools, "desk_look", { text: "a" }, stop.signal));
  hanging.catch(() => undefined);
  await waitForCount("the call reaches the server", 1, () => desk.seen("asked").length);
  // This call ends, and begins the time after which an idle connection would be closed.
  await callOf(tools, "desk_look", { text: "a" });
  await vi.advanceTimersByTimeAsync(2 * LIMITS.runMs);
  await callOf(tools, "desk_look", { text: "a" });
  expect({ starts: desk.seen("started").length, isAlive: isAlive(desk.seen("started")[0]?.pid) }).toEqual({
    starts: 1,
    isAlive: true,
  });
  stop.abort(new DOMException("too late", "TimeoutError"));
  await expect(hanging).rejects.toMatchObject({ name: "OutcomeUnknown" });
});
