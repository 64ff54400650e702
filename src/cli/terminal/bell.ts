/**
 * Wakes a command that looks again and again, before its next look is due. A ring between two waits ends the next one, so
 * nothing that happens while it looks is missed.
 */
import { setTimeout as elapse } from "node:timers/promises";

export interface Bell {
  readonly ring: () => void;
  /** Resolves after that time, once the bell rings, or once the signal is aborted. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
}

export function createBell(): Bell {
  let isRung = false;
  let wake = (): void => {};
  return {
    ring: () => {
      isRung = true;
      wake();
    },
    wait: async (ms, signal) => {
      const over = new AbortController();
      wake = () => over.abort();
      signal.addEventListener("abort", wake);
      if (isRung || signal.aborted) wake();
      await elapse(ms, undefined, { signal: over.signal }).catch(() => {});
      signal.removeEventListener("abort", wake);
      // The command looks now.
      isRung = false;
    },
  };
}
