/** The public surface: what an agent imports. */
export { check, defineAgent, tool } from "./sdk/define.ts";
export type {
  Agent,
  BeforeContext,
  CallContext,
  Check,
  ModelChoice,
  Probe,
  ProbeContext,
  ResultOf,
  RunFile,
  RunFiles,
  RunView,
  SettledCall,
  Tool,
  Topology,
  ToolContext,
  Undo,
  UndoContext,
} from "./ports/agent.ts";
export type { RunFiring } from "./core/run-firing.ts";
export type { MemoryOptions } from "./sdk/memory.ts";
export { httpSource, type HttpSourceOptions } from "./sdk/http-source.ts";
export type {
  AskSource,
  FetchedSource,
  Memory,
  MemoryEntry,
  MemoryHit,
  MemoryPut,
  NewMemoryEntry,
  SourceAnswer,
} from "./ports/memory.ts";
export type { ModelOptions } from "./ports/model-options.ts";
export type {
  AsynchronousCalls,
  AsynchronousModel,
  DetachedSearch,
  DetachedState,
} from "./ports/asynchronous-model.ts";
export { type ChildBudget, type ChildToolOptions, childTool } from "./sdk/child-tool.ts";
export {
  type AskHumanOptions,
  type SleepOptions,
  type WaitForOptions,
  type WaitLimit,
  askHuman,
  sleep,
  waitFor,
} from "./sdk/waits.ts";
export { AgentInvalid } from "./ports/agent-invalid.ts";
export { OutcomeUnknown, Rejected } from "./sdk/outcome.ts";
export type { SagaOptions } from "./sdk/saga.ts";
export { defineChaos, type Chaos, type ChaosWait, type OutsideEffect } from "./sdk/chaos.ts";
export type { Config } from "./sdk/config.ts";
export { debate } from "./sdk/debate.ts";
export { hierarchical } from "./sdk/hierarchical.ts";
export { orchestrator } from "./sdk/orchestrator.ts";
export { planExecute } from "./sdk/plan-execute.ts";
export { judge, pipeline } from "./sdk/pipeline.ts";
export { react } from "./sdk/react.ts";
export { fromToolLoopAgent, type ToolLoopAgentLike } from "./sdk/tool-loop-agent.ts";
export { fileSchema, toolFile, type ToolFile } from "./sdk/file.ts";
export { scriptedModel, type Conversation, type ScriptedReply } from "./sdk/scripted.ts";
export {
  scriptedAsynchronousModel,
  type ScriptedDetachedCall,
  type ScriptedAsynchronousModel,
  type ScriptedAsynchronousOptions,
} from "./sdk/scripted-asynchronous.ts";
export { recordedModel } from "./sdk/recorded.ts";
