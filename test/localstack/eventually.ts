/** Waits with a limit for an effect of another process. */
import { LIMITS } from "../support/gate/limits.ts";
import { waitUntil } from "../support/gate/safety.ts";

/** Calls the function until it returns a value. */
export function eventually<T>(ask: () => Promise<T | null | undefined>): Promise<T> {
  const answered = async (): Promise<T> => {
    const answer = await ask();
    if (answer == null) throw new Error("there is no answer yet");
    return answer;
  };
  return waitUntil(answered, LIMITS.eventMs);
}
