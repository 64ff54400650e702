/**
 * A tool that reads what a `resource_link` in a result leads to. It takes only links that results of the same server gave in
 * the same run, so no text that the model read elsewhere makes it read another resource of the server.
 */
import * as z from "zod";
import { sentenceOf } from "../codec/value.ts";
import type { Tool, ToolContext } from "../ports/agent.ts";
import { tool } from "../sdk/define.ts";
import { type Connection, ServerUnreachable } from "./connection.ts";
import { valueOf } from "./result-content.ts";

/** Its name, behind the prefix of the server; also in `only` and `approval`. */
export const READ_RESOURCE = "read_resource";

/** The server whose resources are read. */
interface Linking {
  readonly label: string;
  readonly connection: Connection;
  readonly timeoutMs?: number | null | undefined;
}

interface Linked {
  readonly uri: string;
}

const input: z.ZodType = z.object({ uri: z.string().min(1).max(4_000) });

/** `tools`: the names of the tools whose results give links. */
export const readingTool = (
  server: Linking,
  { tools, approval }: { readonly tools: readonly string[]; readonly approval: "never" | "always" },
): Tool => ({
  ...tool({
    input,
    effect: "none",
    approval,
    timeoutMs: server.timeoutMs ?? null,
    description: `Reads what an address leads to that a result of a tool of ${server.label} gave as a link in this run.`,
    retry: { attempts: 3, backoffMs: 1_000, when: (error: unknown) => error instanceof ServerUnreachable },
    run: (context) => readLinked(server, tools, context as ToolContext<Linked>),
  }),
  isListed: true,
  suggests: [],
});

async function readLinked(
  { label, connection }: Linking,
  tools: readonly string[],
  { input: { uri }, wasGiven, secrets, signal }: ToolContext<Linked>,
): Promise<unknown> {
  if ((await wasGiven?.({ uri, tools })) !== true) {
    throw new Error(`no result of ${label} in this run has a link to ${uri}: copy the address from a result`);
  }
  return connection.use(secrets, async ({ client }) => {
    const { contents } = await client.readResource({ uri }, { signal }).catch((cause: unknown) => {
      throw new Error(`${label} did not give ${uri}: ${sentenceOf(cause)}`, { cause });
    });
    return valueOf({ content: contents.map((resource) => ({ type: "resource", resource })) });
  });
}
