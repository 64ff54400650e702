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
} from "./agent/define.ts";
export { AgentInvalid } from "./agent/invalid.ts";
export { OutcomeUnknown, Rejected } from "./agent/outcome.ts";
export type { SagaOptions, Undo, UndoContext } from "./agent/undo.ts";
export { defineChaos, type Chaos, type OutsideEffect } from "./agent/chaos.ts";
export type { Config } from "./agent/config.ts";
export { react, type Topology } from "./core/topologies/react.ts";
export { scriptedModel, type Conversation, type ScriptedReply } from "./agent/scripted.ts";
export { recordedModel } from "./agent/recorded.ts";
