/** What a tool throws to say what its error means for the effect; see ADR 0022. Any other error says that it did not happen. */

/** Nobody can tell whether the effect happened: a connection that broke after the request left. */
export class OutcomeUnknown extends Error {
  override readonly name = "OutcomeUnknown";
}

/**
 * The other side itself said no to this very key: it did not happen, and never will under it. Where an earlier try of the
 * call gave no answer, only this says so; another error is that of the last try alone (schedule 74).
 */
export class Rejected extends Error {
  override readonly name = "Rejected";
}
