/** Clients of MCP, with the SDK's own code, over HTTP and over streams. */
import { PassThrough } from "node:stream";
import { Client, type ClientCapabilities, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { expect, onTestFinished } from "vitest";
import { z } from "zod";
import { connect } from "../../../src/client/index.ts";
import { serveClient } from "../../../src/integrations/mcp/stdio.ts";
import { LIMITS } from "../../support/gate/limits.ts";
import { waitUntil } from "../../support/gate/safety.ts";
import { type ProtocolServer } from "../../support/harness/protocol-server.ts";

type Era = "legacy" | "modern";

export interface Asked {
  readonly message: string;
  readonly properties: readonly string[];
}

export interface Form {
  readonly action: "accept" | "decline" | "cancel";
  readonly content?: Record<string, string>;
}

interface ClientOptions {
  readonly era?: Era;
  readonly token?: string;
  /** What the human says when asked. Without it the client cannot ask. */
  readonly human?: (asked: Asked) => Form;
  readonly extensions?: ClientCapabilities["extensions"];
}

function clientFor({ era = "modern", human, extensions }: ClientOptions): Client {
  const capabilities = { ...(human && { elicitation: { form: {} } }), ...(extensions && { extensions }) };
  const client = new Client(
    { name: "test", version: "1" },
    { capabilities, versionNegotiation: { mode: era === "modern" ? { pin: "2026-07-28" } : "legacy" } },
  );
  if (human !== undefined)
    client.setRequestHandler("elicitation/create", async ({ params }) => {
      const schema = "requestedSchema" in params ? params.requestedSchema : { properties: {} };
      return { ...human({ message: params.message, properties: Object.keys(schema.properties) }) };
    });
  onTestFinished(() => client.close());
  return client;
}

export async function overHttp({ url }: ProtocolServer, options: ClientOptions = {}): Promise<Client> {
  const client = clientFor(options);
  const headers = options.token === undefined ? {} : { authorization: `Bearer ${options.token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }));
  return client;
}

/** The transport of a client has the same form as that of a server, with the streams exchanged. */
export async function overStreams({ url }: ProtocolServer, options: ClientOptions = {}): Promise<Client> {
  const [toServer, toClient] = [new PassThrough(), new PassThrough()];
  serveClient(await connect({ api: url }), { input: toServer, output: toClient, version: "1" });
  const client = clientFor(options);
  await client.connect(new StdioServerTransport(toClient, toServer));
  return client;
}

export const textIn = (result: { readonly content?: unknown }): string =>
  (result.content as readonly { readonly text: string }[]).map(({ text }) => text).join("\n");

export const call = (plan: string, key?: string) => ({
  name: "clerk",
  arguments: { plan },
  ...(key !== undefined && { _meta: { "cairn-run/idempotency-key": key } }),
});

const TASKS = { "io.modelcontextprotocol/tasks": {} };
export const anything = z.looseObject({});

/** The SDK's client knows no tasks yet: it refuses the result of a call, which is read from the wire here. */
export async function startTask(server: ProtocolServer, options: ClientOptions = {}) {
  const results: Record<string, unknown>[] = [];
  const client = await overHttp(server, { extensions: TASKS, ...options });
  const { transport } = client;
  if (transport === undefined) throw new Error("not connected");
  const { onmessage } = transport;
  // A transport has this one listener, and no events.
  // oxlint-disable-next-line unicorn/prefer-add-event-listener
  transport.onmessage = (message, extra) => {
    if ("result" in message) results.push(message.result);
    onmessage?.(message, extra);
  };
  const start = async (plan: string): Promise<string> => {
    await expect(client.callTool(call(plan))).rejects.toThrow(/Unsupported result type 'task'/);
    const task = results.at(-1);
    expect(task).toMatchObject({ resultType: "task", status: "working", ttlMs: null, pollIntervalMs: 1_000 });
    return String(task?.["taskId"]);
  };
  const ask = (method: string, params: Record<string, unknown>) => client.request({ method, params }, anything);
  const until = (taskId: string, status: string): Promise<Record<string, unknown>> =>
    waitUntil(async () => {
      const task = await ask("tasks/get", { taskId });
      expect(task).toMatchObject({ status });
      return task;
    }, LIMITS.eventMs);
  return { start, ask, until };
}
