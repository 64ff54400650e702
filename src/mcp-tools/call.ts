/**
 * One call of an MCP tool, and what its end says about the effect. An error is a failure only if the tool reports it, or if
 * it says that the server did not begin. After everything else, such as the death of the server in the middle of the call,
 * the outcome is unknown.
 */
import type { CallToolResult, Tool as Definition } from "@modelcontextprotocol/client";
import { sentenceOf } from "../codec/value.ts";
import { EFFECTS, type Effect } from "../core/calls/effects.ts";
import type { ToolContext } from "../ports/agent.ts";
import { unlessAborted } from "../ports/unless-aborted.ts";
import { OutcomeUnknown } from "../sdk/outcome.ts";
import { refusalIn } from "./authorization.ts";
import type { Connection } from "./connection.ts";
import type { LiveConnection } from "./open.ts";
import { resultAsText, valueOf } from "./result-content.ts";

/** The server of a call. */
interface Server {
  readonly label: string;
  readonly connection: Connection;
  readonly effect: Effect;
}

/** The same name that cairn's own MCP server reads. */
const KEY = "cairn-run/idempotency-key";
/** The signal of the call fires first. */
const NEVER_MS = 2_147_483_647;

/**
 * A server that has forgotten the session of its connection took nothing of the call, so the call goes out again on a new
 * connection, whatever its effect class is.
 */
export async function callServer(
  server: Server,
  definition: Definition,
  context: ToolContext<unknown>,
): Promise<unknown> {
  const call = (mayForget: boolean): Promise<unknown> =>
    server.connection.use(context.secrets, (live) => callOn(live, { ...server, mayForget }, { definition, context }));
  try {
    return await call(true);
  } catch (error) {
    if (!(error instanceof ConnectionForgotten)) throw error;
    return call(false);
  }
}

class ConnectionForgotten extends Error {
  override readonly name = "ConnectionForgotten";
}

async function callOn(
  live: LiveConnection,
  server: Server & { readonly mayForget: boolean },
  { definition, context }: { readonly definition: Definition; readonly context: ToolContext<unknown> },
): Promise<unknown> {
  const { key, signal } = context;
  const params = { name: definition.name, arguments: { ...(context.input as object) }, _meta: { [KEY]: key } };
  // A result is not judged by the schema of the server: its effect has happened, whatever it looks like.
  const { outputSchema: _, ...toolDefinition } = definition;
  const options = { timeout: NEVER_MS, maxTotalTimeout: NEVER_MS, toolDefinition };
  const call = (more: { readonly signal?: AbortSignal }) => live.client.callTool(params, { ...options, ...more });
  // A keyed call is sent again under its key, and then finds what the first one began. So it is left to the server.
  const called = server.effect === "keyed" ? unlessAborted(signal, () => call({})) : call({ signal });
  return resultOf(server, await called.catch((error: unknown) => throwFor(server, live, { error, signal })));
}

function resultOf(server: Server, result: CallToolResult): unknown {
  if (result.isError !== true) return valueOf(result);
  const text = resultAsText(result);
  if (hasActed(server, text)) throw new OutcomeUnknown(`${server.label} refused the output of its own tool: ${text}`);
  throw new Error(text || "the tool failed and did not say why");
}

/**
 * Servers check the output of a tool after it has run, and report their refusal of it as an error of the tool, or of the
 * request. The SDKs of TypeScript and Python begin its text in this way. A tool without effects has just failed.
 */
const hasActed = ({ effect }: Server, text: string): boolean =>
  EFFECTS[effect].actsOutside && /^(?:MCP error -32602: )*Output validation error/.test(text);

/** JSON-RPC errors of a server that did not begin: no request, no such tool, wrong arguments. */
const NOT_BEGUN = new Set([-32_700, -32_600, -32_601, -32_602]);
/** Failures before the first byte of a request. */
const NEVER_SENT = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT)$/;

/** What servers answer to the name of a session that they have forgotten. */
const FORGOTTEN: ReadonlySet<unknown> = new Set([400, 404]);

function throwFor(
  server: Server & { readonly mayForget: boolean },
  live: LiveConnection,
  { error, signal }: { readonly error: unknown; readonly signal: AbortSignal },
): never {
  const { connection, label } = server;
  const { code, status, cause } = (error ?? {}) as Faulty;
  if (typeof code === "number") {
    // The list may be old.
    live.isListOld = true;
    const isBegun = !NOT_BEGUN.has(code) || hasActed(server, sentenceOf(error));
    if (!isBegun) throw new Error(`${label} refused the call: ${sentenceOf(error)}`, { cause: error });
    throw new OutcomeUnknown(`${label} failed in the call: ${sentenceOf(error)}`, { cause: error });
  }
  if (signal.aborted) throw new OutcomeUnknown(`${label} did not answer in time`, { cause: error });
  const refusal = refusalIn(error);
  if (refusal !== null) throw new Error(`${label} refused the call: ${refusal.message}`, { cause: error });
  const why = live.ended ?? sentenceOf(error);
  connection.giveUpAfter(error, live);
  const isNamed = live.client.transport?.sessionId !== undefined;
  if (server.mayForget && isNamed && FORGOTTEN.has(status)) throw new ConnectionForgotten(why, { cause: error });
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
