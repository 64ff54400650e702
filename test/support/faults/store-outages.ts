/** Unavailable stores, as one process meets them. */
import { SIZES } from "../../../src/codec/limits.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import type { TaskResult } from "../../../src/protocol/chain.ts";
import type { Commit } from "../../../src/protocol/row.ts";
import { COMMIT } from "../../../src/protocol/row-commit.ts";
import { StoreUnreachable, type World } from "../../../src/ports/world.ts";
import { beginRun } from "../harness/drive.ts";
import { type Harness, createChainHarness, scriptedAgent } from "../harness/harness.ts";
import { wrapTableCall } from "../harness/chain-steps.ts";

/** A store that can become unavailable. */
interface StoreOutage {
  readonly world: World;
  isAway: boolean;
  /** Its callers do not even hear of a failure. */
  isSilent: boolean;
}

/** During the outage, no call of that store is answered or applied. */
export function storeOutage(world: World, store: "table" | "objects"): StoreOutage {
  const outage = { isAway: false, isSilent: false, world };
  const guarded = <T extends object>(port: T): T =>
    new Proxy(port, {
      get: (target, name) => {
        const call: unknown = Reflect.get(target, name);
        if (typeof call !== "function") return call;
        return async (...of: unknown[]): Promise<unknown> => {
          if (outage.isAway && outage.isSilent) return new Promise<never>(() => undefined);
          if (outage.isAway) throw new StoreUnreachable(`the ${store} does not answer`, { store: `the ${store}` });
          return Reflect.apply(call, target, of) as unknown;
        };
      },
    });
  const { table, inbox, leases, objects } = world;
  // Rows, messages and mutex leases are in one table.
  const away =
    store === "objects"
      ? { objects: guarded(objects) }
      : { table: guarded(table), inbox: guarded(inbox), leases: guarded(leases) };
  outage.world = { ...world, ...away };
  return outage;
}

/**
 * Every copy of the first such commit is delayed: it is applied when the test says so, without a response until then.
 */
export function delayCommit(
  world: World,
  of: {
    readonly when: (commit: Commit) => boolean;
    /** Runs right before the next write of any kind. */
    readonly meanwhile?: (land: () => Promise<{ readonly kind: string }>) => Promise<unknown>;
  },
): { readonly world: World; readonly land: () => Promise<{ readonly kind: string }> } {
  const sent: Commit[] = [];
  const land = async (): Promise<{ readonly kind: string }> => world.table.decide(sent[0] as Commit, COMMIT);
  let isDone = false;
  const mine = wrapTableCall(world, "commit", (call) => async (commit) => {
    const isCopy = sent.length === 0 ? of.when(commit) : commit.commitId === sent[0]?.commitId;
    if (isCopy && sent.length <= SIZES.rewritesMax) {
      sent.push(commit);
      return { kind: "ambiguous", why: "no answer" };
    }
    if (sent.length > 0 && !isDone) {
      isDone = true;
      await of.meanwhile?.(land);
    }
    return call(commit);
  });
  return { world: mine, land };
}

/** Starts an attempt. If a store does not answer it, the attempt reports that, and its process is alive. */
export async function attemptDuringOutage(harness: Harness, agent: Agent, world: World): Promise<TaskResult | null> {
  const out = harness.startAttempt();
  const result = await harness.advanceUntilSettled(out.perform({ world, agent })).catch((error: unknown) => {
    if (!(error instanceof StoreUnreachable)) throw error;
    return null;
  });
  const heard = result?.kind === "exit" ? ({ kind: "beat", reply: result.reply } as const) : result;
  harness.world.chain.end(out.name, out.attempt, heard, false);
  return result;
}

/** A run whose execution pauses for more than a minute between attempts: the table did not answer twelve of them. */
export async function beginBackingOff() {
  const harness = createChainHarness();
  const agent = scriptedAgent({});
  const { run } = await beginRun(harness.world, agent, {});
  const table = storeOutage(harness.world, "table");
  table.isAway = true;
  for (let attempts = 0; attempts < 12; attempts += 1) await attemptDuringOutage(harness, agent, table.world);
  return { harness, agent, run, table };
}
