/** The machine's own clock. Its timers keep the process alive: whoever asks for one waits for it or takes it back. */
import type { Clock } from "../../ports/world.ts";

export const systemClock: Clock = {
  now: () => Date.now(),
  after: (delayMs, call) => {
    const timer = setTimeout(call, delayMs);
    return () => clearTimeout(timer);
  },
};
