/**
 * Invariants stay on in production: a violation stops the run before it can commit a wrong history. They catch bugs of
 * cairn only. What a user, a model or a tool can cause is an outcome, never an invariant.
 */
export class InvariantViolated extends Error {
  override readonly name = "InvariantViolated";
  readonly code = "InvariantViolated";
}

/** Throws `InvariantViolated` with `message` unless the condition holds. */
export function ensure(condition: boolean, message: string): asserts condition {
  if (!condition) throw new InvariantViolated(message);
}

/** Marks the branch that an exhaustive `switch` never reaches. */
export function unreachable(value: never): never {
  throw new InvariantViolated(`unreachable: ${JSON.stringify(value)}`);
}
