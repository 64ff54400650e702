/**
 * The recovery audit of an agent. For each tool it says whether a call may be repeated, what the external
 * service knows about it, and what follows a crash in the middle of it. It also lists the typical failures of the
 * agent's topology, and the declarations that the agent lacks.
 *
 * The audit reads the same declarations and tables as the engine. So it describes what the engine would really do.
 */
import type { Agent, ChildRun, Tool } from "../ports/agent.ts";
import { type Dial, COMMIT_COST, crashRateOf, dialOf } from "../core/policy/dial.ts";
import type { OnUnknown } from "../core/event.ts";
import { BOUNDS } from "../core/limits.ts";
import { EFFECTS, type Effect } from "../core/calls/effects.ts";
import type { Crack } from "../core/crack.ts";
import { cracksOf } from "../core/topologies/cracks.ts";
import { moduleOf } from "../engine/model/topology.ts";
import type { Limits } from "../protocol/limits.ts";
import { topologiesIn } from "./inner-topologies.ts";
import { type Missing, missingIn, type CrackAudit, type Recovery, type ToolAudit } from "./audit-missing.ts";

/** The result of an audit. */
export interface Audit {
  readonly tools: readonly ToolAudit[];
  readonly cracks: readonly CrackAudit[];
  readonly checkpoint: CheckpointAudit;
  /** Null: its working model writes its summaries. */
  readonly context: ContextAudit | null;
  readonly missing: readonly Missing[];
}

/**
 * How much a death may cost: what becomes durable as one unit, and how many beats lie between two checkpoints. Whether a
 * checkpoint is a snapshot or an entry of the journal depends on the world.
 */
export interface CheckpointAudit {
  readonly kind: "checkpoint";
  readonly unit: string;
  /** Null: a checkpoint follows each unit. */
  readonly beats: number | null;
  readonly inWords: string;
}

/** What writes the summaries of its context, and what follows if that model fails. */
export interface ContextAudit {
  readonly kind: "context";
  readonly model: string;
  readonly inWords: string;
}

/** Audits an agent under the limits of its world. Runs no code of its tools. `found`: what is known to be missing. */
export function audit(agent: Agent, limits: Limits, found: readonly Missing[] = []): Audit {
  const tools = Object.entries(agent.tools).map(([name, tool]) => toolAudit(tool, { name, agent, limits }));
  const shapes = topologiesIn(agent.topology).map(({ topology }) => topology);
  const missed = new Set(shapes.flatMap((shape) => moduleOf(shape).misses(shape)));
  const workers = Object.values(agent.tools).some(({ child }) => child !== undefined);
  const kinds = shapes.map(({ kind }) => kind);
  const cracks: CrackAudit[] = [];
  for (const row of cracksOf(kinds, { workers })) {
    const isSeen = !missed.has(row.crack) && (SEEN[row.crack]?.(agent) ?? true);
    cracks.push({ kind: "crack", ...row, alarm: isSeen ? alarmOf(row.metric) : null });
  }
  const checkpoint = checkpointAudit(agent, limits);
  const context = contextAudit(agent);
  return { tools, cracks, checkpoint, context, missing: [...missingIn(agent, { tools, cracks, limits }), ...found] };
}

function contextAudit({ summaries, models = {} }: Agent): ContextAudit | null {
  const { model: choice } = models[summaries?.model ?? ""] ?? {};
  if (choice === undefined) return null;
  const model = typeof choice === "string" ? choice : choice.modelId;
  const retries = `it is called ${BOUNDS.modelRetriesMax} times more`;
  const inWords = `${model} writes them; if it fails, ${retries} or not at all, then the working model writes the summary`;
  return { kind: "context", model, inWords };
}

function checkpointAudit({ topology, checkpoint }: Agent, { beatsPerInvocation }: Limits): CheckpointAudit {
  const unit = moduleOf(topology).checkpoint;
  const beats = checkpoint === "unit" ? null : (checkpoint ?? beatsPerInvocation);
  const every = beats === null ? `each ${unit}` : beats === 1 ? "each beat" : `at most ${beats} beats`;
  const durable = unit === "beat" ? "" : `each ${unit} is committed before the next one begins; `;
  return { kind: "checkpoint", unit, beats, inWords: `${durable}a checkpoint follows ${every}` };
}

/** What an agent must declare for a crack to be seen in its runs, whatever their topology is. */
const SEEN: { readonly [C in Crack]?: (agent: Agent) => boolean } = {
  oscillation: ({ loops }) => loops !== "ignore",
  prematureStop: ({ done }) => done.length > 0,
};

/** The alarm's name in `infra/watches.ts`: `NotDone` becomes `not-done`. */
const alarmOf = (metric: string): string => metric.replaceAll(/(?<=[a-z])[A-Z]/g, "-$&").toLowerCase();

function toolAudit(
  tool: Tool,
  { name, agent, limits }: { readonly name: string; readonly agent: Agent; readonly limits: Limits },
): ToolAudit {
  const { effect, approval, timeoutMs } = tool;
  const { onCrash, actsOutside, isDeduplicated } = EFFECTS[effect];
  // Nothing deduplicates a second child run of the same task: its calls have keys of their own.
  const [isChild, undo] = [tool.child !== undefined, hasUndo(tool)];
  const idempotent = !isChild && (isDeduplicated || !actsOutside);
  const key = EFFECTS[effect].isKnownByKey ? (tool.key === null ? "derived" : "business") : null;
  return {
    kind: "tool",
    tool: name,
    effect,
    idempotent,
    key,
    probe: tool.probe !== null,
    undo,
    decisionPoint: !isChild && !idempotent && key === null && !undo,
    recovery: recoveryOf(tool),
    approval: typeof approval === "function" ? "policy" : approval,
    timeoutMs: tool.child?.deadlineMs ?? timeoutMs ?? limits.toolMs,
    settleMs: onCrash === "again" ? null : (tool.settleMs ?? limits.settleMs),
    dial: settingOf(effect, agent.dial),
  };
}

/** Whether the tool has an undo. An agent built with another copy of cairn may not have the field at all. */
export const hasUndo = ({ undo }: Partial<Pick<Tool, "undo">>): boolean => (undo ?? null) !== null;

const UNKNOWN: { readonly [P in OnUnknown]: string } = {
  ask: "the run is blocked until an operator reconciles the call",
  tell: "the model is told so after the settle time",
  fail: "the run fails after the settle time",
  compensate: "all effects are undone after the settle time, and the run begins again if it may",
};

/** How calls of the tool are recovered, from its effect class and its `onUnknown`. */
export function recoveryOf(tool: Tool): Recovery {
  const { afterLastTry, hasProbe, inWords: before, ...row } = EFFECTS[tool.effect];
  const onCrash = row.onCrash === "probe" && !hasProbe ? "wait" : row.onCrash;
  const unknown = tool.onUnknown ?? afterLastTry;
  if (tool.child !== undefined) return { onCrash, unknown, inWords: childInWords(tool.child) };
  if (tool.wait !== undefined) return { onCrash, unknown, inWords: WAITS_ON };
  const undone = hasUndo(tool) ? "; undone in reverse order if its run fails" : "";
  // A call that never runs again has an unknown outcome at once.
  if (onCrash === "ask")
    return { onCrash, unknown, inWords: `never runs again by itself: ${UNKNOWN[unknown]}${undone}` };
  const after =
    row.onCrash === "probe" || tool.onUnknown !== null ? `; if the outcome stays unknown, ${UNKNOWN[unknown]}` : "";
  return { onCrash, unknown, inWords: `${before}${after}${undone}` };
}

const WAITS_ON = "waits on: no process holds the wait, and what comes is taken once";

function childInWords({ agent, tries, wait }: ChildRun): string {
  if (!wait) return `the run of ${agent} is made once, and works on without its parent`;
  const again =
    tries > 1
      ? `; where it did nothing outside and can do nothing any more, another run is made, ${tries} in all`
      : "; no other run is made";
  const failed = `if it fails, the model gets what it did, and an unknown outcome blocks the run${again}`;
  return `the run of ${agent} goes on by itself, and its report comes once; ${failed}`;
}

const RATE = crashRateOf({ takeovers: 0, claims: 0 });
const [CENTS, SECONDS] = [COMMIT_COST.microUsd / RATE / 10_000, COMMIT_COST.ms / RATE / 1_000];

/** The dial's decision for a reply that calls this tool alone, in a run without any crash so far. */
function settingOf(effect: Effect, dial: Dial): ToolAudit["dial"] {
  const free = dialOf({ effects: [effect], reply: { microUsd: 0, tookMs: 0 }, crashRate: RATE });
  const { results } = free;
  const kept = results === "force" ? "; its result before the model sees it" : "";
  if (free.plan === "force")
    return { plan: "force", results, why: `committed before it starts, since it has external effects${kept}` };
  if (dial === "always")
    return {
      plan: "force",
      results,
      why: 'committed before it starts, although it has no external effects (dial: "always")',
    };
  const limits = `${CENTS} cents and ${SECONDS} s`;
  return {
    plan: "skip",
    results,
    why: `committed with its result while a reply costs under ${limits}, else before it starts`,
  };
}
