/**
 * One call of an MCP tool, and what its end says about the effect. An error is a failure only if it says that the server
 * did not begin; after everything else, such as the death of the server in the middle of the call, the outcome is unknown.
 */
import type { CallToolResult, Tool as Definition } from "@modelcontextprotocol/client";
import { sentenceOf } from "../codec/value.ts";
import type { ToolContext } from "../ports/agent.ts";
import { OutcomeUnknown } from "../sdk/outcome.ts";
import type { Connection } from "./connection.ts";
import type { Live } from "./open.ts";
import { textOf, valueOf } from "./result-content.ts";

/** The server of a call. */
interface Server {
  readonly label: string;
  readonly connection: Connection;
}

/** The same name that cairn's own MCP server reads. */
const KEY = "cairn-run/idempotency-key";
/** The signal of the call fires first. */
const NEVER_MS = 2_147_483_647;

export const callServer = (server: Server, definition: Definition, context: ToolContext<unknown>): Promise<unknown> =>
  server.connection.use(context.secrets, async (live) => {
    const { key, signal } = context;
    const params = { name: definition.name, arguments: { ...(context.input as object) }, _meta: { [KEY]: key } };
    // A result is not judged by the schema of the server: its effect has happened, whatever it looks like.
    const { outputSchema: _, ...toolDefinition } = definition;
    const limits = { signal, timeout: NEVER_MS, maxTotalTimeout: NEVER_MS };
    const result = await live.client
      .callTool(params, { ...limits, toolDefinition })
      .catch((error: unknown) => throwFor(server, live, { error, signal }));
    return resultOf(result);
  });

function resultOf(result: CallToolResult): unknown {
  if (result.isError !== true) return valueOf(result);
  throw new Error(textOf(result) || "the tool failed and did not say why");
}

/** JSON-RPC errors of a server that did not begin: no request, no such tool, wrong arguments. */
const NOT_BEGUN = new Set([-32_700, -32_600, -32_601, -32_602]);
/** Failures before the first byte of a request. */
const NEVER_SENT = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT)$/;

function throwFor(
  { connection, label }: Server,
  live: Live,
  { error, signal }: { readonly error: unknown; readonly signal: AbortSignal },
): never {
  const { code, status, cause } = (error ?? {}) as Faulty;
  if (typeof code === "number") {
    // The list may be old.
    live.isListOld = true;
    if (NOT_BEGUN.has(code)) throw new Error(`${label} refused the call: ${sentenceOf(error)}`, { cause: error });
    throw new OutcomeUnknown(`${label} failed in the call: ${sentenceOf(error)}`, { cause: error });
  }
  if (signal.aborted) throw new OutcomeUnknown(`${label} did not answer in time`, { cause: error });
  const why = live.ended ?? sentenceOf(error);
  // A session that the server has forgotten, and a connection that broke, are of no more use.
  connection.drop(live, why);
  const isRefused = typeof status === "number" && status >= 400 && status < 500 && status !== 408;
  if (isRefused || NEVER_SENT.test(String(cause?.code))) {
    throw new Error(`${label} did not take the call: ${why}`, { cause: error });
  }
  throw new OutcomeUnknown(`${label} was lost in the middle of the call: ${why}`, { cause: error });
}

interface Faulty {
  readonly code?: unknown;
  readonly status?: unknown;
  readonly cause?: { readonly code?: unknown };
}
