/** The LocalStack server: starting, killing, restarting and stopping it without remains, on a separate port. */
import { readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { CreateTableCommand, type CreateTableCommandInput, ListTablesCommand } from "@aws-sdk/client-dynamodb";
import { expect, onTestFinished, test } from "vitest";
import { clientsOf } from "../../localstack/clients.ts";
import { isReady } from "../../localstack/server.ts";
import { down, up } from "../../localstack/up.ts";
import { until } from "./lane.ts";

/** A free port. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

/** Processes whose command line or environment names that instance; empty if it runs in a container. */
const processesOf = (port: number): readonly number[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => ["cmdline", "environ"].some((file) => read(pid, file).includes(`/instance-${port}`)))
    .map(Number);

/** Found by its command: the system reuses process IDs, so the lowest may be that of its DynamoDB. */
function mainProcessOf(port: number): number {
  const pid = processesOf(port).find((each) => read(String(each), "cmdline").includes("localstack.runtime.main"));
  if (pid === undefined) throw new Error(`LocalStack's own process is not among those of port ${port}`);
  return pid;
}

function read(pid: string, file: string): string {
  try {
    return readFileSync(join("/proc", pid, file), "utf8");
  } catch {
    return "";
  }
}

const ANY_TABLE: CreateTableCommandInput = {
  TableName: "one",
  BillingMode: "PAY_PER_REQUEST",
  AttributeDefinitions: [{ AttributeName: "key", AttributeType: "S" }],
  KeySchema: [{ AttributeName: "key", KeyType: "HASH" }],
};

test("is found when it runs, restarts after a kill, and leaves no process behind", async () => {
  const port = await freePort();
  const env = { ...process.env, LS_PORT: String(port) };
  onTestFinished(() => down(env).then(() => undefined));
  const first = await up(env, () => {});
  expect(first).toMatchObject({ wasUp: false, url: `http://127.0.0.1:${port}` });
  const { tables: client } = clientsOf(first.url);
  // DynamoDB is a separate process, which starts with the first table.
  await client.send(new CreateTableCommand(ANY_TABLE));
  expect(await up(env, () => {})).toMatchObject({ wasUp: true });
  if (processesOf(port).length > 0) {
    process.kill(mainProcessOf(port), "SIGKILL");
    await until(async () => expect(await isReady(first.url)).toBe(false));
    expect(processesOf(port)).not.toEqual([]);
    expect(await up(env, () => {})).toMatchObject({ wasUp: false });
    expect((await client.send(new ListTablesCommand())).TableNames).toEqual([]);
  }
  expect(await down(env)).toBeGreaterThan(0);
  expect(await isReady(first.url)).toBe(false);
  expect(processesOf(port)).toEqual([]);
  expect(await down(env)).toBe(0);
});
