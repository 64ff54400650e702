/** An endpoint over stores that this process opens: the API in memory, so that a store answers like a server. */
import { hostname, userInfo } from "node:os";
import { createApi } from "../api/app.ts";
import { CliError } from "../cli/errors.ts";
import { openSettled } from "../cli/open.ts";
import { settingsOf } from "../cli/settings.ts";
import type { StoreFlags, Surroundings } from "../cli/shell.ts";
import { WORLDS } from "../cli/worlds.ts";
import { sentenceOf } from "../codec/value.ts";
import { DEFAULT_TENANT } from "../core/ids.ts";
import type { Agents } from "./client.ts";
import type { StoreTarget } from "./targets.ts";
import type { OpenedWorld } from "../ports/world-provider.ts";
import { CairnError } from "./errors.ts";
import type { Endpoint } from "./request.ts";

/** No request leaves the process. */
const URL_HERE = "http://cairn.local";

/** Opens a store as the command line does: its settings come from the options, the environment and the config. */
async function open(shell: Surroundings, flags: StoreFlags): Promise<OpenedWorld> {
  try {
    return await openSettled(shell, await settingsOf(shell, flags), { create: true });
  } catch (cause) {
    if (cause instanceof CliError) {
      const { code, what, why, facts = {} } = cause.trouble;
      throw new CairnError(`${what}: ${why}`, { code, status: null, facts, cause });
    }
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "StoreUnusable";
    throw new CairnError(sentenceOf(cause), { code, status: null, cause });
  }
}

export async function openEndpoint<Known extends Agents>({
  store,
  world: name,
  agents,
  tenant = DEFAULT_TENANT,
  by = `${userInfo().username}@${hostname()}`,
}: StoreTarget<Known>): Promise<{ readonly endpoint: Endpoint; readonly close: () => Promise<void> }> {
  const shell = { argv: [], env: process.env, cwd: process.cwd(), worlds: WORLDS };
  const flags = { ...(store !== undefined && { store }), ...(name !== undefined && { world: name }) };
  const opened = await open(shell, flags);
  const { world } = opened;
  const known = Object.values(agents ?? {});
  const api = createApi<object>({
    world,
    agentOf: async (wanted) => known.find((agent) => agent.name === wanted) ?? null,
    callerOf: () => ({ tenant, actor: by }),
    baseOf: () => "",
  });
  const send = (request: Request) => unlessAborted(request.signal, async () => api.fetch(request, {}));
  return { endpoint: { url: URL_HERE, headers: () => ({}), send }, close: async () => opened.close() };
}

/** The API does not look at the signal of a request. What it was asked for goes on, and nobody waits for it. */
function unlessAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const onAbort = (): void => reject(signal.reason as Error);
  signal.addEventListener("abort", onAbort, { once: true });
  work()
    .then(resolve, reject)
    .finally(() => signal.removeEventListener("abort", onAbort));
  return promise;
}
