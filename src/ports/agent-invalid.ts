/** The agent's definition is wrong, so it cannot run; the message says why. */
export class AgentInvalid extends Error {
  override readonly name = "AgentInvalid";
  readonly code = "AgentInvalid";
}
