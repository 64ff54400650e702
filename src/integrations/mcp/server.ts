/**
 * The MCP server of a client of cairn: each agent is a tool, and each call of a tool is a run. It holds no state: all it
 * knows is in the run, so any process can answer the next request.
 *
 * A client that supports the tasks extension gets a task at once, and polls it. For any other client the call lasts as
 * long as the run, and its progress is that of the run. Where the run waits for a human, the client is asked for input
 * (`input_required`), if it can ask.
 */
import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  McpServer,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from "@modelcontextprotocol/server";
import * as z from "zod";
import type { Client } from "../../client/client.ts";
import { CairnError } from "../../client/errors.ts";
import { type Abilities, abilitiesIn, callAgent, decideEach } from "./call-agent.ts";
import { agentTool } from "./agent-tools.ts";
import { TASKS, type McpTask, mcpTaskOf } from "./task.ts";

/** What the server needs. The client performs each operation with the rights of the caller. */
export interface McpServing {
  readonly cairn: Client;
  /** `modern`: the protocol of 2026-07-28 and later, which has the tasks extension. */
  readonly era: "legacy" | "modern";
  /** The version that the server tells its clients. */
  readonly version: string;
}

export function cairnMcpServer({ cairn, era, version }: McpServing): McpServer {
  const extensions = era === "modern" ? { extensions: { [TASKS]: {} } } : {};
  const built = new McpServer(
    { name: "cairn", version },
    { capabilities: { tools: {}, ...extensions }, instructions: INSTRUCTIONS },
  );
  // The tools come from the API with each request, so they are not registered one by one.
  const { server } = built;
  const abilitiesOf = (context: ServerContext): Abilities => {
    if (era === "modern") return abilitiesIn(envelopeOf(context)[CLIENT_CAPABILITIES_META_KEY]);
    // oxlint-disable-next-line typescript/no-deprecated -- a connection of the legacy era has it nowhere else
    return abilitiesIn(server.getClientCapabilities());
  };
  server.setRequestHandler("tools/list", async () => {
    const { agents } = await asProtocolErrors(() => cairn.agents());
    return { tools: agents.map(agentTool) };
  });
  server.setRequestHandler("tools/call", ({ params: { name, arguments: given = {} } }, context) =>
    callAgent(cairn, { name, given, context, abilities: abilitiesOf(context) }),
  );
  if (era === "modern") addTasks(server, { cairn, abilitiesOf });
  return built;
}

/** Each request of the modern era says what its client can do. The SDK checks that, and gives it no type. */
const envelopeOf = ({ mcpReq }: ServerContext): { readonly [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities } =>
  mcpReq.envelope ?? {};

const INSTRUCTIONS =
  "Each tool starts a run of an agent, which survives crashes. To send a call again without starting a second run, " +
  'put the same "cairn-run/idempotency-key" into _meta.';

const named = z.object({ taskId: z.string().max(64) });

/** A task is a run, and its ID is the ID of the run: a caller gets only tasks of its tenant. */
function addTasks(
  server: McpServer["server"],
  { cairn, abilitiesOf }: { readonly cairn: Client; readonly abilitiesOf: (context: ServerContext) => Abilities },
): void {
  const required = (context: ServerContext): Abilities => {
    const abilities = abilitiesOf(context);
    if (abilities.tasks) return abilities;
    throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { extensions: { [TASKS]: {} } } });
  };
  server.setRequestHandler("tasks/get", { params: named }, async ({ taskId }, context): Promise<McpTask> => {
    const { elicits } = required(context);
    return asProtocolErrors(async () => mcpTaskOf(await cairn.get(taskId), elicits));
  });
  server.setRequestHandler("tasks/update", { params: named }, async ({ taskId }, context) => {
    required(context);
    // The SDK takes the answers out of the parameters.
    const { inputResponses = {} } = context.mcpReq;
    await asProtocolErrors(async () => decideEach(cairn, { run: await cairn.get(taskId), inputResponses }));
    return {};
  });
  server.setRequestHandler("tasks/cancel", { params: named }, async ({ taskId }, context) => {
    required(context);
    await asProtocolErrors(() => cancelled(cairn, taskId));
    return {};
  });
}

/** A run that has ended is as good as cancelled for the client, which reads how it ended. */
async function cancelled(cairn: Client, run: string): Promise<void> {
  try {
    await cairn.cancel(run);
  } catch (error) {
    if (!(error instanceof CairnError && error.code === "Late")) throw error;
  }
}

/** The error of a request that is no call of a tool. Its message begins with the stable code. */
async function asProtocolErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof CairnError)) throw error;
    const { code, message, status } = error;
    const isOfRequest = status !== null && status >= 400 && status < 500;
    const kind = isOfRequest ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
    throw new ProtocolError(kind, `${code}: ${message}`, { code });
  }
}
