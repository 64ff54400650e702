/** Waits for a promise, and never longer than its caller has. */
import type { Clock } from "./world.ts";

/** The value of the promise, or null if it does not settle within `ms` milliseconds. Rejects as the promise does. */
export async function withTimeout<T>(promise: Promise<T>, ms: number, clock: Clock): Promise<T | null> {
  let forget = (): void => undefined;
  const late = new Promise<null>((resolve) => {
    forget = clock.after(ms, () => resolve(null));
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    forget();
  }
}
