/** MCP over standard input and output: one client, whose rights are those of the process. */
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Readable, Writable } from "node:stream";
import type { Client } from "../../client/client.ts";
import { SIZES } from "../../codec/limits.ts";
import { cairnMcpServer } from "./server.ts";

/** Closes `cairn` when the MCP client has closed its end. */
export function serveClient(
  cairn: Client,
  { input, output, version }: { readonly input?: Readable; readonly output?: Writable; readonly version: string },
): { readonly closed: Promise<void>; readonly close: () => Promise<void> } {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const transport = new ClosingTransport(input, output, { maxBufferSize: SIZES.httpBodyBytesMax });
  transport.onClosed = () => void cairn.close().then(resolve, resolve);
  const handle = serveStdio(({ era }) => cairnMcpServer({ cairn, era, version }), { transport });
  return { closed, close: () => handle.close() };
}

/** `serveStdio` takes `onclose` for itself. */
class ClosingTransport extends StdioServerTransport {
  onClosed: () => void = () => undefined;
  #isClosed = false;

  override async close(): Promise<void> {
    await super.close();
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.onClosed();
  }
}
