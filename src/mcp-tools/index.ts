/**
 * `cairn-run/mcp-tools`: the tools of MCP servers for an agent. A run calls them like its own tools: with an effect class,
 * a timeout, an idempotency key and approvals.
 *
 * @example
 *   export const triager = defineAgent({
 *     ...
 *     secrets: ["GITHUB_TOKEN"],
 *     mcp: [
 *       mcpServer({
 *         name: "github",
 *         url: "https://api.githubcopilot.com/mcp/",
 *         headers: async (secrets) => ({ authorization: `Bearer ${await secrets.get("GITHUB_TOKEN")}` }),
 *         only: ["list_issues", "create_issue"],
 *         approval: { create_issue: "always" },
 *       }),
 *     ],
 *   });
 */
export { mcpServer } from "./server.ts";
export type { McpHttpServer, McpServerOptions, McpStdioServer, McpToken } from "./server-options.ts";
