/**
 * One connection of this process to one MCP server, for all its runs. It is opened when it is needed, and closed when it
 * was not needed for a while. After a failure the next attempt waits, longer each time, so that a server that is down is
 * not asked by every run at once.
 */
import type { Tool as Definition } from "@modelcontextprotocol/client";
import { sentenceOf } from "../codec/value.ts";
import type { ToolSecrets, ToolSource } from "../ports/agent.ts";
import { authorizedFetch, refusalIn } from "./authorization.ts";
import { type LiveConnection, openConnection } from "./open.ts";
import type { Options } from "./server-options.ts";

/** The server cannot be reached, so nothing was sent to it. */
export class ServerUnreachable extends Error {
  override readonly name = "ServerUnreachable";
}

/** How long a list counts as new, in milliseconds, where the server does not say that it has changed. */
const LIST_FRESH_MS = 60_000;
/** The pause after the first failed attempt to connect, which doubles, and the longest one. */
const PAUSE_MS = { first: 500, longest: 30_000 };

const NO_SECRETS: ToolSecrets = { get: (name) => Promise.reject(new Error(`the secret ${name} is not known here`)) };

/** The part of the time of a caller after which it gets an old list, if it may have one. */
const OLD_LIST_AFTER = 0.9;

type Asked = Parameters<ToolSource["list"]>[0];

interface Kept {
  readonly definitions: readonly Definition[];
  readonly at: number;
}

export class Connection {
  readonly #options: Options & { readonly label: string };
  #opening: Promise<LiveConnection> | null = null;
  #live: LiveConnection | null = null;
  #failed: { readonly count: number; readonly at: number; readonly error: ServerUnreachable } | null = null;
  #idle: NodeJS.Timeout | null = null;
  #kept: Kept | null = null;
  #hasResources = false;
  #listing: Promise<readonly Definition[]> | null = null;
  #secrets: ToolSecrets = NO_SECRETS;
  /** Keeps the token of the server, which outlives a connection. */
  readonly #fetch: typeof globalThis.fetch;
  /** The time of the world when it was last told. */
  #now = 0;

  constructor(options: Options & { readonly label: string }) {
    this.#options = options;
    this.#fetch = authorizedFetch(options, () => this.#secrets);
  }

  /** Whether the server said with its last list that it has resources. */
  get hasResources(): boolean {
    return this.#hasResources;
  }

  /** The tools of the server. The same array while they have not changed. */
  async list({ secrets, mayBeOld, now, ms = Infinity }: Asked): Promise<readonly Definition[]> {
    this.#now = now;
    const [kept, live] = [this.#kept, this.#live];
    const isFresh = kept !== null && now - kept.at < LIST_FRESH_MS && live?.ended === null && !live.isListOld;
    if (isFresh) return kept.definitions;
    this.#listing ??= this.#ask(secrets).finally(() => (this.#listing = null));
    // Only the caller judges that it is late. Other runs may wait for the same list for longer.
    if (!mayBeOld || kept === null) return this.#listing;
    try {
      // An old list is needed a moment before the caller stops to wait.
      return await within(ms * OLD_LIST_AFTER, this.#listing, () => new Error("an old list serves"));
    } catch {
      return kept.definitions;
    }
  }

  async #ask(secrets: ToolSecrets): Promise<readonly Definition[]> {
    this.#checkPause();
    return this.use(secrets, async (live) => {
      live.isListOld = false;
      try {
        this.#hasResources = live.client.getServerCapabilities()?.resources !== undefined;
        const { tools } = await live.client.listTools(undefined, {
          cacheMode: "refresh",
          timeout: this.#options.connectMs,
          maxTotalTimeout: this.#options.connectMs,
        });
        const before = this.#kept?.definitions;
        const isSame = before !== undefined && JSON.stringify(before) === JSON.stringify(tools);
        this.#kept = { definitions: isSame ? before : tools, at: this.#now };
        this.#failed = null;
        return this.#kept.definitions;
      } catch (cause) {
        live.isListOld = true;
        const isGivenUp = this.giveUpAfter(cause, live);
        // A new connection finds out at once whether the server can be reached.
        throw isGivenUp ? this.#unreachable(cause) : this.#failure(cause);
      }
    });
  }

  /** Does work with the connection, which is opened if there is none. Rejects with `ServerUnreachable` without one. */
  async use<T>(secrets: ToolSecrets, work: (live: LiveConnection) => Promise<T>): Promise<T> {
    this.#secrets = secrets;
    if (this.#idle !== null) clearTimeout(this.#idle);
    // An open connection is counted as used at once, so that the end of another use does not close it.
    const live = this.#live?.ended === null ? this.#live : await this.#opened();
    live.uses += 1;
    live.keepAlive(true);
    try {
      return await work(live);
    } finally {
      live.uses -= 1;
      if (live.uses === 0) this.#rest(live);
    }
  }

  /**
   * Gives up a connection after a failure that may be its own: the next use opens another one. It stays open for the calls
   * of other runs, which may be in the middle of their effects. False: the server refused this request alone.
   */
  giveUpAfter(error: unknown, live: LiveConnection): boolean {
    if (isOfRequest(error)) return false;
    if (this.#live === live) this.#live = null;
    return true;
  }

  #opened(): Promise<LiveConnection> {
    this.#opening ??= this.#open().finally(() => (this.#opening = null));
    return this.#opening;
  }

  async #open(): Promise<LiveConnection> {
    this.#checkPause();
    try {
      // The client keeps to `connectMs` by itself, and says more. This is for functions of the user that it waits for.
      const mostMs = 2 * this.#options.connectMs;
      const opening = openConnection(this.#options, { secrets: this.#secrets, fetch: this.#fetch });
      const live = await within(mostMs, opening, () => {
        // A connection that comes later is of no use.
        void opening.then(({ client }) => client.close()).catch(() => undefined);
        return new Error(`it was not connected within ${mostMs} ms`);
      });
      this.#failed = null;
      this.#live = live;
      return live;
    } catch (cause) {
      throw this.#failure(cause);
    }
  }

  /** Throws the last failure while the pause after it lasts. */
  #checkPause(): void {
    if (this.#failed === null) return;
    const { count, at, error } = this.#failed;
    const pause = Math.min(PAUSE_MS.longest, PAUSE_MS.first * 2 ** (count - 1));
    if (Math.abs(this.#now - at) < pause) throw error;
  }

  /** A failure after which the next attempt waits. */
  #failure(cause: unknown): ServerUnreachable {
    const error = this.#unreachable(cause);
    this.#failed = { count: (this.#failed?.count ?? 0) + 1, at: this.#now, error };
    return error;
  }

  readonly #unreachable = (cause: unknown): ServerUnreachable => {
    const refusal = refusalIn(cause);
    const what =
      refusal !== null ? "refuses access" : isInvalid(cause) ? "gave an invalid list of tools" : "cannot be reached";
    return new ServerUnreachable(`${this.#options.label} ${what}: ${sentenceOf(refusal ?? cause)}`, { cause });
  };

  /** Without a call the connection keeps no process alive, and ends after a while; at once if it was given up. */
  #rest(live: LiveConnection): void {
    const close = (): void => {
      if (this.#live === live) this.#live = null;
      void live.client.close().catch(() => undefined);
    };
    if (this.#live !== live) return close();
    live.keepAlive(false);
    this.#idle = setTimeout(close, this.#options.idleMs);
    this.#idle.unref();
  }
}

/** The server answered, with what is no list: another connection would get the same answer. */
const isInvalid = (error: unknown): boolean =>
  error instanceof Error &&
  "code" in error &&
  INVALID.has(error.code) &&
  !/^Invalid result for (initialize|server)/.test(error.message);

const INVALID: ReadonlySet<unknown> = new Set([
  "INVALID_RESULT",
  "UNSUPPORTED_RESULT_TYPE",
  "LIST_PAGINATION_EXCEEDED",
]);

/** The value of the promise. After `ms` milliseconds it rejects with what `late` makes. */
async function within<T>(ms: number, promise: Promise<T>, late: () => Error): Promise<T> {
  if (!Number.isFinite(ms)) return promise;
  const over = Promise.withResolvers<never>();
  const timer = setTimeout(() => over.reject(late()), ms);
  try {
    return await Promise.race([promise, over.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The server refused this request, and takes others. Servers answer 404 or 400 when they have forgotten the session. */
function isOfRequest(error: unknown): boolean {
  if (refusalIn(error) !== null || isInvalid(error)) return true;
  const { status } = (error ?? {}) as { readonly status?: unknown };
  return typeof status === "number" && status > 400 && status < 500 && status !== 404;
}
