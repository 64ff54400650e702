/** Waits with a limit for an effect of another process. */
import { vi } from "vitest";

const PATIENCE_MS = 30_000;

/** Calls the function until it returns a value. */
export function eventually<T>(ask: () => Promise<T | null | undefined>): Promise<T> {
  const answered = async (): Promise<T> => {
    const answer = await ask();
    if (answer == null) throw new Error(`there is no answer after ${PATIENCE_MS} ms`);
    return answer;
  };
  return vi.waitFor(answered, { timeout: PATIENCE_MS, interval: 50 });
}
