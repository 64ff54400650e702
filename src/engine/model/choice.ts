/**
 * Lets the functions of an agent choose what varies: instructions, tools, model and options. The choice is recorded before
 * the request leaves, so another process makes the same request, whatever the functions would say then.
 */
import type { Agent, ChoiceMade } from "../../ports/agent.ts";
import { SIZES } from "../../codec/limits.ts";
import { asJson, bounded } from "../../codec/value.ts";
import { NEXT_MESSAGE } from "../../core/calls/next-message.ts";
import { type Choice, isChoiceDue } from "../../core/choice.ts";
import type { Value } from "../../core/message.ts";
import { decideRecovery } from "../../core/policy/recovery.ts";
import type { State } from "../../core/state.ts";
import { keepValue } from "../../history/write-objects.ts";
import type { ActiveRun } from "../context/active-run.ts";
import type { ModelOptions } from "../../ports/model-options.ts";
import { askInTime } from "../tools/ask-in-time.ts";
import { viewOf } from "./run-view.ts";

/** What followed. `none`: no choice is due. `moved`: one was recorded, or the run failed. `late`: no time is left. */
export type Chose = "none" | "moved" | "late";

/** Asks the functions of the agent where a choice is due. They may read outside, and a process that dies asks again. */
export async function chooseRequest(run: ActiveRun, agent: Agent): Promise<Chose> {
  const { chooser } = agent;
  if (chooser === undefined || !isChoiceDue(run.state, chooser.per)) return "none";
  const { tenant, run: id } = run.row;
  const { startedBy = null, startedAt, restart } = run.state;
  const { steps = [], ...view } = await viewOf(run);
  const previous = await previousOf(run);
  const asked = { ...view, steps, previous, run: id, restart, tenant, starter: startedBy, now: run.now, startedAt };
  const said = await askInTime(run, { what: "what the agent chooses for its model" }, () =>
    chooser.choose(asked as never),
  );
  if (said.kind === "late") run.noticed.noteOutlived("code");
  if (said.kind === "late" && run.moved) return "late";
  const read = said.kind === "said" ? readChoice(said.value, agent) : said.why;
  if (typeof read === "string") {
    const failure = { code: "ChoiceFailed", message: bounded(`what the agent chooses for its model: ${read}`) };
    run.record(decideRecovery(run.state, { kind: "agent", failure }, run.now));
    return "moved";
  }
  const { stop } = read;
  const stops = stop !== undefined && steps.length > 0 ? { stop: bounded(stop) } : {};
  run.record({ kind: "RequestChosen", at: run.now, choice: await kept(run, read, previous), ...stops });
  // The request leaves after the commit: otherwise the next process could choose something else.
  run.pending.requireCommit();
  return "moved";
}

/** What was chosen, as it is recorded, or what is wrong with it. It comes from the author, perhaps from JavaScript. */
function readChoice(made: ChoiceMade, { tools, models = {} }: Agent): ChoiceMade | string {
  if (typeof made !== "object" || made === null) return "it returned no object";
  const { instructions = "", offered = [], model, options } = made;
  if (typeof instructions !== "string") return "instructions is no text";
  if (instructions.length > SIZES.blobBytesMax) return `instructions is longer than ${SIZES.blobBytesMax} characters`;
  if (!Array.isArray(offered)) return "the tools to offer are no list of names";
  const missing = offered.find((name) => typeof name !== "string" || !Object.hasOwn(tools, name));
  if (missing !== undefined) return `the agent has no tool ${JSON.stringify(missing)}`;
  if (model !== undefined && !Object.hasOwn(models, model)) {
    return `the agent has no model ${JSON.stringify(model)}: add it to models`;
  }
  if (options === undefined) return made;
  if (typeof options !== "object" || options === null || Array.isArray(options)) return "options is no object";
  const json = asJson(options);
  if (!json.ok) return `options: ${json.why}`;
  const isTooLarge = JSON.stringify(json.json).length > SIZES.stateValueBytesMax;
  // The request of this process is made of the same JSON as that of a later one.
  return isTooLarge
    ? `options is larger than ${SIZES.stateValueBytesMax} bytes`
    : { ...made, options: json.json as ModelOptions };
}

/** The choice that holds so far; null at the start, after a restart and with another version of the agent. */
async function previousOf(run: ActiveRun): Promise<ChoiceMade | null> {
  const { chosen } = run.state;
  if (chosen === undefined || isChoiceDue(run.state, "run")) return null;
  const { instructions, ...others } = chosen.choice;
  return { ...others, ...(instructions && { instructions: await storedText(run, instructions) }) };
}

async function kept(
  run: ActiveRun,
  { instructions, offered, model, options }: ChoiceMade,
  previous: ChoiceMade | null,
): Promise<Choice> {
  const isSame = instructions !== undefined && instructions === previous?.instructions;
  const value = isSame
    ? run.state.chosen?.choice.instructions
    : instructions === undefined
      ? undefined
      : await keepValue(run.world, run.row, { json: instructions, inlineMax: INLINE_BYTES_MAX });
  // The state refers to a long text and shows nothing of it.
  return {
    ...(value && { instructions: value.kind === "blob" ? { ...value, head: "", tail: "" } : value }),
    ...(offered && { offered }),
    ...(model !== undefined && { model }),
    ...(options && { options: options as Choice["options"] & object }),
  };
}

/** A longer text is an object, and the state has its digest. */
const INLINE_BYTES_MAX = 128;

/** The agent with what was chosen. Its instructions are read when the request is made. */
export function withChoice({ chosen }: State, agent: Agent): Agent {
  if (chosen === undefined || agent.chooser === undefined) return agent;
  const { instructions, offered, options } = chosen.choice;
  if (instructions === undefined && offered === undefined && options === undefined) return agent;
  const { tools } = agent;
  return {
    ...agent,
    ...(instructions && { instructions: "", chosenInstructions: instructions }),
    ...(offered && { tools: offeredOf(tools, offered) }),
    ...(options && { modelOptions: { ...agent.modelOptions, ...options } }),
  };
}

/** A tool of a server may have gone since. A conversation goes on whatever is offered. */
const offeredOf = (tools: Agent["tools"], names: readonly string[]): Agent["tools"] =>
  Object.fromEntries(
    [...names, NEXT_MESSAGE].flatMap((name) => (Object.hasOwn(tools, name) ? [[name, tools[name] as never]] : [])),
  );

/** The model that was chosen: the name of one of the models of the agent. */
export const chosenModel = ({ chosen }: State, { chooser }: Agent): string | undefined =>
  chooser === undefined ? undefined : chosen?.choice.model;

// A text never changes, so it is read once while its state is in use.
const known = new WeakMap<Value, string>();

/** A text that the state refers to. */
export async function storedText(run: ActiveRun, value: Value): Promise<string> {
  const text = known.get(value) ?? ((await run.json(value)) as string);
  known.set(value, text);
  return text;
}

/** The digest of a text, or the text itself where it is short. */
export const textInDigest = (value: Value): string => (value.kind === "blob" ? value.sha256 : (value.json as string));
