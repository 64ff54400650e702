/**
 * `cairn-run/mcp`: the agents of an API or a store as tools of the Model Context Protocol, over standard input and output.
 * `cairn mcp` is this for a project, and `cairn-run/server` serves `/mcp` over HTTP.
 *
 * @example
 *   await serveMcp({ api: "https://agents.example.com", token: process.env.CAIRN_TOKEN });
 */
import type { Readable, Writable } from "node:stream";
import type { Agents } from "../../client/client.ts";
import { connect } from "../../client/connect.ts";
import type { ApiTarget, StoreTarget } from "../../client/targets.ts";
import { loadMcp } from "./load.ts";
import { ownVersion } from "./version.ts";

export type { ApiTarget, StoreTarget } from "../../client/targets.ts";
export { CairnError } from "../../client/errors.ts";

export interface McpOverStdio {
  /** Resolves when the client has closed its end. Runs go on. */
  readonly closed: Promise<void>;
  readonly close: () => Promise<void>;
}

/** `input` and `output`: default: those of the process, which may then write nothing else to its output. */
export interface StdioStreams {
  readonly input?: Readable;
  readonly output?: Writable;
}

/**
 * Serves one MCP client, with the rights of `target`.
 *
 * @throws CairnError `PackageMissing` without the peer `@modelcontextprotocol/server`, or the code of the world's error if
 * the store cannot be opened
 */
export async function serveMcp<Known extends Agents = Agents>(
  target: ApiTarget | StoreTarget<Known>,
  streams: StdioStreams = {},
): Promise<McpOverStdio> {
  const { serveClient } = await loadMcp(() => import("./stdio.ts"));
  const cairn = await connect(target);
  return serveClient(cairn, { ...streams, version: ownVersion() });
}
