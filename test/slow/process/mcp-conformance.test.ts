/**
 * The server scenarios of MCP's own conformance package that apply. Its scenarios of resources, prompts, completion and
 * logging do not: cairn offers none of them. Images, audio and embedded resources are no results of a run. Sampling and
 * elicitation by a request of the server need a connection that lasts, which HTTP has not here: `mcp.test.ts` tests what
 * replaces them. Streams that the client polls again (`server-sse-*`) need a session, and this server has none.
 */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { defineAgent, scriptedModel } from "../../../src/index.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import { protocolServer } from "../../support/harness/protocol-server.ts";

const CONFORMANCE = join(import.meta.dirname, "../../../node_modules/@modelcontextprotocol/conformance/dist/index.js");

const address = z.object({ street: z.string(), city: z.string() }).meta({ id: "address" });

/** The tools that the scenarios call, as agents. */
const agents = [
  ["test_simple_text", z.object({})],
  ["test_error_handling", z.object({})],
  ["test_tool_with_progress", z.object({})],
  ["json_schema_2020_12_tool", z.strictObject({ name: z.string().optional(), address: address.optional() })],
].map(
  ([name, task]) =>
    defineAgent({
      name: name as string,
      version: "1",
      instructions: "",
      task: task as z.ZodType,
      model: scriptedModel({
        name: "script",
        reply: () => {
          if (name === "test_error_handling") throw new Error("This tool intentionally returns an error for testing");
          return { text: "This is a simple text response for testing." };
        },
      }),
      tools: {},
    }) as Agent,
);

test.each([
  "server-initialize",
  "ping",
  "tools-list",
  "tools-call-simple-text",
  "tools-call-error",
  "tools-call-with-progress",
  "json-schema-2020-12",
  "dns-rebinding-protection",
])("passes the scenario %s", async (scenario) => {
  const { url } = await protocolServer({ more: agents });
  const words = [CONFORMANCE, "server", "--url", `${url}/mcp`, "--scenario", scenario];
  const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect(out + err).toMatch(/Passed: [1-9]\d*\/\d+, 0 failed, 0 warnings/);
});
