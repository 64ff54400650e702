/** The public surface: what an agent imports. */
export {
  check,
  defineAgent,
  tool,
  type Agent,
  type Check,
  type ModelChoice,
  type Probe,
  type ProbeContext,
  type RunView,
  type SettledCall,
  type Tool,
  type ToolContext,
} from "./sdk/define.ts";
export { AgentInvalid } from "./ports/agent-invalid.ts";
export { OutcomeUnknown, Rejected } from "./sdk/outcome.ts";
export type { SagaOptions, Undo, UndoContext } from "./sdk/saga.ts";
export { defineChaos, type Chaos, type OutsideEffect } from "./sdk/chaos.ts";
export type { Config } from "./sdk/config.ts";
export { react, type Topology } from "./core/topologies/react.ts";
export { scriptedModel, type Conversation, type ScriptedReply } from "./sdk/scripted.ts";
export { recordedModel } from "./sdk/recorded.ts";
