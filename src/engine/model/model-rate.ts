/**
 * Holds a model call back until the rate limit of its model allows it. The limit is shared by all runs of a deployment:
 * it is the cursor of a mutex lease. A call takes the lease, reads the limit, and stores what it uses.
 *
 * Schedule 149: two invocations read the same limit, and both of their calls leave. The second one is held while the
 * first one has the lease. If it froze in between and the lease has expired, its write is refused, and it reads again.
 *
 * Nothing is lost by a crash: a process that dies after the write has used a share that it did not need, and a process
 * that dies before it leaves a lease that expires.
 */
import * as z from "zod";
import { type RateOutcome, type UsedUntil, decideModelCall } from "../../protocol/model-rate.ts";
import type { MutexLease, MutexLeaseOutcome } from "../../protocol/mutex-lease.ts";
import type { Model } from "../../ports/model.ts";
import { patient, resolveAmbiguousWrite, unitFrom } from "../../history/resolve-ambiguous-write.ts";
import type { ActiveRun } from "../context/active-run.ts";
import type { Next } from "../context/next.ts";
import { waitUnlessDrained } from "../tools/tool-retry.ts";
import { heldByCap } from "../../features/spend-caps/engine.ts";

/** How long a process may hold the lease; it needs two writes. */
const HOLD_MS = 1_000;
/** How long a call waits for its share in its process. Beyond that its run is released. */
const PATIENCE_MS = 10_000;
/** A run that was released asks again within this time after its share is free, so that not all of them ask at once. */
const SPREAD_MS = 5_000;
/**
 * Before the lease is asked for again. Each time is a write, also one that is refused, so the pauses double: of 150 calls
 * that wait for one limit at the same time, each writes nine times instead of sixteen, and fewer wait in vain.
 */
const PAUSE_MS = 20;
const PAUSE_MS_MAX = 1_280;

/**
 * Returns null once a call to the model may leave. Otherwise its time is too far ahead, the spend cap is reached, or this
 * process is asked to end: the step returns the outcome, with which the run is released.
 */
export async function heldBack(run: ActiveRun, model: Model): Promise<Next | null> {
  const capped = await heldByCap(run);
  if (capped !== null) return capped;
  if (model.rate === undefined || run.pending.hasModelShare) return null;
  const share = await takeShare(run, { ...model, rate: model.rate });
  const { clock, random } = run.world;
  if (share.kind === "later") {
    return { next: "release", saw: [], until: share.at + Math.ceil(SPREAD_MS * unitFrom(random.hex())) };
  }
  if (!(await waitUnlessDrained(run, Math.max(0, share.at - clock.now())))) return "release";
  run.pending.modelShareTaken();
  return null;
}

/** A call needs its whole time after it has waited. */
const patienceMs = (run: ActiveRun): number =>
  Math.max(0, Math.min(PATIENCE_MS, run.leftMs - run.world.limits.modelMs));

/** Takes a share of the limit, if it is free soon. */
async function takeShare(
  run: ActiveRun,
  { name, rate }: Required<Pick<Model, "name" | "rate">>,
): Promise<Pick<RateOutcome, "kind" | "at">> {
  const { clock, random } = run.world;
  const until = clock.now() + patienceMs(run);
  for (let pauseMs = PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX)) {
    const owner = random.hex().slice(0, 16);
    const taken = await take(run, { name, owner, until: clock.now() + HOLD_MS });
    if (taken.kind === "taken") {
      const now = clock.now();
      const used = usedIn(taken.cursor);
      const decided = decideModelCall(used, { rate, tokens: tokensOf(run), now, patienceMs: patienceMs(run) });
      const cursor = decided.kind === "leaves" ? { cursor: JSON.stringify(decided.after) } : {};
      const stored = await take(run, { name, owner, until: now, again: true, ...cursor });
      if (stored.kind === "taken") return decided;
    }
    // Another process has the limit in its hands.
    if (clock.now() >= until || run.invocation.drain.aborted) return { kind: "later", at: clock.now() };
    await waitUnlessDrained(run, Math.ceil(pauseMs * (0.5 + unitFrom(random.hex()))));
  }
}

function take(run: ActiveRun, { name, ...lease }: Omit<MutexLease, "now">): Promise<MutexLeaseOutcome> {
  const { clock, random, leases, limits } = run.world;
  return resolveAmbiguousWrite<MutexLeaseOutcome>(
    () => leases.take({ name: `rate of ${name}`, ...lease, now: clock.now() }),
    () => null,
    patient({ clock, random, until: run.invocation.deadline - limits.drainMs }),
  );
}

/** About how many tokens the call takes: as many as the average one of this run. */
function tokensOf({ state: { spent } }: ActiveRun): number {
  return spent.beats === 0 ? 0 : Math.ceil((spent.tokensIn + spent.tokensOut) / spent.beats);
}

export const usedUntil: z.ZodType<UsedUntil> = z.object({ requests: z.number(), tokens: z.number() });

/** A limit that cannot be read counts as unused: it holds back calls, and must not stop them. */
function usedIn(cursor: string | null): UsedUntil | null {
  try {
    return cursor === null ? null : usedUntil.parse(JSON.parse(cursor));
  } catch {
    return null;
  }
}
