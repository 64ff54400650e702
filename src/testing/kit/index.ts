/**
 * `cairn-run/testing`: tests of one's own agents, in memory, with any test framework. Failed expectations throw
 * `AssertionError` of `node:assert`.
 */
export {
  type FakeService,
  type FakeServiceOptions,
  type ServiceEffect,
  type ServiceFault,
  type ServiceRequest,
  fakeService,
} from "./fake-service.ts";
export { type EveryFaultPointOptions, type FaultPointsKilled, everyFaultPoint, killAt } from "./every-fault-point.ts";
export { EffectsNotReplaced, type NotReplaced } from "./effects-not-replaced.ts";
export { expectEffectsOnce } from "./expect-effects-once.ts";
export { NotGiven } from "./not-given.ts";
export type { KillPoint } from "./kill-points.ts";
export { type AgentRun, type RunAgentOptions, runAgent } from "./run-agent.ts";
export { type Conversation, type ScriptedReply, scriptedModel } from "../../sdk/scripted.ts";
export {
  type ScriptedDetachedCall,
  type ScriptedAsynchronousModel,
  type ScriptedAsynchronousOptions,
  scriptedAsynchronousModel,
} from "../../sdk/scripted-asynchronous.ts";
export { recordedModel } from "../../sdk/recorded.ts";
export { type Pinned, type PinnedCall, type RecordedRun, expectPinned, recordedRun } from "./recorded-run.ts";
