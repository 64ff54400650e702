/** Runs that MCP clients start: whatever is killed, a call with the same key returns the result of the one run. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, onTestFinished, test } from "vitest";
import { LIMITS } from "../../support/gate/limits.ts";
import {
  askCairn,
  type CliFolder,
  type CliProcess,
  countMails,
  createCliFolder,
  freePort,
  openGate,
  parseJsonLines,
  spawnCairn,
  waitForOutput,
} from "../../support/processes/cli-process.ts";
import { waitUntil } from "../../support/gate/safety.ts";
import { MAIN } from "../../support/processes/program.ts";

const newClient = (): Client => {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
  onTestFinished(() => client.close());
  return client;
};

async function overStdio({ dir, store, env }: CliFolder): Promise<{ readonly client: Client; readonly pid: number }> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [MAIN, "mcp", "--store", store],
    cwd: dir,
    env: Object.fromEntries(
      Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    ),
    stderr: "ignore",
  });
  const client = newClient();
  await client.connect(transport);
  return { client, pid: transport.pid ?? 0 };
}

async function overHttp(url: string): Promise<Client> {
  const client = newClient();
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)));
  return client;
}

const CALL = {
  name: "clerk",
  arguments: { steps: ["mail", "gate", "note"] },
  _meta: { "cairn-run/idempotency-key": "order-7" },
};
const DONE = [{ type: "text", text: "done: succeeded, succeeded, succeeded" }];

/** Resolves when the run waits in `gate`, after its letter. */
async function inGate(folder: CliFolder): Promise<void> {
  await waitUntil(async () => {
    const [run] = parseJsonLines((await askCairn(folder, ["list", "--json"])).out);
    const calls = parseJsonLines((await askCairn(folder, ["ledger", String(run?.["run"]), "--json"])).out);
    expect(calls).toMatchObject([
      { tool: "mail", status: "succeeded" },
      { tool: "gate", status: "started" },
    ]);
  });
}

test("over stdio: the server and the supervisor die in the middle, and the next server returns the result", async () => {
  const folder = createCliFolder();
  const first = await overStdio(folder);
  const supervisor = spawnCairn(folder, ["work"]);
  const calling = first.client.callTool(CALL, { timeout: LIMITS.runMs });
  calling.catch(() => undefined);
  await inGate(folder);
  process.kill(first.pid, "SIGKILL");
  supervisor.child.kill("SIGKILL");
  await expect(calling).rejects.toThrow(/closed|failed|terminated/i);
  openGate(folder);
  spawnCairn(folder, ["work"]);
  const { client } = await overStdio(folder);
  expect((await client.callTool(CALL, { timeout: LIMITS.runMs })).content).toEqual(DONE);
  expect(countMails(folder)).toBe(1);
});

async function served(folder: CliFolder): Promise<{ readonly process: CliProcess; readonly url: string }> {
  const port = await freePort();
  const server = spawnCairn(folder, ["serve", "--port", String(port)]);
  const url = `http://127.0.0.1:${port}`;
  await waitForOutput(server, url);
  return { process: server, url };
}

test("over HTTP: the server dies in the middle, and its successor returns the result of the one run", async () => {
  const folder = createCliFolder();
  const first = await served(folder);
  const calling = (await overHttp(first.url)).callTool(CALL, { timeout: LIMITS.runMs });
  calling.catch(() => undefined);
  await inGate(folder);
  first.process.child.kill("SIGKILL");
  await expect(calling).rejects.toThrow(/closed|failed|terminated/i);
  openGate(folder);
  const second = await served(folder);
  expect((await (await overHttp(second.url)).callTool(CALL, { timeout: LIMITS.runMs })).content).toEqual(DONE);
  expect(countMails(folder)).toBe(1);
});
