/** An MCP server as a source of tools. Its options are checked when the agent is defined; nothing is started yet. */
import type { Tool, ToolSource } from "../ports/agent.ts";
import { Connection } from "./connection.ts";
import { type ListedTools, listedTools } from "./listed-tools.ts";
import { type McpServerOptions, checkOptions } from "./server-options.ts";

/**
 * The tools of an MCP server, for `mcp` of `defineAgent`. The server is asked for its tools when a run needs them; a run
 * waits while it cannot be asked. Agents that share the object share one connection.
 *
 * @throws AgentInvalid with the first wrong option
 */
export function mcpServer(options: McpServerOptions): ToolSource {
  const checked = checkOptions(options);
  const { name, command, timeoutMs = null, prefix = `${name}_` } = checked;
  const label = `MCP server ${name}`;
  const connection = new Connection({ ...checked, label });
  let before: ListedTools | null = null;
  return {
    label,
    prefix,
    timeoutMs,
    startsProcess: command !== undefined,
    ...(options.connectMs !== undefined && { connectMs: options.connectMs }),
    leftOut: () => before?.leftOut ?? [],
    list: async (asked): Promise<Readonly<Record<string, Tool>>> => {
      const definitions = await connection.list(asked);
      if (before?.definitions !== definitions) {
        before = await listedTools({ ...checked, label, prefix, connection }, definitions, before);
      }
      return before.tools;
    },
  };
}
