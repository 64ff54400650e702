/** Errors with which a tool says what became of its effect (ADR 0022). Any other error says that it did not happen. */

/**
 * The effect may have happened: for example, the connection broke after the request was sent. The call is treated as
 * after a timeout: its effect class decides what follows.
 *
 * @example
 *   if (error.code === "ECONNRESET") throw new OutcomeUnknown("the connection broke", { cause: error });
 */
export class OutcomeUnknown extends Error {
  override readonly name = "OutcomeUnknown";
}

/**
 * The external service rejected this idempotency key: the effect did not happen and never will under this key. After an
 * earlier attempt with an unknown outcome, only this error settles the call as failed. Any other error describes just
 * the last attempt (schedule 74).
 */
export class Rejected extends Error {
  override readonly name = "Rejected";
}
