/** A server that answers with a list of tools which is none: it can be reached, and the run says what is wrong. */
import { expect, test } from "vitest";
import { mcpServer } from "../../src/mcp-tools/index.ts";
import { LIMITS } from "../support/gate/limits.ts";

const NO_SECRETS = { get: (name: string) => Promise.reject(new Error(`no ${name}`)) };

/** A server over stdio whose list of tools is this. */
const serverWith = (list: unknown) => `
  const lines = require("node:readline").createInterface({ input: process.stdin });
  lines.on("line", (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    const say = (part) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...part }) + "\\n");
    if (method === "initialize") {
      const serverInfo = { name: "odd-" + process.pid, version: "1" };
      return say({ result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo } });
    }
    if (method === "tools/list") return say({ result: ${JSON.stringify(list)} });
    say({ error: { code: -32601, message: "no such method" } });
  });`;

test.each([
  ["tools without a name", { tools: [{ inputSchema: { type: "object" } }] }],
  ["no tools at all", { things: [] }],
])("names a list with %s invalid, and not a server that cannot be reached", async (_, list) => {
  const args = ["-e", serverWith(list)];
  const connectMs = Math.min(LIMITS.startMs, 45_000);
  const source = mcpServer({ name: "odd", command: process.execPath, args, connectMs });
  const listed = source.list({ secrets: NO_SECRETS, mayBeOld: false, now: 0 });
  await expect(listed).rejects.toThrow(/^MCP server odd gave an invalid list of tools: .*tools/s);
});
