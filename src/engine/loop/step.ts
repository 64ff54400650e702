/**
 * Maps each command of a beat to the function that carries it out: a step of plan, act and observe, or a request of an
 * operator.
 */
import type { Command } from "../../core/commands.ts";
import { ensure } from "../../core/ensure.ts";
import { NEXT_MESSAGE, isAnswerStopped, stoppedAnswer } from "../../core/calls/next-message.ts";
import { isModelOut } from "../../core/policy/model-out.ts";
import type { LargeResult } from "../../features/result-summaries/core.ts";
import { RowUnreadable } from "../../codec/row.ts";
import { hasEnded } from "../../protocol/row.ts";
import { runTools, recoverCalls } from "../tools/run-tools.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { makeClosingCall } from "../model/closing-call.ts";
import { compactContext } from "../../features/compaction/engine.ts";
import { expireRun, recordStart } from "../../features/deadlines/engine.ts";
import { cancel, pause, resume } from "./operator-requests.ts";
import { findRow } from "../../history/damage.ts";
import { checkMissingTools, matchAgentVersion } from "../../features/upgrades/engine.ts";
import { commitDecided } from "./terminal-commit.ts";
import { askInTime } from "../tools/ask-in-time.ts";
import { applyDecision, expireGate } from "../../features/approvals/engine.ts";
import { childTooLate, takeReports } from "../../features/children/reports.ts";
import { continueChildren, makeChildren, stopChildren } from "../../features/children/engine.ts";
import { absorbInbox, absorbLeftTexts } from "../context/inbox.ts";
import { prepareCalls } from "../tools/prepare-calls.ts";
import { openCall } from "../tools/tools.ts";
import { charactersToRead, resultToSummarise, summariseResult } from "../../features/result-summaries/engine.ts";
import { type Summariser, routeSummary } from "../model/summary-model.ts";
import { type Routing, routeModel } from "../model/provider-outage.ts";
import { holdsReply } from "../tools/deferred-commit.ts";
import { probeCalls } from "../tools/probe.ts";
import { checkCompletion } from "./completion-check.ts";
import { recall } from "../../features/memory/engine.ts";
import { withSecrets } from "../context/agent-secrets.ts";
import { recordLeftOut } from "../context/left-out.ts";
import { type ListInTime, withReleasedTools, withSources } from "../context/agent-sources.ts";
import { type Next, beatsIn, goesOn } from "../context/next.ts";
import { beatsMaxOf, releasesAtUnit } from "../context/run-parts.ts";
import { heldBack } from "../model/model-rate.ts";
import { callModel } from "../model/call-model.ts";
import { dropDetached, pollDetached, submitDetached } from "../../features/detached-calls/engine.ts";
import { compensate, conclude, startOver, undo } from "../../features/saga/engine.ts";
import { chooseRequest, chosenModel, withChoice } from "../model/choice.ts";
import { agentInRole, requestFor } from "../model/role.ts";
import { beforeModelCall, observeReports, refusalOfChild } from "../model/topology.ts";
import { giveUpCall } from "../tools/unknown-outcome.ts";
import { endWait, takeInputs } from "../../features/waits/engine.ts";
import type { AgentAbsent, LoadedAgent, Runner } from "../context/runner.ts";

type Step = Exclude<Command, { kind: "wait" | "awaitAnswer" }>;
type StepOf<K extends Step["kind"]> = Extract<Step, { readonly kind: K }>;

/** The agent as the run meets it. `loaded`: as its code says; `agent` and `model`: as the state of its provider says. */
interface Met extends Routing {
  readonly loaded: LoadedAgent;
  readonly runner: Runner;
}

/**
 * How a command is carried out. One that needs the run alone asks for no agent: a run whose agent is missing or kills its
 * process can still end and be reconciled.
 */
type CommandRow<K extends Step["kind"]> =
  | {
      readonly needs: "run";
      readonly carryOut: (run: ActiveRun, command: StepOf<K>, runner: Runner) => Next | Promise<Next>;
    }
  | {
      readonly needs: "agent";
      readonly carryOut: (run: ActiveRun, command: StepOf<K>, met: Met) => Next | Promise<Next>;
    };

/** Closed: a command without a row does not compile. */
const COMMANDS: { readonly [K in Step["kind"]]: CommandRow<K> } = {
  end: { needs: "run", carryOut: end },
  cancel: { needs: "run", carryOut: cancel },
  expire: { needs: "run", carryOut: expireRun },
  pause: { needs: "run", carryOut: pause },
  resume: { needs: "run", carryOut: resume },
  reconcile: { needs: "run", carryOut: (run, { call }) => reconcile(run, call) },
  giveUp: { needs: "run", carryOut: (run, { call }) => giveUpCall(run, call) },
  startOver: { needs: "run", carryOut: startOver },
  undo: { needs: "run", carryOut: (run, { call }) => undo(run, call) },
  compensate: { needs: "agent", carryOut: (run, _, { agent }) => compensate(run, agent) },
  conclude: { needs: "agent", carryOut: (run, _, { agent }) => conclude(run, agent) },
  decide: { needs: "run", carryOut: (run, { call }) => applyDecision(run, call) },
  expireGate: { needs: "run", carryOut: (run, { call }) => expireGate(run, call) },
  endWait: { needs: "run", carryOut: (run, { call }) => endWait(run, call) },
  takeInputs: { needs: "agent", carryOut: (run, { calls }, { agent }) => takeInputs(run, agent, calls) },
  continueChildren: { needs: "run", carryOut: (run, { children }) => continueChildren(run, children) },
  stopChildren: { needs: "run", carryOut: (run, { children }) => stopChildren(run, children) },
  makeChildren: {
    needs: "agent",
    carryOut: (run, { children }, { runner, agent }) => makeChildren({ runner, agent }, run, children),
  },
  takeReports: {
    needs: "agent",
    carryOut: (run, { calls }, { agent }) => {
      observeReports(run, agent, calls);
      return takeReports(run, agent, calls);
    },
  },
  childTooLate: {
    needs: "agent",
    carryOut: (run, { child }, { agent, runner }) => childTooLate(run, { agent, runner }, child),
  },
  dropDetachedCall: { needs: "run", carryOut: (run, _, runner) => dropDetached(runner, run) },
  pollModel: { needs: "agent", carryOut: (run, _, { loaded }) => pollDetached(run, loaded) },
  askModel: {
    needs: "agent",
    carryOut: (run, command, { loaded }) =>
      isModelOut(run.state) ? submitDetached(run, loaded) : askInRole(run, loaded, command),
  },
  compact: { needs: "agent", carryOut: (run, command, { loaded }) => askInRole(run, loaded, command) },
  lookAgain: { needs: "agent", carryOut: (run, _, { agent }) => checkMissingTools(run, agent) },
  prepare: { needs: "agent", carryOut: (run, _, { agent }) => begin(run, agent) },
  intend: { needs: "agent", carryOut: intend },
  recover: {
    needs: "agent",
    carryOut: (run, { calls }, { agent }) => recoverCalls(run, withReleasedTools(agent, run.state.open), calls),
  },
  probe: { needs: "agent", carryOut: (run, { calls }, { agent }) => probeCalls(run, agent, calls) },
  perform: {
    needs: "agent",
    carryOut: (run, { calls }, { agent }) => runTools(run, withReleasedTools(agent, run.state.open), calls),
  },
  judge: { needs: "agent", carryOut: (run, _, { agent }) => checkCompletion(run, agent) },
  close: { needs: "agent", carryOut: close },
};

/** Carries out one command. Returns whether this invocation continues or releases the run. */
export async function step(runner: Runner, run: ActiveRun, command: Step): Promise<Next> {
  const wasOut = isModelOut(run.state);
  // The table is typed by kind, which TypeScript cannot follow from `command.kind`.
  const row = COMMANDS[command.kind] as CommandRow<Step["kind"]>;
  const next = await (row.needs === "run"
    ? row.carryOut(run, command, runner)
    : stepOfAgent(run, command, runner, row));
  run.stepEnded(next);
  if (wasOut && !isModelOut(run.state)) await absorbLeftTexts(run);
  return next;
}

type AgentRow = Extract<CommandRow<Step["kind"]>, { readonly needs: "agent" }>;

async function stepOfAgent(run: ActiveRun, command: Step, runner: Runner, row: AgentRow): Promise<Next> {
  if (mayStop(command) && run.invocation.drain.aborted) return "release";
  // Schedule 236: it begins nothing more. Code that it asked now would get no time, and silence counts as an answer.
  if (run.noticed.isHeldOn && command.kind !== "perform") return "release";
  if (command.kind === "askModel") {
    if (beatsIn(run.seen) >= beatsMaxOf(run)) return "release";
    // The commit may bring news, such as a cancel, so the next command is decided again.
    if (run.pending.mustCommitFirst || holdsReply(run)) {
      await run.commitPending();
      return "continue";
    }
    // Absorb all new messages before the model is called, as the first beat of an invocation does. A reply to only some
    // of them would be paid for, and the rest would need another reply.
    if (run.row.wakeCount !== run.pending.wakeCountRead && !run.row.pause && !(await absorbInbox(run))) {
      return run.leftMs < run.world.limits.modelMs && run.moved ? "release" : "continue";
    }
  }
  if (command.kind === "prepare" && (await isOrphan(run))) {
    const why = "the run that started it has ended";
    run.record({ kind: "RecoveryDecided", at: run.now, rule: "parent has ended", why, action: { kind: "cancel" } });
    return "continue";
  }
  const found = await knownAgent(runner, run, command);
  // The next beat has more time for it. Without progress it would have no more, so the run waits as for any missing code.
  if (found.kind === "absent" && found.isLate === true && run.moved) return "release";
  const met = matchAgentVersion(run, found);
  if (met === null) return goesOn("deployment");
  const routing = routeModel(run, met);
  const { agent } = routing;
  run.use(agent);
  if (Object.hasOwn(agent.tools, NEXT_MESSAGE)) {
    // Schedule 278: the user stops an answer while the reply with its calls is committed. The calls are released by then.
    if (command.kind === "perform" && run.row.wakeCount !== run.pending.wakeCountRead && !run.row.pause) {
      await absorbInbox(run);
      return "continue";
    }
    if (command.kind === "askModel" && isAnswerStopped(run.state) && !isModelOut(run.state)) {
      run.record(stoppedAnswer(run.now));
      return "continue";
    }
  }
  return row.carryOut(run, command, { loaded: met, runner, ...routing });
}

function end(run: ActiveRun): Promise<Next> {
  ensure(run.state.ending !== null, "no end was decided");
  return commitDecided(run, run.state.ending);
}

function intend(run: ActiveRun, { calls }: StepOf<"intend">, { agent, runner }: Met): Promise<Next> {
  const refusalOf = (child: Parameters<typeof refusalOfChild>[2]) => refusalOfChild(run, agent, child);
  return prepareCalls(run, { agent: agentInRole(run.state, agent), agentOf: runner.agentOf, refusalOf }, calls);
}

async function close(run: ActiveRun, _: StepOf<"close">, { agent, ...by }: Met): Promise<Next> {
  return (await heldBack(run, by.model)) ?? makeClosingCall(run, withChoice(run.state, agent), by);
}

/** The agent with the tools that its servers list, as far as its code and its servers answer in time. */
async function knownAgent(runner: Runner, run: ActiveRun, { kind }: Step): Promise<LoadedAgent | AgentAbsent> {
  const loaded = await withSecrets(run.world, await runner.agentOf(run.row.agent));
  const ask: ListInTime = ({ label }, list) => {
    const ms = run.leftMs;
    return askInTime(run, { what: label }, () => list(ms));
  };
  return withSources(run.world, loaded, { mayBeOld: kind === "perform" || kind === "recover", ask });
}

async function begin(run: ActiveRun, agent: LoadedAgent["agent"]): Promise<Next> {
  const next = recordStart(run, agent);
  await recall(run, agent);
  return next;
}

/** Lets the topology look at the run. Then calls the model in the role that the topology has reached. */
async function askInRole(run: ActiveRun, met: LoadedAgent, command: StepOf<"askModel" | "compact">): Promise<Next> {
  if (command.kind === "askModel") {
    const { kind } = await beforeModelCall(run, met.agent);
    if (kind === "late") return "release";
    if (kind === "section" && releasesAtUnit(run) && run.moved) return "release";
    if (kind !== "none") return "continue";
    recordLeftOut(run, met.agent);
    const chose = await chooseRequest(run, met.agent);
    if (chose !== "none") return chose === "late" ? "release" : "continue";
  }
  const chosen = chosenModel(run.state, met.agent);
  const role = requestFor(run.state, met.agent).model ?? chosen;
  const compacts = command.kind === "compact";
  const routed: Routing | Summariser = compacts ? routeSummary(run, met, role) : routeModel(run, met, role, chosen);
  const agent = agentInRole(run.state, routed.agent);
  run.use(agent);
  const held = await heldBack(run, routed.model);
  if (held !== null) return held;
  if (compacts) return compactContext(run, { isOwn: false, ...routed, agent });
  const large = resultToSummarise(run.state, agent);
  run.use(agent, large === null ? 0 : charactersToRead(large, agent));
  const summarise = async (result: LargeResult): Promise<Next> => {
    const by = routeSummary(run, met, role);
    return summariseResult(run, { ...by, agent: agentInRole(run.state, by.agent) }, result);
  };
  return callModel(run, agent, { ...routed, summarise: large && (() => summarise(large)) });
}

/**
 * Whether the parent of this run has ended. Schedule 44: a parent is cancelled after it started this child and before
 * it could ask the child to stop.
 */
async function isOrphan({ world, row }: ActiveRun): Promise<boolean> {
  if (row.parent === null) return false;
  const parent = await findRow(world, row.parent.run, world.clock.now());
  // The state of a parent with a damaged row is not known, so its child continues.
  if (parent instanceof RowUnreadable) return false;
  return parent === null || parent.born !== row.parent.born || hasEnded(parent);
}

/**
 * Whether an invocation that is asked to end may release the run before this command. Released calls must be run or
 * accounted for first.
 */
const mayStop = (command: Step): boolean => command.kind !== "perform" && command.kind !== "judge";

/** Applies an operator's reconciliation of a call with an unknown outcome. */
function reconcile(run: ActiveRun, call: string): Next {
  const { answer: given } = openCall(run, call);
  ensure(given !== null, `call ${call} has no answer`);
  if (given.as === "compensate") {
    const why = `${given.by} asked to undo the effects of the run, since the outcome of ${call} is unknown`;
    const action = { kind: "abort", failure: { code: "OutcomeUnknown", message: why } } as const;
    run.record({ kind: "RecoveryDecided", at: run.now, rule: "an operator asked for compensation", why, action });
    return "continue";
  }
  run.record({ kind: "ToolResultReconciled", at: run.now, call, answer: given });
  run.pending.requireCommit();
  return "continue";
}
