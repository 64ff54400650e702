/**
 * One connection of this process to one MCP server, for all its runs. It is opened when it is needed, and closed when it
 * was not needed for a while. After a failure the next attempt waits, longer each time, so that a server that is down is
 * not asked by every run at once.
 */
import type { Tool as Definition } from "@modelcontextprotocol/client";
import { sentenceOf } from "../codec/value.ts";
import type { ToolSecrets, ToolSource } from "../ports/agent.ts";
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

interface Kept {
  readonly definitions: readonly Definition[];
  readonly at: number;
}

export class Connection {
  readonly #of: Options & { readonly label: string };
  #opening: Promise<Live> | null = null;
  #live: Live | null = null;
  #failed: { readonly count: number; readonly at: number; readonly error: ServerUnreachable } | null = null;
  #calls = 0;
  #idle: NodeJS.Timeout | null = null;
  #kept: Kept | null = null;
  #listing: Promise<readonly Definition[]> | null = null;
  #secrets: ToolSecrets | null = null;
  /** The time of the world when it was last told. */
  #now = 0;

  constructor(of: Options & { readonly label: string }) {
    this.#of = of;
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
        return this.#kept.definitions;
      } catch (cause) {
        live.isListOld = true;
        this.drop(live, sentenceOf(cause));
        throw this.#unreachable(cause);
      }
    });
  }

  /** Does work with the connection, which is opened if there is none. Rejects with `ServerUnreachable` without one. */
  async use<T>(secrets: ToolSecrets, work: (live: Live) => Promise<T>): Promise<T> {
    this.#secrets = secrets;
    this.#calls += 1;
    if (this.#idle !== null) clearTimeout(this.#idle);
    try {
      const live = await this.#connected();
      live.keepAlive(true);
      return await work(live);
    } finally {
      this.#calls -= 1;
      if (this.#calls === 0) this.#rest();
    }
  }

  /** Gives up a connection that no longer works. The next use opens another one. */
  drop(live: Live, why: string): void {
    live.ended ??= why;
    if (this.#live === live) this.#live = null;
    void live.client.close().catch(() => undefined);
  }

  async #connected(): Promise<Live> {
    if (this.#live?.ended === null) return this.#live;
    this.#opening ??= this.#open().finally(() => (this.#opening = null));
    return this.#opening;
  }

  async #open(): Promise<Live> {
    const { count = 0, at = 0, error } = this.#failed ?? {};
    const pause = Math.min(PAUSE_MS.longest, PAUSE_MS.first * 2 ** (count - 1));
    if (error !== undefined && Math.abs(this.#now - at) < pause) throw error;
    try {
      const live = await openConnection(this.#of, () => this.#secrets ?? NO_SECRETS);
      this.#failed = null;
      this.#live = live;
      return live;
    } catch (cause) {
      const unreachable = this.#unreachable(cause);
      this.#failed = { count: count + 1, at: this.#now, error: unreachable };
      throw unreachable;
    }
  }

  readonly #unreachable = (cause: unknown): ServerUnreachable =>
    new ServerUnreachable(`${this.#of.label} cannot be reached: ${sentenceOf(cause)}`, { cause });

  /** Without a call the connection keeps no process alive, and ends after a while. */
  #rest(): void {
    const live = this.#live;
    if (live === null) return;
    live.keepAlive(false);
    this.#idle = setTimeout(() => this.drop(live, "it was not used"), this.#of.idleMs);
    this.#idle.unref();
  }
}

const NO_SECRETS: ToolSecrets = { get: (name) => Promise.reject(new Error(`the secret ${name} is not known here`)) };
