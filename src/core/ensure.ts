/**
 * Invariants stay on in production: a run that broke one is stopped before it can commit a wrong history.
 * They are for mistakes of ours. What a user, a model or a tool can cause is an outcome, never an invariant.
 */
export class InvariantViolated extends Error {
  override readonly name = "InvariantViolated";
  readonly code = "InvariantViolated";
}

export function ensure(condition: boolean, message: string): asserts condition {
  if (!condition) throw new InvariantViolated(message);
}

/** The branch that exhaustive handling never reaches. */
export function unreachable(value: never): never {
  throw new InvariantViolated(`unreachable: ${JSON.stringify(value)}`);
}
