/**
 * One connection of this process to one MCP server, for all its runs. It is opened when it is needed, and closed when it
 * was not needed for a while. After a failure the next attempt waits, longer each time, so that a server that is down is
 * not asked by every run at once.
 */
import type { Tool as Definition } from "@modelcontextprotocol/client";
import { sentenceOf } from "../codec/value.ts";
import type { ToolSecrets, ToolSource } from "../ports/agent.ts";
import { authorizedFetch, refusalIn } from "./authorization.ts";
import { type Live, openConnection } from "./open.ts";
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

interface Kept {
  readonly definitions: readonly Definition[];
  readonly at: number;
}

export class Connection {
  readonly #of: Options & { readonly label: string };
  #opening: Promise<Live> | null = null;
  #live: Live | null = null;
  #failed: { readonly count: number; readonly at: number; readonly error: ServerUnreachable } | null = null;
  #idle: NodeJS.Timeout | null = null;
  #kept: Kept | null = null;
  #listing: Promise<readonly Definition[]> | null = null;
  #secrets: ToolSecrets = NO_SECRETS;
  /** Keeps the token of the server, which outlives a connection. */
  readonly #fetch: typeof globalThis.fetch;
  /** The time of the world when it was last told. */
  #now = 0;

  constructor(of: Options & { readonly label: string }) {
    this.#of = of;
    this.#fetch = authorizedFetch(of, () => this.#secrets);
  }

  /** The tools of the server. The same array while they have not changed. */
  async list({ secrets, mayBeOld, now }: Parameters<ToolSource["list"]>[0]): Promise<readonly Definition[]> {
    this.#now = now;
    const [kept, live] = [this.#kept, this.#live];
    const isFresh = kept !== null && now - kept.at < LIST_FRESH_MS && live?.ended === null && !live.isListOld;
    if (isFresh) return kept.definitions;
    this.#listing ??= this.#ask(secrets).finally(() => (this.#listing = null));
    try {
      return await this.#listing;
    } catch (error) {
      if (mayBeOld && kept !== null) return kept.definitions;
      throw error;
    }
  }

  async #ask(secrets: ToolSecrets): Promise<readonly Definition[]> {
    this.#checkPause();
    return this.use(secrets, async (live) => {
      live.isListOld = false;
      try {
        const { tools } = await live.client.listTools(undefined, {
          cacheMode: "refresh",
          timeout: this.#of.connectMs,
          maxTotalTimeout: this.#of.connectMs,
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
  async use<T>(secrets: ToolSecrets, work: (live: Live) => Promise<T>): Promise<T> {
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
  giveUpAfter(error: unknown, live: Live): boolean {
    if (isOfRequest(error)) return false;
    if (this.#live === live) this.#live = null;
    return true;
  }

  #opened(): Promise<Live> {
    this.#opening ??= this.#open().finally(() => (this.#opening = null));
    return this.#opening;
  }

  async #open(): Promise<Live> {
    this.#checkPause();
    try {
      const live = await openConnection(this.#of, { secrets: this.#secrets, fetch: this.#fetch });
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
    const what = refusal === null ? "cannot be reached" : "refuses access";
    return new ServerUnreachable(`${this.#of.label} ${what}: ${sentenceOf(refusal ?? cause)}`, { cause });
  };

  /** Without a call the connection keeps no process alive, and ends after a while; at once if it was given up. */
  #rest(live: Live): void {
    const close = (): void => {
      if (this.#live === live) this.#live = null;
      void live.client.close().catch(() => undefined);
    };
    if (this.#live !== live) return close();
    live.keepAlive(false);
    this.#idle = setTimeout(close, this.#of.idleMs);
    this.#idle.unref();
  }
}

/** The server refused this request, and takes others. Servers answer 404 or 400 when they have forgotten the session. */
function isOfRequest(error: unknown): boolean {
  if (refusalIn(error) !== null) return true;
  const { status } = (error ?? {}) as { readonly status?: unknown };
  return typeof status === "number" && status > 400 && status < 500 && status !== 404;
}
