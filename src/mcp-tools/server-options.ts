/** The options of `mcpServer`, and their check. */
import * as z from "zod";
import { EFFECTS, EFFECT_NAMES, type Effect } from "../core/calls/effects.ts";
import type { ToolSecrets } from "../ports/agent.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import { firstIssue, parsedOption } from "../sdk/issues.ts";

/** Names with values, or a function that reads them from the secrets of the agent. */
export type NamedValues =
  | Readonly<Record<string, string>>
  | ((secrets: ToolSecrets) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>);

/** The names with their values. */
export const valuesOf = async (
  given: NamedValues | undefined,
  secrets: ToolSecrets,
): Promise<Readonly<Record<string, string>>> => (typeof given === "function" ? given(secrets) : (given ?? {}));

export type McpServerOptions = McpRules & (McpStdioServer | McpHttpServer);

/** A server that the worker starts as a process, and with which it speaks over standard input and output. */
export interface McpStdioServer {
  readonly command: string;
  readonly args?: readonly string[];
  /** Default: the working directory of the worker. */
  readonly cwd?: string;
  /**
   * Variables besides PATH, HOME, USER, LOGNAME, SHELL and TERM, the only ones that the process inherits. A function gets
   * the secrets that the agent declares, and is called whenever the process is started.
   */
  readonly env?: NamedValues;
}

/** A server over streamable HTTP. */
export interface McpHttpServer {
  readonly url: string;
  /** A function gets the secrets that the agent declares, and is called for every request. */
  readonly headers?: NamedValues;
  /** Gives the bearer token of each request, in place of a header `authorization`. */
  readonly token?: McpToken;
}

/**
 * Returns a bearer token. It is called before the first request, and again when the server answers 401. The token is kept
 * in memory until then, and is removed from whatever is recorded. `refused`: the token that the server refused, or null.
 */
export type McpToken = (
  secrets: ToolSecrets,
  asked: { readonly refused: string | null; readonly signal: AbortSignal },
) => string | Promise<string>;

interface McpRules {
  /** 1 to 32 letters, digits, `-` and `_`. Messages name the server by it. */
  readonly name: string;
  /** The beginning of the names of its tools; default: the name and `_`. */
  readonly prefix?: string;
  /** The only tools that the agent may see, by the names that the server gives them. Default: all. */
  readonly only?: readonly string[];
  /**
   * The effect classes of tools, by the names that the server gives them. Default: `none` for a tool that says that it
   * only reads, otherwise `unsafe`. `keyed` only if the server deduplicates by `_meta["cairn-run/idempotency-key"]`.
   */
  readonly effects?: Readonly<Record<string, Effect>>;
  /** Which tools need an approval, by the names that the server gives them. Default: none. */
  readonly approval?: Readonly<Record<string, "never" | "always">>;
  /**
   * Which tools may repeat or fail until something changes, as a poll does, by the names that the server gives them: they
   * are no part of a loop. Default: none.
   */
  readonly loops?: Readonly<Record<string, "ignore">>;
  /** How long a call may take, in milliseconds; default: the world's (30 s). */
  readonly timeoutMs?: number;
  /** How long connecting and listing may take, in milliseconds; default 10,000. */
  readonly connectMs?: number;
  /** After how many milliseconds without a call the connection is closed; default: 300,000. */
  readonly idleMs?: number;
}

const whole = z.int().min(1).max(3_600_000);
const words = z.record(z.string(), z.string());
const given = z.custom<NamedValues>((value) => typeof value === "function" || words.safeParse(value).success, {
  message: "write names with texts, or a function that returns them",
});

const OPTIONS = z.strictObject({
  name: z.string().regex(/^[\w-]{1,32}$/, "write 1 to 32 letters, digits, - and _"),
  prefix: z
    .string()
    .regex(/^[\w-]{0,40}$/, "write 0 to 40 letters, digits, - and _")
    .optional(),
  only: z.array(z.string()).optional(),
  effects: z
    .record(
      z.string(),
      z.custom<Effect>((value) => EFFECT_NAMES.includes(value as Effect) && !EFFECTS[value as Effect].hasProbe, {
        message: `write ${EFFECT_NAMES.filter((each) => !EFFECTS[each].hasProbe).join(", ")}: MCP has no probes`,
      }),
    )
    .optional(),
  approval: z.record(z.string(), z.enum(["never", "always"])).optional(),
  loops: z.record(z.string(), z.literal("ignore", 'write "ignore"')).optional(),
  timeoutMs: whole.optional(),
  connectMs: whole.default(10_000),
  idleMs: whole.default(300_000),
  command: z.string().min(1).optional(),
  args: z.array(z.string()).optional(),
  cwd: z.string().optional(),
  env: given.optional(),
  url: z.url({ protocol: /^https?$/ }).optional(),
  headers: given.optional(),
  token: z.custom<McpToken>((value) => typeof value === "function", "write a function that returns a token").optional(),
});

/** The options after the check. */
export type Options = z.output<typeof OPTIONS>;

/** Throws `AgentInvalid` with the first wrong option. */
export function checkOptions(options: McpServerOptions): Options {
  const parsed = parsedOption(OPTIONS, options);
  if (!parsed.success) throw new AgentInvalid(`an mcpServer is wrong: ${firstIssue(parsed.error)}`);
  const { name, command, url } = parsed.data;
  if ((command === undefined) === (url === undefined)) {
    throw new AgentInvalid(`the mcpServer ${name} needs either a command or a url`);
  }
  const { env, headers, token } = parsed.data;
  if (command !== undefined && (headers ?? token) !== undefined) {
    throw new AgentInvalid(
      `the mcpServer ${name} is a process, which gets no headers: write env in place of headers or token`,
    );
  }
  if (url !== undefined && env !== undefined) {
    throw new AgentInvalid(
      `the mcpServer ${name} is no process, which gets variables: write headers or token in place of env`,
    );
  }
  return parsed.data;
}
