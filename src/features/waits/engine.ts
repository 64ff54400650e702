/**
 * Calls that wait for a human's answer, an event or a time. The wait is committed before the run is released, so it
 * needs no process and survives every crash. What comes is judged by the schema of the call's tool. What comes before
 * the commit of a limit wins over the limit.
 */
import { waitIn } from "../../core/calls/held-calls.ts";
import * as z from "zod";
import { SIZES } from "../../codec/limits.ts";
import { bounded, sentenceOf } from "../../codec/value.ts";
import { NEXT_MESSAGE, lastAnswer, messageFor, waitForUser } from "../../core/calls/next-message.ts";
import { isEventName } from "../../core/ids.ts";
import { type Value, inline } from "../../core/message.ts";
import type { Json } from "../../core/json.ts";
import type { OpenCall } from "../../core/state.ts";
import type { AtLimit, ArrivedInput, Wait, WaitTerms } from "../../core/wait.ts";
import { redactionIn } from "../../history/secrets.ts";
import type { Agent, Tool, WaitRule } from "../../ports/agent.ts";
import type { ActiveRun } from "../../engine/context/active-run.ts";
import { absorbInbox } from "../../engine/context/inbox.ts";
import type { Next } from "../../engine/context/next.ts";
import { recordable } from "../../engine/tools/recordable.ts";
import { recordResult } from "../../engine/tools/record-result.ts";
import { readResult } from "../../engine/tools/tool-result.ts";
import { openCall, toolFor } from "../../engine/tools/tools.ts";

/** Begins the wait. Returns null, or why the call is refused. */
export function beginWait(
  run: ActiveRun,
  { rule, input, call }: { readonly call: string; readonly rule: WaitRule; readonly input: unknown },
): string | null {
  try {
    const wait = termsOf(run, rule, input);
    if (typeof wait === "string") return `NotStarted: ${wait}`;
    run.record({ kind: "WaitBegun", at: run.now, call, epoch: run.row.epoch, wait });
    return null;
  } catch (error) {
    return `NotStarted: ${sentenceOf(error)}`;
  }
}

/** The terms of the wait, or why there can be none. */
function termsOf(run: ActiveRun, rule: WaitRule, input: unknown): WaitTerms | string {
  const { now } = run;
  const { idleRunMs } = run.world.limits;
  const declared = rule.until(input, now);
  // A conversation waits as long as any run may.
  const until = rule.chat === true && declared !== null ? Math.min(declared, now + idleRunMs - 1) : declared;
  if (until !== null && !Number.isSafeInteger(until)) return `its limit is ${String(until)}, which is no time`;
  if (until !== null && until >= now + idleRunMs) {
    return `it would wait until ${iso(until)}, and a run waits for ${Math.floor(idleRunMs / 1_000)} seconds at most`;
  }
  const event = rule.event?.(input);
  // A redacted name would never be signalled.
  if (event !== undefined && !(isEventName(event) && redactionIn(run.world).text(event) === event)) {
    return "its event has a name that cannot be signalled: 1 to 64 letters, digits and . _ : -, and no secret";
  }
  const atLimit: AtLimit =
    rule.atLimit.kind === "take" ? { kind: "take", value: inline(rule.atLimit.value) } : rule.atLimit;
  return {
    for: rule.for,
    until: until === null ? null : Math.max(0, until),
    atLimit,
    ...(event === undefined ? {} : { event }),
    ...waitSchemaOf(rule),
  };
}

/** The schema for the one who answers. A large one, or one that JSON Schema cannot express, is left out. */
export function waitSchemaOf({ accepts }: Pick<WaitRule, "accepts">): Pick<WaitTerms, "schema"> {
  if (accepts === null) return {};
  try {
    const { $schema: _, ...schema } = z.toJSONSchema(accepts, { unrepresentable: "any", io: "input" });
    const text = JSON.stringify(schema);
    return Buffer.byteLength(text) > SIZES.waitSchemaBytesMax ? {} : { schema: JSON.parse(text) as Json };
  } catch {
    return {};
  }
}

/** Judges the answers and events that came for these calls, and settles the calls that they fit. */
export async function takeInputs(run: ActiveRun, agent: Agent, calls: readonly string[]): Promise<Next> {
  for (const call of calls) {
    const open = openCall(run, call);
    const wait = waitIn(open);
    if (wait?.given !== undefined) await takeInput(run, { open, wait, given: wait.given, tool: toolFor(agent, open) });
  }
  // The result has to be durable before the model sees it.
  run.pending.requireCommit();
  return "continue";
}

async function takeInput(
  run: ActiveRun,
  {
    open,
    wait,
    given,
    tool,
  }: { readonly open: OpenCall; readonly wait: Wait; readonly given: ArrivedInput; readonly tool: Tool | null },
): Promise<void> {
  const { call } = open;
  const json = await run.json(given.value);
  const read = readInput(tool, json);
  if (!read.ok) {
    const why = bounded(read.why, SIZES.reasonsCharactersMax / 4);
    run.record({ kind: "InputRefused", at: run.now, call, question: wait.question, by: given.by, why });
    return;
  }
  const result: Json =
    wait.for === "event" ? { event: wait.event ?? "", at: iso(run.now), detail: read.json } : read.json;
  const value = await run.keep(tool === null ? result : recordable(tool, result, "result"));
  const evidence = wait.for === "event" ? `${given.by} signalled it` : `${given.by} answered`;
  recordResult(run, call, { outcome: "succeeded", value, evidence });
}

/** What came, as the tool takes it. `isInterim`: it fits, and does not end the wait. */
export type InputRead =
  | { readonly ok: true; readonly json: Json }
  | { readonly ok: false; readonly why: string; readonly isInterim?: true };

/** What the tool takes of it, or why it does not end the wait. Where the tool is gone, it counts as it came. */
export function readInput(tool: Pick<Tool, "wait"> | null, json: Json): InputRead {
  const rule = tool?.wait;
  const accepts = rule?.accepts ?? null;
  const read = accepts === null ? ({ ok: true, json } as const) : readResult({ output: accepts }, json);
  if (!read.ok || rule?.ends === undefined) return read;
  try {
    return rule.ends(read.json)
      ? read
      : { ok: false, why: "it is an interim report: the wait goes on", isInterim: true };
  } catch (error) {
    return { ok: false, why: sentenceOf(error) };
  }
}

/**
 * Ends a wait whose limit has passed. Schedule 157: a timer wakes the run, an answer is acknowledged, and the end of the
 * wait commits over it. So what is in the inbox wins, and the commit is conditional on the wake-up counter.
 */
export async function endWait(run: ActiveRun, call: string): Promise<Next> {
  const isAll = await absorbInbox(run);
  const open = run.state.open.find((each) => each.call === call);
  const wait = open && waitIn(open);
  if (wait === undefined || wait.given !== undefined || !isAll) return "continue";
  // Schedule 187: the limit of a conversation passes while its next message is acknowledged. The message wins.
  if (takeMessage(run)) return "continue";
  const before = run.mark();
  recordLimit(run, call, wait);
  if (open?.tool === NEXT_MESSAGE) run.record(lastAnswer(run.state, run.now));
  const outcome = await run.commit({ release: false, unlessWoken: true });
  if (outcome === "woken") run.restore(before);
  return "continue";
}

/**
 * Settles the call with which a conversation waits for its user, if a message has come. Returns whether it did. Schedule
 * 186: a message comes while the run answers, and is absorbed before the wait begins. So the transcript decides, and not
 * the order of the message and the wait.
 */
export function takeMessage(run: ActiveRun): boolean {
  const waiting = waitForUser(run.state);
  const came = waiting === undefined ? undefined : messageFor(run.state, waiting);
  if (waiting === undefined || came === undefined) return false;
  const value = inline({ message: came.id });
  recordResult(run, waiting.call, { outcome: "succeeded", value, evidence: `message ${came.id} came` });
  // The message has to be durable as the end of the wait before the model answers it.
  run.pending.requireCommit();
  return true;
}

function recordLimit(run: ActiveRun, call: string, wait: Wait): void {
  const until = iso(wait.until ?? run.now);
  if (wait.for === "time") {
    return recordResult(run, call, { outcome: "succeeded", value: inline({ until }), evidence: "the time came" });
  }
  const [code, missing] =
    wait.for === "answer" ? ["NoAnswer", "no answer"] : ["NoEvent", `no event ${wait.event ?? ""}`];
  const why = `${missing} came by ${until}`;
  const { atLimit } = wait;
  if (atLimit.kind === "take") {
    const value: Value = atLimit.value;
    return recordResult(run, call, { outcome: "succeeded", value, evidence: `${why}: its default counts` });
  }
  recordResult(run, call, { outcome: "failed", value: inline(`${code}: ${why}`), evidence: why });
  if (atLimit.kind === "tell") return;
  const action = { kind: "abort", failure: { code, message: `${why}, for call ${call}` } } as const;
  run.record({ kind: "RecoveryDecided", at: run.now, rule: "a wait has reached its limit", why, action });
}

const iso = (at: number): string => new Date(at).toISOString();
