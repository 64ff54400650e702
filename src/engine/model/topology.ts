/**
 * The topology of a run: which model call is due, and what follows from an observation. The modules decide
 * (`core/topologies`); this file gives them what they may know, runs the functions of the user that they name, and
 * records their moves.
 *
 * A move is recorded before the next model call. An invocation that dies before the commit observes the same state
 * again. A new section is committed before its first model call, so that no reply is paid for twice on its account.
 */
import { childIn, waitsForChild } from "../../core/calls/held-calls.ts";
import type { Agent, Topology } from "../../ports/agent.ts";
import { digestOf } from "../../codec/canonical.ts";
import { bounded } from "../../codec/value.ts";
import { workInWords } from "../../core/calls/outside.ts";
import { EFFECTS, STRICTEST } from "../../core/calls/effects.ts";
import { argsOf } from "../../core/calls/ledger.ts";
import { isRefusal } from "../../core/calls/refusals.ts";
import { decideRecovery } from "../../core/policy/recovery.ts";
import { messagesOfRestart, messagesOfSection, sectionStart } from "../../core/policy/window.ts";
import { ensure } from "../../core/ensure.ts";
import type { EventOf } from "../../core/event.ts";
import { type Message, type Part, type Value, textOf, wordsOf } from "../../core/message.ts";
import type { Json } from "../../core/json.ts";
import type { State } from "../../core/state.ts";
import { topologyNamed } from "../../features/topologies/core-table.ts";
import type { Context, HandOff, Move, Observation, Symptom, TopologyModule } from "../../core/topologies/topology.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { limitsOf } from "../context/budget-gate.ts";
import { signalCrack } from "../context/signal-crack.ts";
import { repeatedWork } from "../../features/children/repeated-work.ts";
import { verdictsOf } from "./verdicts.ts";

/** The module of an agent's topology. */
export function moduleOf({ kind, module }: Topology): TopologyModule {
  const found = module ?? topologyNamed(kind);
  ensure(found !== null, `there is no topology ${kind}`);
  return found;
}

/** The progress of the run in this topology; null before it begins. The agent may have changed its topology. */
export function progressIn({ topology }: State, agent: Agent): Json {
  const module = moduleOf(agent.topology);
  const isMine = topology?.kind === module.kind && module.fits(topology.progress, agent.topology);
  return isMine ? topology.progress : null;
}

/**
 * What followed from an observation. `late`: no time is left for the functions of the user, and the next invocation
 * observes again. `none`: the run goes on as it is. `moved`: something was recorded that changes what
 * is due. `section`: a new section begins. `finished`: the run is done, and this message is its answer; null: the last reply.
 */
export type Observed =
  | { readonly kind: "none" | "moved" | "section" | "late" }
  | { readonly kind: "finished"; readonly message: string | null };

const NONE: Observed = { kind: "none" };
const MOVED: Observed = { kind: "moved" };

/** Begins the topology if it has not begun, or lets it look at the run before the next model call. */
export async function beforeModelCall(run: ActiveRun, agent: Agent): Promise<Observed> {
  const begun = begin(run, agent);
  if (begun !== null) return begun;
  const { topology, messages } = run.state;
  if (topology?.final === undefined || progressIn(run.state, agent) === null)
    return observe(run, agent, { kind: "due" });
  // A user wrote after the topology had finished.
  const said = messages.findLast(({ source }) => source.startsWith("user:"));
  return observe(run, agent, { kind: "reopened", by: "user", why: wordsOf(said?.parts ?? []) });
}

function begin(run: ActiveRun, agent: Agent): Observed | null {
  if (progressIn(run.state, agent) !== null) return null;
  const begun = moduleOf(agent.topology).begin(agent.topology, contextOf(run, agent));
  if (begun === null) return null;
  const { progress, note, say } = begun;
  recordMove(run, agent, { progress, note, ...(say === undefined ? {} : { text: say, section: true }) });
  // Otherwise it would begin again for ever.
  ensure(progressIn(run.state, agent) !== null, "a topology fits its own first progress");
  return { kind: "section" };
}

/** Lets the topology observe, and records what follows. */
export async function observe(run: ActiveRun, agent: Agent, seen: Observation): Promise<Observed> {
  const module = moduleOf(agent.topology);
  const context = contextOf(run, agent);
  const decide = (progress: Json, observation: Observation): Move | null =>
    module.observe(progress, observation, { options: agent.topology, context });
  let move = decide(progressIn(run.state, agent), seen);
  for (let rounds = 0; move?.kind === "verify"; rounds += 1) {
    ensure(rounds < VERIFIED_MAX, "a topology verifies without end");
    // Without time a function gives no verdict, and that would count as a refusal.
    if (run.leftMs < VERDICT_MS_MIN && run.moved) return { kind: "late" };
    signal(run, move.cracks);
    const verdicts = await verdictsOf(run, agent, move);
    move = decide(move.progress, { kind: "verdicts", verdicts });
  }
  return move === null ? NONE : apply(run, agent, move);
}

/** The least time for functions of the user, in milliseconds. */
const VERDICT_MS_MIN = 1_000;

/** More functions in a row than any topology needs. */
const VERIFIED_MAX = 100;

function apply(run: ActiveRun, agent: Agent, move: Exclude<Move, { readonly kind: "verify" }>): Observed {
  signal(run, move.cracks);
  switch (move.kind) {
    case "signal":
      return NONE;
    case "fail":
      run.record(decideRecovery(run.state, { kind: "topology", failure: move.failure }, run.now));
      return MOVED;
    case "finish": {
      const { progress, message, note } = move;
      if (message !== null) recordMove(run, agent, { progress, note, final: message });
      return { kind: "finished", message };
    }
    case "ask": {
      const { progress, note, say, tell, repeats } = move;
      const again = repeats === undefined ? null : repeatedWork(run.state, agent, repeats);
      const standing = again?.words ?? [];
      const said = [say ?? tell, ...standing].filter((each) => each !== undefined).join("\n\n");
      recordMove(run, agent, {
        progress,
        note,
        ...(said === "" ? {} : { text: said }),
        ...(again === null ? {} : { repeats: again.calls }),
        ...(say === undefined ? {} : { section: true }),
      });
      return { kind: say === undefined ? "moved" : "section" };
    }
  }
}

function signal(run: ActiveRun, cracks: readonly Symptom[] = []): void {
  for (const { crack, why } of cracks) signalCrack(run, crack, why);
}

interface Recorded {
  readonly progress: Json;
  readonly note: string;
  readonly text?: string;
  readonly section?: true;
  readonly final?: string;
  readonly repeats?: NonNullable<EventOf<"TopologyMoved">["repeats"]>;
}

function recordMove(run: ActiveRun, { topology }: Agent, { progress, note, ...of }: Recorded): void {
  const module = moduleOf(topology);
  const where = module.where(progress, topology);
  const { role } = module.request(progress, topology);
  const told = { topology: module.kind, progress, role, where: bounded(where), note: bounded(note) };
  run.record({ kind: "TopologyMoved", at: run.now, ...told, ...of });
  // The section has to be durable before its first reply is paid for.
  run.pending.requireCommit();
}

/** Escalates a contradiction of tools, of which the model was told before. Returns false if the topology does not. */
export function escalate(
  run: ActiveRun,
  agent: Agent,
  conflict: { readonly why: string; readonly say: string },
): boolean {
  const { topology } = agent;
  const context = contextOf(run, agent);
  const seen = { kind: "conflict", ...conflict } as const;
  const move = moduleOf(topology).observe(progressIn(run.state, agent), seen, { options: topology, context });
  if (move === null || move.kind === "verify") return false;
  return apply(run, agent, move).kind !== "none";
}

/**
 * Lets the topology see that reports of children waited unread. Their calls are open, so only signals follow. A report that
 * came while the run did nothing but wait has waited for no work of it.
 */
export function observeReports(run: ActiveRun, agent: Agent, calls: readonly string[]): void {
  const { topology } = agent;
  const working = run.state.open.filter(waitsForChild).length;
  const unread = Math.max(0, calls.length - run.noticed.takeReportsWhileWaiting());
  const seen = { kind: "reports", unread, working } as const;
  const context = contextOf(run, agent);
  const move = moduleOf(topology).observe(progressIn(run.state, agent), seen, { options: topology, context });
  ensure(move === null || move.kind === "signal", "a topology moves between calls");
  signal(run, move?.cracks);
}

/** Why a child run must not be dispatched, by the topology; null: it may. */
export async function refusalOfChild(
  run: ActiveRun,
  agent: Agent,
  proposed: { readonly call: string; readonly tool: string; readonly args: Json },
): Promise<string | null> {
  const module = moduleOf(agent.topology);
  const progress = progressIn(run.state, agent);
  if (module.refusal === undefined || progress === null) return null;
  const { state } = run;
  const asked = messagesOfRestart(state).flatMap(({ parts }) => parts.filter((part) => part.kind === "call"));
  const results = resultsIn(state.messages);
  const before: HandOff[] = [];
  for (const { call, tool } of asked) {
    if (agent.tools[tool]?.child === undefined || call === proposed.call) continue;
    const result = results.find((each) => each.call === call);
    const isOut = state.open.some((open) => open.call === call && childIn(open) !== undefined);
    if (!isOut && (result === undefined || isRefusal(result.value))) continue;
    const args = await run.json(argsOf(state, call));
    const status = isOut ? "out" : result?.outcome === "succeeded" ? "succeeded" : "failed";
    const acted = result?.outside === undefined ? {} : ({ acted: true } as const);
    before.push({ call, tool, args, digest: digestOf(args), status, ...acted });
  }
  const { tool, args } = proposed;
  const depth = state.depth ?? 0;
  return module.refusal(progress, agent.topology, { tool, args, digest: digestOf(args), before, depth });
}

/** How much of the arguments of a hand-off a section shows. */
const ARGS_CHARACTERS_MAX = 300;

/**
 * What the modules may know. All of it derives from the state, apart from the time and the takeover. What needs a look
 * through the transcript is derived when a module asks for it: most observations of a long run do not.
 */
function contextOf(run: ActiveRun, agent: Agent): Context {
  const { state } = run;
  const limits = limitsOf(state, agent);
  const section = messagesOfSection(state);
  return {
    now: run.now,
    beats: { used: state.spent.beats, max: limits.beats ?? agent.budget.beats },
    resumed: run.noticed.takeTakeover(),
    get sectionBeats() {
      return section.filter(({ role }) => role === "assistant").length;
    },
    get failures() {
      return failuresIn(section);
    },
    get effects() {
      return effectsIn(state, { section, agent });
    },
    get results() {
      return resultsIn(section).map(({ call, tool, outcome, value }) => ({
        call,
        tool,
        outcome,
        isRefused: isRefusal(value),
      }));
    },
    newest: state.messages.at(-1)?.id ?? "",
    textOf: (id) => textOf(state.messages, id),
    argsOf: (call) => bounded(inWords(argsOf(state, call)), ARGS_CHARACTERS_MAX),
    resultOf: (call) => {
      const found = resultsIn(state.messages).findLast((each) => each.call === call);
      return found === undefined ? "" : inWords(found.value);
    },
    wasSignalled: (crack) => state.cracks?.[crack]?.section === sectionStart(state),
  };
}

/** Calls that did not succeed, unless a later call of the same tool did. A call that was refused did not start. */
function failuresIn(messages: readonly Message[]): Context["failures"] {
  const results = resultsIn(messages);
  return results.flatMap((part, index) => {
    if (part.outcome === "succeeded" || isRefusal(part.value)) return [];
    const isMended = results
      .slice(index + 1)
      .some(({ tool, outcome }) => tool === part.tool && outcome === "succeeded");
    return isMended
      ? []
      : [{ tool: part.tool, why: bounded(inWords(part.value)), unknown: part.outcome === "unknown" }];
  });
}

/** Calls that changed something outside, or may have. The transcript of a section that was left is not shown again. */
function effectsIn(
  state: State,
  { section, agent: { tools } }: { readonly section: readonly Message[]; readonly agent: Agent },
): Context["effects"] {
  return section
    .flatMap(({ parts }) => parts)
    .flatMap((part) => {
      if (part.kind !== "result") return [];
      const { outside } = part;
      if (outside !== undefined) {
        return [bounded(`${part.tool} ${inWords(argsOf(state, part.call))}: failed, after ${workInWords(outside)}`)];
      }
      if (part.outcome === "failed") return [];
      // The agent may have lost the tool since the call.
      if (!EFFECTS[tools[part.tool]?.effect ?? STRICTEST].actsOutside) return [];
      const args = inWords(argsOf(state, part.call));
      const outcome = part.outcome === "unknown" ? "may have happened" : `succeeded: ${inWords(part.value)}`;
      return [bounded(`${part.tool} ${args}: ${outcome}`)];
    });
}

type Result = Extract<Part, { readonly kind: "result" }>;

const resultsIn = (messages: readonly Message[]): readonly Result[] =>
  messages.flatMap(({ parts }) => parts.filter((part) => part.kind === "result"));

function inWords(value: Value): string {
  if (value.kind === "blob") return value.head;
  return typeof value.json === "string" ? value.json : JSON.stringify(value.json);
}
