/** Agents with an MCP server on the real command line: secrets, killed workers, and what the audit says. */
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Desk, isAlive, openDesk } from "../mcp-tools/desk.ts";
import { guardedServer } from "../mcp-tools/guarded-server.ts";
import { LIMITS } from "../support/gate/limits.ts";
import { requireEvent, waitForCount, waitUntil } from "../support/gate/safety.ts";
import {
  askCairn,
  type CliFolder,
  LONG_TIMEOUTS,
  createCliFolder,
  parseJsonLines,
  runCairn,
  spawnCairn,
} from "../support/processes/cli-process.ts";

const TOKEN = "token-of-the-desk-that-is-long";

/** Its first token has expired. */
const tokenAgentFile = (url: string): string => `
  import { defineAgent, scriptedModel } from "cairn-run";
  import { mcpServer } from "cairn-run/mcp-tools";
  import { z } from "zod";
  let asked = 0;
  export const clerk = defineAgent({
    name: "clerk", version: "1", instructions: "", task: z.object({}), tools: {}, secrets: ["DESK_SECRET"],
    model: scriptedModel({ name: "m", reply: ({ calls, text }) => calls.length > 0
      ? { text: JSON.stringify(calls) } : { calls: [{ tool: "desk_look", args: { text: "a" } }] } }),
    mcp: [mcpServer({ name: "desk", url: "${url}",
      token: async (secrets) => {
        await secrets.get("DESK_SECRET");
        asked += 1;
        return asked < 2 ? "expired-token-that-is-long" : "${TOKEN}";
      } })],
  });`;

const agentFile = ({ options }: Desk, tool: string, more: object): string => `
  import { defineAgent, scriptedModel } from "cairn-run";
  import { mcpServer } from "cairn-run/mcp-tools";
  import { z } from "zod";
  export const clerk = defineAgent({
    name: "clerk", version: "1", instructions: "", task: z.object({}), tools: {}, secrets: ["DESK_TOKEN"],
    model: scriptedModel({ name: "m", reply: ({ calls, text }) => calls.length > 0
      ? { text: JSON.stringify(calls) } : { calls: [{ tool: "${tool}", args: { text: "a" } }] } }),
    mcp: [mcpServer({ ...${JSON.stringify({ ...options, ...more })},
      env: async (secrets) => ({ DESK_TOKEN: await secrets.get("DESK_TOKEN") }) })],
  });`;

function folderOf(desk: Desk, tool: string, more: object = {}): CliFolder {
  const folder = createCliFolder(LONG_TIMEOUTS);
  writeFileSync(join(folder.dir, "clerk.ts"), agentFile(desk, tool, more));
  writeFileSync(join(folder.dir, ".env"), `DESK_TOKEN=${TOKEN}\n`);
  return folder;
}

/** Waits until the one run is at rest, and returns its status. */
const restingStatus = (folder: CliFolder): Promise<unknown> =>
  waitUntil(async () => {
    const [run] = parseJsonLines((await askCairn(folder, ["list", "--json"])).out);
    expect(run?.["status"]).toMatch(/^(completed|failed|blocked)$/);
    return run?.["status"];
  });

const untilAsked = (desk: Desk): Promise<void> =>
  waitForCount("the call reaches the server", 1, () => desk.seen("asked").length);

test("a server gets its secret, which no record of the run shows", async () => {
  const desk = openDesk();
  const folder = folderOf(desk, "desk_look");
  const { exit, out } = await runCairn(folder, ["start", "clerk", "--wait"]);
  expect({ exit, out }).toEqual({ exit: 0, out: expect.stringContaining("look: a, [secret DESK_TOKEN]") });
  const files = readdirSync(folder.store, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  const holding = files.filter(({ parentPath, name }) => readFileSync(join(parentPath, name)).includes(TOKEN));
  expect(holding.map(({ name }) => name)).toEqual([]);
});

test("a worker that is killed leaves no server behind, and the next one repeats the call that only reads", async () => {
  const desk = openDesk();
  desk.fault("hang");
  const folder = folderOf(desk, "desk_look");
  await runCairn(folder, ["start", "clerk"]);
  const supervisor = spawnCairn(folder, ["work"]);
  await untilAsked(desk);
  const [first] = desk.seen("started");
  process.kill(first?.worker ?? 0, "SIGKILL");
  await waitUntil(() => expect(isAlive(first?.pid)).toBe(false));
  expect(await restingStatus(folder)).toBe("completed");
  expect(desk.seen("done")).toHaveLength(1);
  const last = desk.seen("started").at(-1);
  // An idle worker may end with its servers before the row is read here.
  requireEvent("a worker has a server when its supervisor is stopped", isAlive(last?.pid));
  supervisor.child.kill("SIGTERM");
  await waitUntil(() => expect(isAlive(last?.pid)).toBe(false));
});

test.each([
  ["desk_look", "completed", 2],
  ["desk_post", "blocked", 1],
] as const)("a worker whose processes get SIGTERM in a call of %s leaves it %s", async (tool, status, asked) => {
  const desk = openDesk();
  desk.fault("hang");
  const folder = folderOf(desk, tool);
  await runCairn(folder, ["start", "clerk"]);
  const supervisor = spawnCairn(folder, ["work"]);
  await untilAsked(desk);
  const [first] = desk.seen("started");
  // As a service manager does that stops a service with all its processes. The worker itself goes on.
  process.kill(-(first?.worker ?? 0), "SIGTERM");
  await waitUntil(() => expect(isAlive(first?.pid)).toBe(false));
  expect(await restingStatus(folder)).toBe(status);
  expect(desk.seen("asked")).toHaveLength(asked);
  expect(isAlive(first?.worker)).toBe(true);
  supervisor.child.kill("SIGTERM");
  await supervisor.ended;
  for (const { pid } of desk.seen("started")) await waitUntil(() => expect(isAlive(pid)).toBe(false));
});

test("a supervisor that is stopped in a call leaves no server behind, and the outcome of the call is unknown", async () => {
  const desk = openDesk();
  desk.fault("hang");
  // Shorter than a supervisor waits for a beat that it ends.
  const folder = folderOf(desk, "desk_post", { timeoutMs: Math.ceil(LIMITS.turnMs / 4) });
  await runCairn(folder, ["start", "clerk"]);
  const supervisor = spawnCairn(folder, ["work"]);
  await untilAsked(desk);
  supervisor.child.kill("SIGTERM");
  await supervisor.ended;
  const [only, ...more] = desk.seen("started");
  expect(more).toEqual([]);
  await waitUntil(() => expect(isAlive(only?.pid)).toBe(false));
  // A busy machine may not end the beat in time; then the next supervisor finds out that the outcome is unknown.
  const next = spawnCairn(folder, ["work"]);
  expect(await restingStatus(folder)).toBe("blocked");
  expect({ asked: desk.seen("asked").length, done: desk.seen("done") }).toEqual({ asked: 1, done: [] });
  next.child.kill("SIGTERM");
  await next.ended;
  for (const { pid } of desk.seen("started")) await waitUntil(() => expect(isAlive(pid)).toBe(false));
});

test("a replay compares no tool of a server, says so, and starts no server", async () => {
  const desk = openDesk();
  const folder = folderOf(desk, "desk_look");
  await runCairn(folder, ["start", "clerk", "--wait"]);
  const [run] = parseJsonLines((await askCairn(folder, ["list", "--json"])).out);
  const started = desk.seen("started").length;
  desk.fault("refuse-to-start");
  const id = String(run?.["run"]);
  expect((await runCairn(folder, ["replay", id])).exit).toBe(0);
  const { exit, out } = await runCairn(folder, ["replay", id, "--against", "clerk"]);
  expect(out).toContain("not compared: up to 3 tools of MCP server desk (called: desk_look); no server was asked");
  expect({ exit, out }).toEqual({ exit: 0, out: expect.stringContaining("every request is the same") });
  expect(desk.seen("started")).toHaveLength(started);
});

test("a token of a server over HTTP is in no record of the run, and in no output", async () => {
  const guarded = await guardedServer([TOKEN]);
  const folder = createCliFolder(LONG_TIMEOUTS);
  writeFileSync(join(folder.dir, "clerk.ts"), tokenAgentFile(guarded.url));
  writeFileSync(join(folder.dir, ".env"), "DESK_SECRET=what-the-token-is-exchanged-for\n");
  const { exit, out, err } = await runCairn(folder, ["start", "clerk", "--wait"]);
  expect({ exit, out }).toEqual({ exit: 0, out: expect.stringContaining("seen with [secret MCP_DESK_TOKEN]") });
  expect(guarded.refused).not.toEqual([]);
  expect(guarded.calls).toEqual([TOKEN]);
  const [run] = parseJsonLines((await askCairn(folder, ["list", "--json"])).out);
  const { out: shown } = await askCairn(folder, ["timeline", String(run?.["run"]), "--json"]);
  expect(shown).toContain("seen with [secret MCP_DESK_TOKEN]");
  for (const said of [out, err, shown]) expect(said).not.toMatch(/that-is-long|exchanged-for/);
  const files = readdirSync(folder.store, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  const texts = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), "latin1"));
  expect(texts.filter((each) => /that-is-long|exchanged-for/.test(each))).toEqual([]);
});

test("the audit says what the hints would allow, and what a server that is down leaves out", async () => {
  const desk = openDesk();
  const folder = folderOf(desk, "desk_look");
  const { exit, out } = await runCairn(folder, ["audit", "clerk"]);
  expect(exit).toBe(0);
  expect(out).toMatch(/desk_post +unsafe/);
  expect(out).toContain('write effects: { "post": "idempotent" }');
  desk.fault("refuse-to-start");
  const down = await runCairn(folder, ["audit", "clerk", "--strict"]);
  expect({ exit: down.exit, out: down.out }).toEqual({
    exit: 1,
    out: expect.stringContaining("the tools of MCP server desk are not audited: MCP server desk cannot be reached"),
  });
});
