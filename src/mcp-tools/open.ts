/** Opens a connection to an MCP server. The SDK is an optional peer, and is loaded with the first connection. */
import type { Client, StreamableHTTPClientTransport, Transport } from "@modelcontextprotocol/client";
import { sentenceOf } from "../codec/value.ts";
import type { ToolSecrets } from "../ports/agent.ts";
import { type Options, valuesOf } from "./server-options.ts";
import { StdioTransport } from "./stdio-transport.ts";

/** A connected client. */
export interface LiveConnection {
  readonly client: Client;
  /** Why the connection has ended; null: it has not. */
  ended: string | null;
  /** The number of requests of runs that are at work on it. */
  uses: number;
  /** The server said that its list of tools has changed. */
  isListOld: boolean;
  /** Whether a connection without calls keeps the process alive; only over stdio. */
  readonly keepAlive: (keeps: boolean) => void;
}

/** How the client names itself to servers. */
const CLIENT = { name: "cairn-run", version: "1" };

/** How the server ends a connection that is open: its last words, for humans. */
const LOST = "the server closed the connection";

/** Connects within `connectMs`. `fetch`: for a server over HTTP. */
export async function openConnection(
  options: Options,
  { secrets, fetch }: { readonly secrets: ToolSecrets; readonly fetch: typeof globalThis.fetch },
): Promise<LiveConnection> {
  const sdk = await loadSdk(() => import("@modelcontextprotocol/client"));
  const { command, connectMs } = options;
  const stdio = command === undefined ? null : new StdioTransport(sdk, await processOf(options, command, secrets));
  const transport = stdio ?? httpTransport(sdk, options, fetch);
  const client = new sdk.Client(CLIENT, {
    versionNegotiation: { mode: "auto" },
    listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => void (live.isListOld = true) } },
  });
  const keepAlive = (keeps: boolean): void => stdio?.keepAlive(keeps);
  const live: LiveConnection = { client, keepAlive, ended: null, uses: 0, isListOld: false };
  // A client has this one listener, and no events.
  // oxlint-disable-next-line unicorn/prefer-add-event-listener
  client.onclose = () => void (live.ended ??= stdio?.lastWords() ?? LOST);
  try {
    await client.connect(transport, { timeout: connectMs });
  } catch (cause) {
    const why = stdio?.lastWords();
    await client.close().catch(() => undefined);
    if (why === undefined || why === null) throw cause;
    // A server that did not answer was ended after that: its end explains nothing.
    const isLate = cause instanceof sdk.SdkError && cause.code === sdk.SdkErrorCode.RequestTimeout;
    throw new Error(isLate ? `${sentenceOf(cause)}; then ${why}` : why, { cause });
  }
  return live;
}

/**
 * When the server dies, the stream of an open call ends without its answer. The SDK tells it to its transport only, and the
 * call would hang until its timeout. So it gets an error as its answer.
 */
function httpTransport(sdk: Sdk, { url = "" }: Options, fetch: typeof globalThis.fetch): Transport {
  const transport = new sdk.StreamableHTTPClientTransport(new URL(url), { fetch });
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if (Array.isArray(message) || !("id" in message) || !("method" in message)) return send(message, options);
    const { id } = message;
    const error = { code: CONNECTION_CLOSED, message: "the connection broke before the answer came" };
    const onRequestStreamEnd = (): void => transport.onmessage?.({ jsonrpc: "2.0", id, error });
    return send(message, { ...options, onRequestStreamEnd });
  };
  return transport;
}

/** The code that MCP has for it. */
const CONNECTION_CLOSED = -32_000;

interface Sdk {
  readonly StreamableHTTPClientTransport: typeof StreamableHTTPClientTransport;
}

async function processOf({ args = [], cwd, env }: Options, command: string, secrets: ToolSecrets) {
  const { getDefaultEnvironment } = await import("@modelcontextprotocol/client/stdio");
  return { command, args, cwd, env: { ...getDefaultEnvironment(), ...(await valuesOf(env, secrets)) } };
}

async function loadSdk<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    const isMissing = cause instanceof Error && "code" in cause && cause.code === "ERR_MODULE_NOT_FOUND";
    if (!isMissing || !cause.message.includes("'@modelcontextprotocol/client'")) throw cause;
    const next = "type: npm install @modelcontextprotocol/client";
    throw new Error(`PackageMissing: MCP servers need the package @modelcontextprotocol/client; ${next}`, { cause });
  }
}
