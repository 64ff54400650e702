/**
 * Counts the requests of a tenant, and says when one is too many. Its record is shared by all processes; each write is
 * refused if another process has counted since the read. Requests that come meanwhile are counted together by the next
 * write, so a process contends with others only, and never with itself.
 */
import * as z from "zod";
import { Unreadable } from "../../codec/canonical.ts";
import type { Json } from "../../core/json.ts";
import { findRecord } from "../../history/damage.ts";
import { swapRecord } from "../../history/record-swap.ts";
import { patient } from "../../history/resolve-ambiguous-write.ts";
import type { RecordKey, StoredRecord } from "../../ports/records.ts";
import { StoreUnreachable, type World } from "../../ports/world.ts";
import { type RequestLimits, type UsedRequests, decideRequests } from "../../protocol/request-rate.ts";

type Stores = Pick<World, "records" | "clock" | "random">;

/** When to ask again, epoch milliseconds; null: the request is accepted. */
type Answer = number | null;

/** Counts a request of a tenant. */
export type CountRequest = (tenant: string, limits: RequestLimits) => Promise<Answer>;

interface Waiting {
  readonly limits: RequestLimits;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

const PATIENCE_MS = 3_000;
/** A contended write is tried again at once, this many times. */
const TRIES_AT_ONCE = 3;
const KEPT_SECONDS = 120;

export function requestCounter(world: Stores): CountRequest {
  const queues = new Map<string, Waiting[]>();
  return (tenant, limits) =>
    new Promise((resolve, reject) => {
      const queue = queues.get(tenant);
      const mine = { limits, resolve, reject };
      if (queue !== undefined) return void queue.push(mine);
      const own = [mine];
      queues.set(tenant, own);
      void drain(world, { tenant, queue: own, ends: () => queues.delete(tenant) });
    });
}

/** Answers all that wait, in the order in which they came. */
async function drain(
  world: Stores,
  { tenant, queue, ends }: { readonly tenant: string; readonly queue: Waiting[]; readonly ends: () => void },
): Promise<void> {
  for (let batch = queue.splice(0); batch.length > 0; batch = queue.splice(0)) {
    try {
      const { accepted, retryAt } = await count(world, { tenant, count: batch.length, limits: batch[0]?.limits ?? {} });
      for (const [at, { resolve }] of batch.entries()) resolve(at < accepted ? null : retryAt);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
  // In the same step as the last look at the queue, so that no request joins a queue that nothing drains.
  ends();
}

async function count(
  world: Stores,
  asked: { readonly tenant: string; readonly count: number; readonly limits: RequestLimits },
): Promise<{ readonly accepted: number; readonly retryAt: number }> {
  const { clock } = world;
  const pause = patient({ ...world, until: clock.now() + PATIENCE_MS });
  let tries = 0;
  do {
    tries += 1;
    const now = clock.now();
    const found = await findRecord(world, keyOf(asked.tenant), now);
    const decided = decideRequests(found === null ? null : usedIn(found), { ...asked, now });
    if (decided.accepted === 0) return decided;
    const { tenant } = asked;
    const swap = {
      key: keyOf(tenant),
      tenant,
      found,
      body: decided.next as unknown as Json,
      keptSeconds: KEPT_SECONDS,
    };
    if (await swapRecord(world, swap)) return decided;
  } while (tries < TRIES_AT_ONCE || (await pause()));
  throw new StoreUnreachable(`too many processes count the requests of ${asked.tenant}`, { store: "the table" });
}

const keyOf = (tenant: string): RecordKey => ({ kind: "rate", about: `tenant ${tenant}`, id: "requests" });

const window = z.object({ from: z.number(), used: z.number().nonnegative() });
export const stored: z.ZodType<UsedRequests> = z.object({ second: window, minute: window });

/** A count that cannot be read begins anew: it protects the service, and guards no money. */
function usedIn(found: StoredRecord | Unreadable): UsedRequests | null {
  const read = found instanceof Unreadable ? null : stored.safeParse(found.body);
  return read?.data ?? null;
}
