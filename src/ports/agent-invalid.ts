/** The definition of an agent is wrong, so the agent cannot run. The message names the agent, the field and the fix. */
export class AgentInvalid extends Error {
  override readonly name = "AgentInvalid";
  readonly code = "AgentInvalid";
}
