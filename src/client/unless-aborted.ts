/** Lets the caller of an API in this process give up waiting. */

/** The API does not look at the signal of a request. What it was asked for goes on, and nobody waits for it. */
export function unlessAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const onAbort = (): void => reject(signal.reason as Error);
  signal.addEventListener("abort", onAbort, { once: true });
  work()
    .then(resolve, reject)
    .finally(() => signal.removeEventListener("abort", onAbort));
  return promise;
}
