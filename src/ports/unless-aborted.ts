/** Lets a caller give up waiting for work that takes no signal, or must not see it. */

/**
 * Rejects with the reason of the signal as soon as it fires. The work goes on, and its result is dropped. It does not
 * begin if the signal has fired before.
 */
export function unlessAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const onAbort = (): void => reject(signal.reason as Error);
  if (signal.aborted) {
    onAbort();
    return promise;
  }
  signal.addEventListener("abort", onAbort, { once: true });
  work()
    .then(resolve, reject)
    .finally(() => signal.removeEventListener("abort", onAbort));
  return promise;
}
