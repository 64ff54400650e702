/**
 * The arguments of a call as its tool gets them: parsed once. A schema with a computed default or a transform makes
 * another value each time, so the result is recorded with the intent, and every later use takes it: the key, the
 * before-image, the run, the probe and the undo.
 *
 * Schedule 204: a human approves a call, its process dies, and the next process parses the arguments again. The same key
 * would leave with another body than the one that was approved. A result that cannot be recorded is held by the process
 * that made it. Where another process makes something else, a call that did not begin is judged again, and one that may
 * have begun is unknown.
 */
import { digestOf } from "../../codec/canonical.ts";
import { plainJsonOf, projectionOf } from "../../codec/projection.ts";
import { promiseInSchema } from "../../codec/fit.ts";
import { sentenceOf } from "../../codec/value.ts";
import { SIZES } from "../../codec/limits.ts";
import { EFFECTS } from "../../core/calls/effects.ts";
import { argsOf } from "../../core/calls/ledger.ts";
import { isNext } from "../../core/calls/open-calls.ts";
import { type Json, copyOfJson } from "../../core/json.ts";
import type { Value } from "../../core/message.ts";
import type { ParsedArgs } from "../../core/parsed-args.ts";
import type { OpenCall, State } from "../../core/state.ts";
import { redactionIn } from "../../history/secrets.ts";
import { keepValue } from "../../history/write-objects.ts";
import type { Tool } from "../../ports/agent.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { recordable } from "./recordable.ts";

/** What is to be recorded of a parse; null: the result equals the arguments. */
export type ParsedForm = { readonly as: ParsedArgs["as"]; readonly json: Json } | null;

/** The parsed arguments. */
export interface ParsedInput {
  readonly kind: "input";
  /** A copy for each use, except of a value that is not JSON. */
  readonly make: () => unknown;
  /** What an intent records of it; absent: the intent of the call records it already. */
  readonly form?: ParsedForm;
}

/** The parsed arguments of a parse of this process. */
type Fresh = ParsedInput & { readonly form: ParsedForm };

export type Input =
  | ParsedInput
  | { readonly kind: "misfit"; readonly why: string }
  /** Another process parsed the arguments, and made something else of them. `now`: what they are now. */
  | { readonly kind: "changed"; readonly why: string; readonly now: Fresh };

interface Call {
  readonly open: OpenCall;
  readonly tool: Tool;
}

/** The result of the schema, or why the arguments do not fit, with the path of each error. */
export function parseWith(
  { input }: Pick<Tool, "input">,
  args: Json,
): { readonly ok: true; readonly output: unknown } | { readonly ok: false; readonly why: string } {
  try {
    // A schema is code of the agent, and may change what it gets.
    const parsed = input.safeParse(copyOfJson(args));
    if (parsed.success) return { ok: true, output: parsed.data };
    const issues = parsed.error.issues.map(({ path, message }) => `${path.join(".") || "arguments"}: ${message}`);
    return { ok: false, why: issues.join("; ") };
  } catch (error) {
    return { ok: false, why: promiseInSchema(input, { value: copyOfJson(args), error }) ?? sentenceOf(error) };
  }
}

/** What the tool of an open call gets. `args`: in place of the arguments of the call. */
export async function toolInputOf(
  run: ActiveRun,
  { open, tool, ...of }: Call & { readonly args?: Json },
): Promise<Input> {
  const args = of.args ?? (await run.json(argsOf(run.state, open.call)));
  const argsDigest = digestOf(args);
  const known = recordedFor(run.state, open, argsDigest);
  if (known === null) return parseArgs(run, { open, tool, args, argsDigest });
  const { parsed, agentChanged = false } = known;
  // For another version of the agent the arguments have to fit still, and a call that did not begin is judged by it.
  if (agentChanged || parsed?.as === "projection") {
    const now = parseArgs(run, { open, tool, args, argsDigest });
    if (now.kind === "misfit") return now;
    if (tool.child !== undefined) return { kind: "input", make: now.make };
    const isToBeSame = parsed?.as === "projection" || (isNext(open) && !mayHaveBegun(open));
    const isSame = isEqual(now.form, parsed) || isHarmless(tool);
    if (isToBeSame && !isSame) return { kind: "changed", why: agentChanged ? CHANGED_BY_VERSION : CHANGED, now };
    if (isToBeSame) return { kind: "input", make: now.make };
  }
  // What is recorded for a child tool is the task of the child.
  if (tool.child !== undefined)
    return { kind: "input", make: () => made(parseArgs(run, { open, tool, args, argsDigest })) };
  const json = parsed === undefined ? args : await run.json(parsed.json);
  return { kind: "input", make: () => copyOfJson(json) };
}

/** An undo, or a call that was unknown: a human said that it may run again, under the key that was sent. */
export const mayHaveBegun = ({ undoes, timesUnknown }: OpenCall): boolean => undoes !== undefined || timesUnknown > 0;

function made(parsed: Exclude<Input, { readonly kind: "changed" }>): unknown {
  if (parsed.kind === "misfit") throw new Error(parsed.why);
  return parsed.make();
}

const CHANGED =
  "ArgumentsChanged: its schema makes another value of the same arguments than before, and one that is not JSON, so it was not kept; arguments that leave nothing to the schema stay as they are";
const CHANGED_BY_VERSION =
  "ArgumentsChanged: the version of the agent that is deployed now makes another value of the same arguments";

/** A call without an outside effect that needs no approval: nothing was agreed about its arguments. */
const isHarmless = ({ effect, approval }: Tool): boolean => !EFFECTS[effect].actsOutside && approval === "never";

/** Parses arguments for which no intent is recorded. A result that this process has made is used again. */
function parseArgs(
  run: ActiveRun,
  { open, tool, args, argsDigest }: Call & { readonly args: Json; readonly argsDigest: string },
): Fresh | Extract<Input, { readonly kind: "misfit" }> {
  const call = open.undoes ?? open.call;
  const held = run.parsedInputs.find(call, argsDigest);
  if (held !== null && digestOf(projectionOf(held.value)) === held.projection) {
    return inputFrom(run, tool, { value: held.value, argsDigest });
  }
  const parsed = parseWith(tool, args);
  if (!parsed.ok) return { kind: "misfit", why: parsed.why };
  const { output: value } = parsed;
  run.parsedInputs.hold(call, { argsDigest, value, projection: digestOf(projectionOf(value)) });
  return inputFrom(run, tool, { value, argsDigest });
}

function inputFrom(
  run: ActiveRun,
  tool: Tool,
  { value, argsDigest }: { readonly value: unknown; readonly argsDigest: string },
): Fresh {
  const json = plainJsonOf(value);
  const redaction = redactionIn(run.world);
  const recorded = (given: Json): Json => redaction.json(recordable(tool, given, "arguments"));
  if (json !== undefined) {
    const digest = digestOf(json);
    const make = () => copyOfJson(json);
    if (digest === argsDigest) return { kind: "input", make, form: null };
    if (digestOf(recorded(json)) === digest) return { kind: "input", make, form: { as: "value", json } };
  }
  const form = { as: "projection", json: recorded(projectionOf(value)) } as const;
  return { kind: "input", make: () => value, form };
}

/** What is recorded of an earlier parse of these arguments; null: they were not parsed for an intent yet. */
function recordedFor(
  { undo = [] }: State,
  { intent, undoes, agentChanged }: OpenCall,
  argsDigest: string,
): { readonly parsed?: ParsedArgs; readonly agentChanged?: true } | null {
  if (undoes !== undefined) return undo.find(({ call }) => call === undoes) ?? null;
  if (intent?.argsDigest !== argsDigest) return null;
  return { ...(intent.parsed && { parsed: intent.parsed }), ...(agentChanged && { agentChanged }) };
}

function isEqual(form: ParsedForm, recorded: ParsedArgs | undefined): boolean {
  if (form === null || recorded === undefined) return form === null && recorded === undefined;
  return form.as === recorded.as && digestOf(form.json) === digestIn(recorded.json);
}

const digestIn = (value: Value): string => (value.kind === "blob" ? value.sha256 : digestOf(value.json));

/** What a call that can be undone may keep in the state until the run ends. */
const UNDO_BYTES_MAX = 256;

/** What the intent records. The open calls share the room in the state, and a large value is stored as an object. */
export async function keepParsed(
  run: ActiveRun,
  tool: Tool,
  form: ParsedForm,
): Promise<{ readonly parsed?: ParsedArgs }> {
  if (form === null) return {};
  const share = Math.floor(SIZES.stateValueBytesMax / Math.max(1, run.state.open.length));
  const inlineMax = tool.undo === null ? share : Math.min(share, UNDO_BYTES_MAX);
  return { parsed: { as: form.as, json: await keepValue(run.world, run.row, { json: form.json, inlineMax }) } };
}
