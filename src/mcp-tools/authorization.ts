/**
 * The requests to an MCP server over HTTP, with the headers and the bearer token of the agent. A token that the server
 * refuses is asked for once more, since it may have expired. cairn signs in nowhere by itself: no human is there to consent.
 */
import { bounded } from "../codec/value.ts";
import type { ToolSecrets } from "../ports/agent.ts";
import { type McpToken, type Options, valuesOf } from "./server-options.ts";

type Fetch = typeof globalThis.fetch;

/** The server refused the request as one of a caller without the right to make it. Nothing was started. */
class AccessRefused extends Error {
  override readonly name = "AccessRefused";
  readonly status: number;

  constructor(status: number, why: string) {
    super(why);
    this.status = status;
  }
}

/** The refusal that the error is, or that it has as a cause. */
export function refusalIn(error: unknown): AccessRefused | null {
  for (let each = error, depth = 0; each instanceof Error && depth < CAUSES_MAX; each = each.cause, depth += 1) {
    if (each instanceof AccessRefused) return each;
  }
  return null;
}

const CAUSES_MAX = 8;

/** `secrets`: read for every request, so that a rotated secret is used at once. */
export function authorizedFetch(options: Options, secrets: () => ToolSecrets): Fetch {
  const { headers: given, token } = options;
  const tokens = token === undefined ? null : new Tokens({ ...options, token }, secrets);
  return async (to, init) => {
    const ask = async (bearer: string | null): Promise<Response> => {
      const headers = new Headers(init?.headers);
      for (const [name, value] of Object.entries(await valuesOf(given, secrets()))) headers.set(name, value);
      if (bearer !== null) headers.set("authorization", `Bearer ${bearer}`);
      return fetch(to, { ...init, headers });
    };
    const first = (await tokens?.tokenAfter(null)) ?? null;
    const response = await ask(first);
    if (!isRefusal(response)) return response;
    await response.body?.cancel();
    const next = response.status === UNAUTHORIZED ? ((await tokens?.tokenAfter(first)) ?? null) : first;
    // The same token would be refused again.
    if (next === first) throw refusal(response, options);
    const again = await ask(next);
    if (!isRefusal(again)) return again;
    await again.body?.cancel();
    throw refusal(again, options);
  };
}

const UNAUTHORIZED = 401;

/** 403 without a challenge may be about the call, and is told as the server tells it. */
const isRefusal = ({ status, headers }: Response): boolean =>
  status === UNAUTHORIZED || (status === 403 && headers.has("www-authenticate"));

/** The token that is used until the server refuses it. Runs that are refused at the same time ask for one new token. */
class Tokens {
  readonly #options: Options & { readonly token: McpToken };
  readonly #secrets: () => ToolSecrets;
  #token: string | null = null;
  #asking: Promise<string> | null = null;

  constructor(options: Options & { readonly token: McpToken }, secrets: () => ToolSecrets) {
    this.#options = options;
    this.#secrets = secrets;
  }

  /** A token other than the refused one, unless the function gives it again. */
  tokenAfter(refused: string | null): Promise<string> {
    if (this.#token !== null && this.#token !== refused) return Promise.resolve(this.#token);
    this.#asking ??= this.#ask(refused).finally(() => (this.#asking = null));
    return this.#asking;
  }

  async #ask(refused: string | null): Promise<string> {
    const { name, connectMs, token } = this.#options;
    // The time of the connection has to suffice for the request too.
    const ms = Math.ceil(connectMs / 2);
    const signal = AbortSignal.timeout(ms);
    const late = new Promise<never>((_, reject) => {
      const why = `its token function gave no token within ${ms} ms`;
      signal.addEventListener("abort", () => reject(new Error(why)), { once: true });
    });
    const given: unknown = await Promise.race([token(this.#secrets(), { refused, signal }), late]);
    if (typeof given !== "string" || !/^[\x21-\x7e]{1,16384}$/.test(given)) {
      // The value may be a token with a line break, so it is not shown.
      throw new Error("its token function returned no token: return a text of visible ASCII characters");
    }
    this.#secrets().hide?.(`MCP_${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_")}_TOKEN`, given);
    this.#token = given;
    return given;
  }
}

/** What the server says about the refusal, and what to do. */
function refusal(response: Response, { token, headers }: Options): AccessRefused {
  const { status } = response;
  const challenge = response.headers.get("www-authenticate") ?? "";
  const part = (name: string): string | null =>
    new RegExp(`(?:^|[\\s,])${name}=(?:"([^"]*)"|([^\\s,]*))`, "i").exec(challenge)?.slice(1).find(Boolean) ?? null;
  const said = [part("error"), part("error_description")].filter((each) => each !== null).join(": ");
  const scope = part("scope");
  const metadata = part("resource_metadata");
  const about = [
    ...(said === "" ? [] : [said]),
    ...(scope === null ? [] : [`it asks for the scope ${scope}`]),
    ...(metadata === null ? [] : [`${metadata} names the authorization servers`]),
  ];
  const next =
    token === undefined && headers === undefined
      ? 'write token: (secrets) => secrets.get("NAME") in mcpServer'
      : token === undefined
        ? "put a valid token into the secret of its headers"
        : "put a valid token into the secret, or let token of mcpServer return a new one";
  return new AccessRefused(status, bounded([`it answered ${status}`, ...about, next].join("; ")));
}
