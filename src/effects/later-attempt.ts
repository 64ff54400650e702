/** What the error of a later attempt means, where the service deduplicates by the key of the call. */
import { isErrorNamed, sentenceOf } from "../codec/value.ts";
import { OutcomeUnknown } from "../sdk/outcome.ts";

/**
 * Makes an attempt of a call that its service knows by its key. Its probe may say `absent` although an earlier attempt
 * had the effect, because a repetition is harmless. So an error of a later attempt leaves the outcome unknown, unless it
 * is the verdict of the service on that key (`Rejected`). If it settled the call as failed, the model would repeat the
 * effect under another key.
 */
export async function attemptUnderKey<T>(attempt: number, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (attempt === 1 || isErrorNamed(error, "Rejected") || isErrorNamed(error, "OutcomeUnknown")) throw error;
    const why = `an earlier attempt may have had the effect, and this one failed: ${sentenceOf(error)}`;
    throw new OutcomeUnknown(why, { cause: error });
  }
}
