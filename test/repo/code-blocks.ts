/**
 * What the blocks of code on each page leave out, so that a compiler can read them, in the order of the blocks.
 *
 * `as`: what a block is. A module stands alone; the others are fields: of an agent, of a config, of a tool, or of the list
 * of an agent's tools; or the argument of a call. `before`: what a block names and does not declare. A comment `// ...` in
 * an object stands for `rest`, which `before` declares.
 */

export interface Block {
  readonly as: "module" | "agent" | "config" | "tool" | "tools" | "argument";
  readonly before?: string;
}

const MODULE: Block = { as: "module" };
const AGENT: Block = { as: "agent" };
const CONFIG: Block = { as: "config" };

const Z = 'import { z } from "zod";\n';
const CAIRN = `import * as all from "cairn-run";\nconst { check, defineAgent, tool } = all;\n${Z}`;
const EFFECTS = `import * as effects from "cairn-run/effects";\n${Z}`;
const MODEL = 'declare const model: import("@ai-sdk/provider").LanguageModelV4;\n';
const SST = `type Options = import("../../infra/options.ts").CairnOptions;
declare const cairn: (name: string, options?: Options) => Promise<unknown>;\n`;
const AUTH = 'declare const auth: import("cairn-run/server").ServerOptions["auth"];\n';
const AGENTS = `import { type Agent, defineAgent } from "cairn-run";\n${Z}
export declare const agents: readonly Agent[];
export const refunds = defineAgent({
  ...{ name: "refunds", version: "1", model: "", instructions: "", tools: {}, budget: { beats: 1 } },
  task: z.object({ order: z.string(), complaint: z.string() }),
});
`;

/** Files beside the blocks, which they import. */
export const FILES: Readonly<Record<string, string>> = {
  "agents.ts": AGENTS,
  "clerk.ts": 'export * from "./docs-testing-md-1.ts";\n',
  "agent.ts": 'export declare const travel: import("cairn-run").Agent;\n',
  "my-object-store.ts": 'export declare const objects: import("../../src/ports/object-store.ts").ObjectStore;\n',
};

export const BLOCKS: Readonly<Record<string, readonly Block[]>> = {
  "README.md": [MODULE],
  "docs/a2a.md": [MODULE],
  "docs/agents.md": [
    AGENT,
    AGENT,
    { as: "agent", before: 'const { check } = await import("cairn-run");' },
    { as: "agent", before: Z },
    {
      as: "module",
      before: `${CAIRN}const { fromToolLoopAgent } = all;
declare const model: import("ai").LanguageModel;
declare const instructions: string;
declare const tools: import("ai").ToolSet;`,
    },
    {
      as: "module",
      before: `${Z}declare const rest: { version: string; model: string; instructions: string; task: z.ZodString };`,
    },
    { as: "agent", before: Z },
    {
      as: "tools",
      before: `import { tool, waitFor } from "cairn-run";\n${Z}declare const API: string;
declare const printer: { order: (of: { title: string; key: string; callbackUrl: string }) => Promise<string> };`,
    },
    AGENT,
    AGENT,
  ],
  "docs/chaos.md": [
    {
      as: "module",
      before: `import { defineChaos } from "cairn-run";
declare const lettersIn: (dir: string) => readonly { id: string; to: string }[];`,
    },
  ],
  "docs/chat.md": [
    {
      as: "module",
      before: `${CAIRN}${MODEL}declare const refund: import("cairn-run").Tool;`,
    },
    {
      as: "module",
      before: `import { useChat } from "@ai-sdk/react";\nimport { WorkflowChatTransport } from "@ai-sdk/workflow";
declare const chatId: string;\ndeclare const hasToSend: () => boolean;`,
    },
    { as: "module", before: 'import { HttpAgent } from "@ag-ui/client";\ndeclare const threadId: string;' },
  ],
  "docs/client.md": [MODULE],
  "docs/console.md": [CONFIG],
  "docs/cost.md": [CONFIG],
  "docs/deploy.md": [
    {
      as: "module",
      before: `interface App { name: string; home: "aws"; removal: "retain" | "remove" }
declare const $config: (of: { app(input?: { stage?: string }): App; run(): Promise<unknown> }) => object;`,
    },
    { as: "module", before: `${SST}declare const queue: { url: string; arn: string };` },
    { as: "module", before: 'import type { Config } from "cairn-run";' },
  ],
  "docs/effects.md": [
    MODULE,
    {
      as: "module",
      before: `${EFFECTS}const { createEffectTables, postgresDatabase, sqlEffect } = effects;
declare const Pool: new (options: object) => Parameters<typeof postgresDatabase>[0];\ndeclare const connectionString: string;`,
    },
    {
      as: "module",
      before: `${EFFECTS}const { s3Put } = effects;\nimport { S3 } from "@aws-sdk/client-s3";`,
    },
    {
      as: "module",
      before: `${EFFECTS}const { sqsSend } = effects;\nimport { SQS } from "@aws-sdk/client-sqs";`,
    },
    {
      as: "module",
      before: `${EFFECTS}const { mailEffect, smtpSender } = effects;
declare const createTransport: (options: object) => Parameters<typeof smtpSender>[0];`,
    },
    {
      as: "module",
      before: `${EFFECTS}const { stripePayment } = effects;\ndeclare const cardOf: (task: unknown) => { source: string };`,
    },
  ],
  "docs/embedding.md": [
    {
      as: "module",
      before: "declare const userOf: (request: Request) => Promise<{ team: string; name: string } | null>;",
    },
    { as: "module", before: AUTH },
    MODULE,
    MODULE,
    {
      as: "module",
      before: `import { type ApiServer, createServer } from "cairn-run/server";\nimport { agents } from "./agents.ts";\n${AUTH}`,
    },
    {
      as: "module",
      before: `import type { IncomingMessage, ServerResponse } from "node:http";
declare const api: import("cairn-run/server").ApiServer;
interface Scope {
  removeAllContentTypeParsers(): void;
  addContentTypeParser(type: string, parse: (request: unknown, payload: unknown, done: (error: null) => void) => void): void;
  all(path: string, handle: (request: { raw: IncomingMessage }, reply: { raw: ServerResponse; hijack(): void }) => unknown): void;
}
declare const app: { register(plugin: (scope: Scope) => Promise<void>): void };`,
    },
  ],
  "docs/files.md": [
    {
      as: "tools",
      before: `import { fileSchema, tool, toolFile } from "cairn-run";\n${Z}
declare const open: (url: string) => Promise<{ title: string; screenshot: () => Promise<Uint8Array> }>;`,
    },
  ],
  "docs/http-api.md": [CONFIG, CONFIG],
  "docs/langgraph.md": [
    {
      as: "module",
      before: `import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
declare const builder: { compile(of: { checkpointer: BaseCheckpointSaver }): { invoke(input: object, config: object): Promise<unknown> } };`,
    },
  ],
  "docs/mcp-tools.md": [
    {
      as: "module",
      before: `${Z}declare const rest: { version: string; model: string; instructions: string; task: z.ZodString; budget: { beats: number }; tools: {} };`,
    },
    { as: "argument", before: 'import { mcpServer } from "cairn-run/mcp-tools";' },
  ],
  "docs/memory.md": [
    {
      as: "module",
      before: `${CAIRN}declare const rest: { name: string; version: string; model: string; instructions: string; task: z.ZodObject<{ topic: z.ZodString }>; budget: { beats: number }; tools: {} };`,
    },
    { as: "tool", before: "" },
    {
      as: "module",
      before: `import { type Memory, httpSource } from "cairn-run";
declare const [memory, input, signal]: [Memory, { url: string }, AbortSignal];`,
    },
  ],
  "docs/models.md": [
    { as: "module", before: SST },
    {
      as: "module",
      before: `import type { AsynchronousCalls, AsynchronousModel, DetachedSearch, DetachedState } from "cairn-run";
import { createOpenAI } from "@ai-sdk/openai";
declare const queue: {
  add(job: object, signal?: AbortSignal): Promise<{ id: string }>;
  stateOf(id: string): Promise<DetachedState>;
  findByKey(key: string): Promise<DetachedSearch>;
  cancel(id: string): Promise<void>;
};`,
    },
  ],
  "docs/operations.md": [{ as: "module", before: `${SST}declare const collectorLayerArn: string;` }],
  "docs/recordings.md": [MODULE],
  "docs/retention.md": [AGENT],
  "docs/sagas.md": [
    {
      as: "tools",
      before: `import { tool } from "cairn-run";\n${Z}const hotelOrder = z.object({ nights: z.int() });
interface Sent { key: string; signal: AbortSignal }
declare const hotel: { book(order: { nights: number }, sent: Sent): Promise<string>; cancel(key: string, sent: Sent): Promise<string> };`,
    },
    AGENT,
  ],
  "docs/secrets.md": [
    {
      as: "module",
      before: `${CAIRN}declare const rest: { name: string; version: string; model: string; instructions: string; task: z.ZodString; budget: { beats: number } };
declare const airline: (token: string) => { book(flight: string, key: string): Promise<string> };`,
    },
  ],
  "docs/testing.md": [
    MODULE,
    MODULE,
    { as: "module", before: 'import { fakeService } from "cairn-run/testing";' },
    MODULE,
  ],
  "docs/topologies.md": [
    {
      as: "agent",
      before: `import { judge, pipeline } from "cairn-run";\n${Z}const invoice = z.object({ total: z.number() });
declare const addsUp: (of: { output: unknown }) => boolean;\ndeclare const isRight: (output: unknown) => boolean;`,
    },
    {
      as: "agent",
      before: 'import { planExecute } from "cairn-run";\ndeclare const isFree: (about: unknown) => boolean;',
    },
    {
      as: "agent",
      before: `import { childTool, orchestrator } from "cairn-run";\n${Z}const memo = z.object({ text: z.string() });
const rest = { description: "", input: z.object({ product: z.string() }), budget: { beats: 1 } };`,
    },
  ],
  "docs/triggers.md": [AGENT],
  "docs/upgrades.md": [CONFIG],
  "docs/webhooks.md": [
    CONFIG,
    {
      as: "module",
      before: "declare const body: string;\ndeclare const headers: Record<string, string>;",
    },
  ],
};
