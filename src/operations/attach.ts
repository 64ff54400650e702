/** Attaches readers to runs, so that their models stream (`ports/delta-log.ts`). */
import { DELTAS } from "../ports/delta-log.ts";
import { StoreUnreachable, type World } from "../ports/world.ts";

/** Until when this process has attached a reader to each run, by world. */
const attached = new WeakMap<object, Map<string, number>>();

/** How many runs a process remembers. A run that it forgets is attached again. */
const RUNS_MAX = 1_000;

/**
 * A reader is attached for the next `attachedMs`. This process writes that once in a while, however often it is called.
 * Without the delta log the reader gets the events only, so an outage of it is no error.
 */
export async function attachReader({ deltas, clock }: Pick<World, "deltas" | "clock">, run: string): Promise<void> {
  const known = attached.get(deltas) ?? new Map<string, number>();
  attached.set(deltas, known);
  const now = clock.now();
  const leftMs = (known.get(run) ?? 0) - now;
  // A clock may be set back in between.
  if (leftMs > DELTAS.renewMs && leftMs <= DELTAS.attachedMs) return;
  const until = now + DELTAS.attachedMs;
  try {
    await deltas.attach({ run, until });
  } catch (error) {
    if (!(error instanceof StoreUnreachable)) throw error;
    return;
  }
  known.delete(run);
  known.set(run, until);
  const [oldest = run] = known.keys();
  if (known.size > RUNS_MAX) known.delete(oldest);
}
