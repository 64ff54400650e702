/** Agents with an MCP server on the real command line: secrets, killed workers, and what the audit says. */
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Desk, openDesk } from "../mcp-tools/desk.ts";
import {
  type CliFolder,
  createCliFolder,
  parseJsonLines,
  runCairn,
  spawnCairn,
  waitUntil,
} from "../support/processes/cli-process.ts";

const TOKEN = "token-of-the-desk-that-is-long";

const agentFile = ({ options }: Desk, tool: string): string => `
  import { defineAgent, scriptedModel } from "cairn-run";
  import { mcpServer } from "cairn-run/mcp-tools";
  import { z } from "zod";
  export const clerk = defineAgent({
    name: "clerk", version: "1", instructions: "", task: z.object({}), tools: {}, secrets: ["DESK_TOKEN"],
    model: scriptedModel({ name: "m", reply: ({ calls, text }) => calls.length > 0
      ? { text: JSON.stringify(calls) } : { calls: [{ tool: "${tool}", args: { text: "a" } }] } }),
    mcp: [mcpServer({ ...${JSON.stringify(options)},
      env: async (secrets) => ({ DESK_TOKEN: await secrets.get("DESK_TOKEN") }) })],
  });`;

function folderOf(desk: Desk, tool: string): CliFolder {
  const folder = createCliFolder();
  writeFileSync(join(folder.dir, "clerk.ts"), agentFile(desk, tool));
  writeFileSync(join(folder.dir, ".env"), `DESK_TOKEN=${TOKEN}\n`);
  return folder;
}

const isAlive = (pid: number | undefined): boolean => {
  try {
    return process.kill(pid ?? 0, 0);
  } catch {
    return false;
  }
};

test("a server gets its secret, which no record of the run shows", async () => {
  const desk = openDesk();
  const folder = folderOf(desk, "desk_look");
  const { exit, out } = await runCairn(folder, ["start", "clerk", "--wait"]);
  expect([exit, out]).toEqual([0, expect.stringContaining("look: a, [secret DESK_TOKEN]")]);
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
  await waitUntil(() => expect(desk.seen("asked")).toHaveLength(1));
  const [first] = desk.seen("started");
  process.kill(first?.worker ?? 0, "SIGKILL");
  await waitUntil(() => expect(isAlive(first?.pid)).toBe(false));
  await waitUntil(async () => {
    const [run] = parseJsonLines((await runCairn(folder, ["list", "--json"])).out);
    expect(run).toMatchObject({ status: "completed" });
  });
  expect(desk.seen("done")).toHaveLength(1);
  const last = desk.seen("started").at(-1);
  expect(isAlive(last?.pid)).toBe(true);
  supervisor.child.kill("SIGTERM");
  await waitUntil(() => expect(isAlive(last?.pid)).toBe(false));
});

test("the audit says what the hints would allow, and what a server that is down leaves out", async () => {
  const desk = openDesk();
  const folder = folderOf(desk, "desk_look");
  const { exit, out } = await runCairn(folder, ["audit", "clerk"]);
  expect(exit).toBe(0);
  expect(out).toMatch(/desk_post +unsafe/);
  expect(out).toContain('write effects: { "post": "keyed" }');
  desk.fault("refuse-to-start");
  const down = await runCairn(folder, ["audit", "clerk", "--strict"]);
  expect([down.exit, down.out]).toEqual([
    1,
    expect.stringContaining("the tools of MCP server desk are not audited: MCP server desk cannot be reached"),
  ]);
});
