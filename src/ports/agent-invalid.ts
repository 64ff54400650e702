/** An agent that cannot be run, and why. */
export class AgentInvalid extends Error {
  override readonly name = "AgentInvalid";
  readonly code = "AgentInvalid";
}
