/**
 * Waits for code of an agent's author, or of a server that the agent names, and never longer than the beat has. Without
 * this bound a function that never answers holds the beat until its process is killed: a death, although nothing died.
 *
 * Schedule 243: an MCP server takes a connection and says nothing. Each beat waits for its list of tools until the
 * process is killed at the deadline; after a few of them the run fails as a crash loop.
 */
import { sentenceOf } from "../../codec/value.ts";
import type { RunParts } from "../context/run-parts.ts";
import type { SaidInTime } from "../context/agent-sources.ts";
import { withTimeout } from "../../ports/with-timeout.ts";

/**
 * Never rejects. It leaves the time that the commit needs. `what` names the code for humans, also for those who ask later
 * what a process was at when it was killed. `most`: how long it may take in any case, in milliseconds.
 */
export async function askInTime<T>(
  { world, row, leftMs }: Pick<RunParts, "world" | "leftMs"> & { readonly row: Pick<RunParts["row"], "run"> },
  { what, most = Infinity }: { readonly what: string; readonly most?: number },
  ask: () => T | PromiseLike<T>,
): Promise<SaidInTime<T>> {
  const ms = Math.max(1, Math.min(most, leftMs));
  const leave = world.announce?.({ run: row.run, what });
  const said = settle(ask);
  void said.then(leave);
  const late = { kind: "late", why: `no answer within ${ms} ms` } as const;
  return (await withTimeout(said, ms, world.clock)) ?? late;
}

async function settle<T>(ask: () => T | PromiseLike<T>): Promise<SaidInTime<T>> {
  try {
    return { kind: "said", value: await ask() };
  } catch (error) {
    return { kind: "threw", why: sentenceOf(error), error };
  }
}
