/** A deployment of an agent whose MCP server would be a process beside the function. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { bundleFunctions } from "../../infra/bundle.ts";

const AGENT = `
  import { defineAgent } from "cairn-run";
  import { mcpServer } from "cairn-run/mcp-tools";
  import { z } from "zod";
  export const clerk = defineAgent({
    name: "clerk", version: "1", instructions: "", task: z.object({}), tools: {},
    model: "openai-compatible:http://127.0.0.1:9/v1#m", mcp: [mcpServer({ name: "desk", command: "desk" })],
  });`;

test("is refused before anything is bundled", async () => {
  const dir = mkdtempSync(join(import.meta.dirname, ".cairn-deployed-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const file = join(dir, "clerk.ts");
  writeFileSync(file, AGENT);
  await expect(bundleFunctions({ folder: join(tmpdir(), "cairn-refused"), agentFiles: [file] })).rejects.toThrow(
    /^agent clerk of .*clerk\.ts: MCP server desk is a process over stdio/,
  );
});
