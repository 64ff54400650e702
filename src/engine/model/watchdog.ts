/**
 * The watchdog detects a run that waits too long for its model; it restarts nothing. It reads
 * only the phase and the time in it. Other phases have timeouts of their own, so it counts idle phases only. The soft
 * limit emits a telemetry event and writes nothing. The hard limit aborts the wait, and the recovery table decides what
 * follows.
 */
import { PHASES, type Phase } from "../../core/phases.ts";
import type { Clock } from "../../ports/world.ts";

/** How often the watchdog polls, in milliseconds. */
export const WATCH_MS = 5_000;
/** After how long a wait the watchdog reports that a run waits for its model, in milliseconds. */
export const SOFT_IDLE_MS = 90_000;
/** A wait that ends by itself sooner is reported after this share of it. By default a model call ends after 45 s. */
const SOFT_SHARE = 0.8;

/** After how long a wait that ends by itself after `endsInMs` is longer than usual, in milliseconds. */
export const softIdleMs = (endsInMs: number): number => Math.min(SOFT_IDLE_MS, endsInMs * SOFT_SHARE);

/** What to watch, and whom to call. */
interface Watch {
  readonly phase: () => Phase;
  /** When the wait ends by itself, in milliseconds. The watchdog does not poll after that. */
  readonly endsInMs: number;
  /** After how many milliseconds the wait is aborted. Null: never. */
  readonly hardMs: number | null;
  /** Called at most once for each time that a phase is entered. */
  readonly onSoft: (phase: Phase, waitedMs: number) => void;
  readonly onHard: (waitedMs: number) => void;
}

/** Polls until the caller calls the returned function, or until the hard limit is reached. */
export function watchPhase(clock: Clock, { phase, endsInMs, hardMs, onSoft, onHard }: Watch): () => void {
  const begun = clock.now();
  const softMs = softIdleMs(endsInMs);
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
      if (waitedMs >= softMs && !entered.isTold) {
        entered = { ...entered, isTold: true };
        onSoft(now, waitedMs);
      }
    }
    lookLater();
  };
  lookLater();
  return () => forget();
}
