/**
 * What a topology repeats: which calls of the earlier run of a stage, a plan or a round acted outside, and whether a call
 * now is equal to one of them whose effect stands.
 *
 * Schedule 260: a stage books, its gate refuses, and the stage books the same again. A second call has a key of its own,
 * so no service could see that it is the same booking. It is undone before the stage begins again, or a human is asked.
 *
 * Schedule 217: a fork runs a stage again that handed out work before the fork. What children did is listed with the run
 * that made them, so the fork takes each of those hand-offs for one that acted.
 */
import type { Agent, Tool } from "../../ports/agent.ts";
import { digestOf } from "../../codec/canonical.ts";
import { projectionOf } from "../../codec/projection.ts";
import { bounded } from "../../codec/value.ts";
import { EFFECTS } from "../../core/calls/effects.ts";
import { argsOf } from "../../core/calls/ledger.ts";
import { repeatsOf } from "../../core/calls/repeats.ts";
import type { EventOf } from "../../core/event.ts";
import type { Json } from "../../core/json.ts";
import type { Part, Value } from "../../core/message.ts";
import { indexOf, messagesOfRestart } from "../../core/policy/window.ts";
import type { State } from "../../core/state.ts";
import type { Repeat } from "../../core/topologies/topology.ts";
import type { ActiveRun } from "../../engine/context/active-run.ts";
import { parseWith } from "../../engine/tools/parsed-args.ts";
import { toolNamed } from "../../engine/tools/tools.ts";

type Result = Extract<Part, { readonly kind: "result" }>;

/** What the move records, and what the model reads of it. */
interface Repeated {
  readonly calls: NonNullable<EventOf<"TopologyMoved">["repeats"]>;
  readonly words: readonly string[];
}

/** The calls of the repeated work whose effects stand; null: there is none. */
export function repeatedWork(state: State, agent: Agent, repeat: Repeat): Repeated | null {
  const { after, effects, refusesHandOffs = false } = repeat;
  const { undone, standing } = repeatsOf(state);
  const isUndone = ({ call, tool }: Result): boolean =>
    effects === "undo" && toolNamed(agent, tool)?.onRollBack !== "keep" && !isOfFork(state, call);
  // What a plan or a draft inside a stage kept is undone with the stage, unless a human left it.
  const isKept = (part: Result): boolean =>
    standing.includes(part.call) && !(isUndone(part) && state.undo?.some(({ call }) => call === part.call) === true);
  const found = messagesOfRestart(state)
    .slice(after === "" ? 0 : Math.max(0, indexOf(after) + 1 - (state.restartedFrom ?? 0)))
    .flatMap(({ parts }) => parts)
    .filter((part): part is Result => part.kind === "result" && !undone.includes(part.call) && !isKept(part))
    .filter(({ tool }) => !refusesHandOffs || toolNamed(agent, tool)?.child === undefined)
    .filter((part) => standsOutside(state, agent, part) && !isEffectOfEarlier(state, part));
  const [undo, kept] = [true, false].map((due) => found.filter((part) => isUndone(part) === due));
  const ids = (parts: readonly Result[] = []): readonly string[] => parts.map(({ call }) => call);
  if (found.length === 0) return null;
  return {
    calls: {
      ...(undo?.length === 0 ? {} : { undo: ids(undo) }),
      ...(kept?.length === 0 ? {} : { standing: ids(kept) }),
    },
    words: kept?.length === 0 ? [] : [standingWords(state, kept ?? [])],
  };
}

/**
 * Calls under one business key are one effect, and the first of them stands for it. Otherwise a stage that made the same
 * call as a stage that is kept would take back what the kept stage did.
 */
function isEffectOfEarlier({ messages }: State, { call, under }: Result): boolean {
  if (under === undefined) return false;
  const first = messages
    .flatMap(({ parts }) => parts)
    .find((part) => part.kind === "result" && part.under?.key === under.key && part.outcome !== "failed");
  return first?.kind === "result" && first.call !== call;
}

/** The call acted outside, or may have. What a child run did is known only for a hand-off that failed. */
function standsOutside(state: State, agent: Agent, { call, tool, outcome, outside }: Result): boolean {
  if (outside !== undefined) return true;
  if (outcome === "failed") return false;
  const declared = toolNamed(agent, tool);
  // Schedule 217: a fork does not know what the children of its original did.
  if (declared?.child !== undefined) return isOfFork(state, call) || childrenActed(state);
  // The agent may have lost the tool since the call.
  return declared === null || EFFECTS[declared.effect].actsOutside;
}

const childrenActed = ({ outside }: State): boolean =>
  outside !== undefined && ((outside.more ?? 0) > 0 || outside.calls.some(({ run }) => run !== undefined));

/** Only the run that made a call takes its effect back, and a fork did not make it. */
const isOfFork = ({ forked }: State, call: string): boolean =>
  forked !== undefined && Number(call.slice(1)) <= forked.calls;

const standingWords = (state: State, parts: readonly Result[]): string =>
  bounded(
    `What an earlier run did outside stands:\n${parts.map((part) => `- ${part.tool} ${inWords(argsOf(state, part.call))} (${part.call})`).join("\n")}`,
  );

function inWords(value: Value): string {
  if (value.kind === "blob") return value.head;
  return typeof value.json === "string" ? value.json : JSON.stringify(value.json);
}

/** Why an equal call is not made by itself; null: none of the repeated work whose effect stands is equal. */
export async function standsBefore(
  run: ActiveRun,
  proposed: { readonly call: string; readonly name: string; readonly tool: Tool; readonly args: Json },
): Promise<string | null> {
  const { standing } = repeatsOf(run.state);
  const { tool, name, args, call } = proposed;
  // A call that writes the same value again is the same effect.
  const { actsOutside, isDeduplicated, isKnownByKey } = EFFECTS[tool.effect];
  if (standing.length === 0 || !actsOutside || (isDeduplicated && !isKnownByKey)) return null;
  const results = run.state.messages.flatMap(({ parts }) => parts.filter((part) => part.kind === "result"));
  for (const each of results.toReversed()) {
    if (each.tool !== name || each.call === call || !standing.includes(each.call)) continue;
    // Under one business key the service sees one effect.
    if (isDeduplicated && tool.key !== null && each.under !== undefined) continue;
    const before = await run.json(argsOf(run.state, each.call));
    if (isEqual(tool, before, args)) return `${each.call} did the same in work that is repeated, and it stands`;
  }
  return null;
}

/** Equal arguments, or arguments of which the schema of the tool makes the same. */
function isEqual(tool: Tool, before: Json, now: Json): boolean {
  if (digestOf(before) === digestOf(now)) return true;
  const [one, other] = [parseWith(tool, before), parseWith(tool, now)];
  if (!one.ok || !other.ok) return false;
  return digestOf(projectionOf(one.output)) === digestOf(projectionOf(other.output));
}
