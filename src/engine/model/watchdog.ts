/**
 * The watchdog (seed 0): liveness, not restarts. It reads the phase and the time in it, and nothing else; whatever bounds
 * itself is none of its business, so only idle phases count. Soft is a line for people and never a write; hard gives the
 * wait up and leaves what follows to the recovery table.
 */
import { PHASES, type Phase } from "../../core/phases.ts";
import type { Clock } from "../../ports/world.ts";

/** It looks this often, and says that a run waits for its model once it has waited so long. */
export const WATCH_MS = 5_000;
export const SOFT_IDLE_MS = 90_000;

interface Watch {
  readonly phase: () => Phase;
  /** When the wait is over by itself: nobody looks after that. */
  readonly endsInMs: number;
  /** Null: it is never given up. */
  readonly hardMs: number | null;
  /** Once for each time that a phase is entered. */
  readonly onSoft: (phase: Phase, waitedMs: number) => void;
  readonly onHard: (waitedMs: number) => void;
}

/** Looks until the returned function is called. */
export function watch(clock: Clock, { phase, endsInMs, hardMs, onSoft, onHard }: Watch): () => void {
  const begun = clock.now();
  let entered = { phase: phase(), at: begun, isTold: false };
  let forget = (): void => undefined;
  const lookLater = (): void => {
    if (clock.now() - begun + WATCH_MS < endsInMs) forget = clock.after(WATCH_MS, look);
  };
  const look = (): void => {
    const now = phase();
    if (now !== entered.phase) entered = { phase: now, at: clock.now(), isTold: false };
    const waitedMs = clock.now() - entered.at;
    if (PHASES[now].idle) {
      if (hardMs !== null && waitedMs >= hardMs) return onHard(waitedMs);
      if (waitedMs >= SOFT_IDLE_MS && !entered.isTold) {
        entered = { ...entered, isTold: true };
        onSoft(now, waitedMs);
      }
    }
    lookLater();
  };
  lookLater();
  return () => forget();
}
