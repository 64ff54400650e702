/** The error of a target that has already seen a later epoch of the same run. */

/**
 * A later invocation of the run has already written to the target, so this one is stale: it has lost the run, and its
 * effect did not happen. Its process cannot commit anything either.
 */
export class StaleEpoch extends Error {
  override readonly name = "StaleEpoch";
  readonly code = "StaleEpoch";

  constructor({ target, run, epoch }: { readonly run: string; readonly epoch: number; readonly target: string }) {
    super(`${target} has seen a later epoch of run ${run} than ${epoch}: another process has taken over the run`);
  }
}
