/**
 * Turns proposed calls into released calls. Each call is checked and its intent is recorded; the next commit releases
 * it. If its tool needs approval, a gate is opened instead, and nothing runs until a human approves it.
 */
import type { Agent, Tool } from "../../ports/agent.ts";
import { parseArguments } from "../../codec/arguments.ts";
import { digestOf } from "../../codec/canonical.ts";
import { bounded } from "../../codec/value.ts";
import { gateId } from "../../protocol/ids.ts";
import type { Json } from "../../core/json.ts";
import { argsOf, proposedArgsOf } from "../../core/calls/ledger.ts";
import { NEXT_MESSAGE } from "../../core/calls/next-message.ts";
import { READ_RESULT } from "../../core/calls/stored-values.ts";
import { SIZES } from "../../codec/limits.ts";
import { inline } from "../../core/message.ts";
import { decideRecovery } from "../../core/policy/recovery.ts";
import { waitsForEarlierCall } from "../../core/calls/open-calls.ts";
import { wasDebited } from "../../core/calls/postponed.ts";
import type { OpenCall, State } from "../../core/state.ts";
import type { ActiveRun } from "../context/active-run.ts";
import type { Runner } from "../context/runner.ts";
import { actedBefore } from "./acted-before.ts";
import { standsBefore } from "../../features/children/repeated-work.ts";
import { reasonToAsk } from "../../features/approvals/approval-rule.ts";
import { type BeforeImage, takeImages, timeWithImage } from "./before-image.ts";
import { keyOf } from "./call-key.ts";
import { dispatchFirst, taskOfChild } from "../../features/children/dispatch.ts";
import { type AsksFirst, askFirst, asksAboutUndone, asksFirst } from "./lost-time.ts";
import { gateTerms } from "../context/gate-terms.ts";
import { hasBudget } from "../context/budget-gate.ts";
import type { Next } from "../context/next.ts";
import { recordResult } from "./record-result.ts";
import { type ParsedForm, type ParsedInput, toolInputOf, keepParsed, mayHaveBegun } from "./parsed-args.ts";
import { openCall, timeoutOf, toolFor } from "./tools.ts";
import { postpone, postponeForRoom, postponeMissed } from "./postpone.ts";
import { recordMissingTool } from "./missing-tool.ts";
import { recordUnknown } from "./unknown-outcome.ts";
import { beginWait } from "../../features/waits/engine.ts";
import { openMark } from "../../protocol/restored.ts";

/** A call whose arguments fit its tool. */
interface Fitting {
  readonly open: OpenCall;
  readonly tool: Tool;
  readonly args: Json;
  /** Makes the parsed arguments. */
  readonly input: () => unknown;
  /** What its intent records of them; absent: its intent records it already. */
  readonly form?: ParsedForm;
}

/** The call may be released. */
type Fits = Fitting & { readonly kind: "fits" };

/** What the check of one call decided. */
type Judged =
  | Fits
  /** A human has to approve the call, for this reason. */
  | (Fitting & {
      readonly kind: "gated";
      readonly reason: string;
      /** What the last decision was about cannot run. This counts how often the call is asked about again, from 1. */
      readonly again?: number;
    })
  | {
      readonly kind: "refused";
      readonly open: OpenCall;
      readonly why: string;
      /** The agent as it is now cannot make the call; a later version may. */
      readonly isGone?: true;
      /** The agent of the child does not exist: the run fails. */
      readonly unknownAgent?: string;
      /** An earlier try may have left with another value. */
      readonly isUnsure?: true;
    };

/** Why the topology dispatches no child run for this call; null: it may be dispatched. */
type RefusalOf = (proposed: {
  readonly call: string;
  readonly tool: string;
  readonly args: Json;
}) => Promise<string | null>;

/**
 * Checks each call. A call that names no tool or does not fit its schema is refused, and the model is told why. The
 * others get an intent, and the next commit releases them. A call that could not end within this invocation is postponed:
 * a later beat releases it.
 */
export async function prepareCalls(
  run: ActiveRun,
  by: { readonly agent: Agent; readonly agentOf: Runner["agentOf"]; readonly refusalOf: RefusalOf },
  calls: readonly string[],
): Promise<Next> {
  const { agent } = by;
  const judged = await Promise.all(calls.map((call) => judgeCall(run, by, openCall(run, call))));
  const wrong = judged.find((each) => each.kind === "refused" && each.unknownAgent !== undefined);
  if (wrong?.kind === "refused") {
    const message = `child tool ${wrong.open.tool} dispatches runs of agent ${wrong.unknownAgent}, which does not exist: ${wrong.why}`;
    run.record(decideRecovery(run.state, { kind: "agent", failure: { code: "ChildAgentUnknown", message } }, run.now));
    return "continue";
  }
  const all = judged.filter((each) => each.kind === "fits");
  const { leftMs } = run;
  const fitting = all.filter(({ tool }) => timeToStart(run, tool) <= leftMs);
  if (fitting.length < all.length && run.moved) return "release";
  // Undo calls need no room in the budget, and neither does the wait of a conversation for its user. A call that was
  // released before is paid for.
  const gated = judged.filter((each) => each.kind === "gated");
  const unpaid = [...fitting, ...gated.filter((each) => asksFirst(run, each)?.first === "ask")].filter(
    ({ open }) => !wasDebited(open),
  );
  if (
    unpaid.some(({ open }) => open.undoes === undefined && open.tool !== NEXT_MESSAGE) &&
    !hasBudget(run, agent, unpaid.length)
  )
    return "continue";
  const images = await takeImages(
    run,
    agent,
    // What asks first is not made now.
    fitting.filter((each) => !isAskedFirst(asksFirst(run, each))),
  );
  let released = 0;
  for (const each of judged) {
    const { call } = each.open;
    const why = each.kind === "refused" ? each.why : await recordIntent(run, each);
    if (why !== null && each.open.undoes !== undefined) {
      const asked = `it cannot be undone by the agent as it is now: ${why}; undo it by hand, and say so`;
      recordUnknown(run, { call, tool: null, why: asked });
    } else if (each.kind === "refused" && each.isGone && wasDebited(each.open)) {
      postpone(run, each.open, { after: "intent", why: each.why });
      recordMissingTool(run, { open: each.open, tool: null, isUnbegun: true });
    } else if (why !== null && each.kind === "refused" && each.isUnsure === true) {
      const asked = `it cannot be repeated: ${why}; look for its key in the external service, and say what you found`;
      recordUnknown(run, { call, tool: null, why: asked });
    } else if (why !== null) {
      const evidence = "refused before it was started";
      recordResult(run, call, { outcome: "failed", value: inline(why), evidence });
    } else if (each.kind === "gated") {
      const asks = asksFirst(run, { ...each, open: openCall(run, call) });
      const isUnpaid = asks?.first === "ask" && !wasDebited(each.open);
      const { tool, reason } = each;
      if (isAskedFirst(asks) && (await askFirst(run, { ...asks, call, tool, reason }))) released += isUnpaid ? 1 : 0;
      else openGate(run, agent, each);
    } else if (each.kind === "fits" && !waitsForEarlierCall(run.state.open, openCall(run, call))) {
      const asks = asksFirst(run, { ...each, open: openCall(run, call) });
      if (isAskedFirst(asks)) {
        released += wasDebited(each.open) ? 0 : 1;
        await askFirst(run, { ...asks, call, tool: each.tool });
      } else if (!fitting.includes(each)) {
        postponeForRoom(run, { ...each, after: "intent", takesMs: timeToStart(run, each.tool) });
      } else if (await asksAboutUndone(run, { open: openCall(run, call), tool: each.tool })) {
        released += wasDebited(each.open) ? 0 : 1;
      } else if (await release(run, by, { ...each, image: images.get(each.open.call), asks })) {
        released += each.open.tool === NEXT_MESSAGE || wasDebited(each.open) ? 0 : 1;
      }
    }
  }
  if (released > 0) {
    const debit = { toolCalls: released };
    run.record({ kind: "BudgetDebited", at: run.now, debit, for: "tool calls" });
  }
  return "continue";
}

const isAskedFirst = (asks: AsksFirst | null): asks is AsksFirst => asks !== null && asks.first !== "name";

/**
 * How much of this invocation it takes to start the call and to let it end. A wait and a child run take none of it. No
 * later invocation has more time than one that has just begun, so a before-image, which is quick, does not count there.
 */
function timeToStart(run: ActiveRun, tool: Tool): number {
  if (tool.wait !== undefined || tool.child !== undefined) return 0;
  return run.moved ? timeWithImage(run, tool) : timeoutOf(run, tool);
}

/**
 * Releases the call, dispatches its child run, or begins its wait. Returns false if the child may not be dispatched, if
 * the wait cannot begin, or if the before-image of the call could not be taken.
 */
async function release(
  run: ActiveRun,
  { agent, refusalOf }: { readonly agent: Agent; readonly refusalOf: RefusalOf },
  {
    open,
    tool,
    args,
    input,
    image,
    asks,
  }: Fits & { readonly image: BeforeImage | undefined; readonly asks: AsksFirst | null },
): Promise<boolean> {
  const { call } = open;
  if (image?.kind === "failed" && open.status === "permitted") {
    // A human or a probe decided that it is made, so a service that does not answer for a while does not end it.
    postponeMissed(run, { open, tool, after: "intent", why: image.why, mend: "see that it can be read" });
    return false;
  }
  if (image?.kind === "failed") return refuse(run, call, image.why);
  if (tool.wait !== undefined) {
    const against = beginWait(run, { call, rule: tool.wait, input: input() });
    return against === null ? true : refuse(run, call, against);
  }
  if (tool.child === undefined) {
    const before = image === undefined ? {} : { before: image.json };
    const named = asks === null ? {} : { restored: asks.mark.at };
    run.record({ kind: "ToolInvoked", at: run.now, call, epoch: run.row.epoch, ...before, ...named });
    return true;
  }
  const refused = await refusalOf({ call, tool: open.tool, args });
  const against = refused ?? dispatchFirst(run, agent, { call, child: tool.child });
  return against === null ? true : refuse(run, call, against);
}

function refuse(run: ActiveRun, call: string, why: string): false {
  const value = inline(bounded(why));
  recordResult(run, call, { outcome: "failed", value, evidence: "refused before it was started" });
  return false;
}

/**
 * Records the intent of a call. Returns null, or why the call is refused.
 *
 * Each set of arguments has its own intent: arguments that a human changed make another intent with another key. A tool
 * whose effect class has changed since the gate was opened also gets another intent, under the same key. Recovery after
 * a crash reads the class from it. The first intent decides whether the call runs alone, because other calls may wait
 * for it by then.
 */
async function recordIntent(
  run: ActiveRun,
  { open, tool, args, input, form }: Exclude<Judged, { kind: "refused" }>,
): Promise<string | null> {
  const argsDigest = digestOf(args);
  const { call, intent } = open;
  const isIntended = intent?.argsDigest === argsDigest;
  if (isIntended && form === undefined && intent.effect === tool.effect) return null;
  const isChanged = isIntended && form !== undefined && open.timesUnknown === 0;
  const made = await keyOf(run, { open, tool, args, input, argsDigest, isChanged });
  if (made.kind === "refused") return made.why;
  const isAlone = intent === null ? !tool.parallel : intent.alone === true;
  const parsed =
    form === undefined ? { ...(intent?.parsed && { parsed: intent.parsed }) } : await keepParsed(run, tool, form);
  const marks = {
    ...parsed,
    ...(made.isBusiness && { business: true as const }),
    ...(isAlone && { alone: true as const }),
    ...(tool.undo !== null && { undo: true as const }),
  };
  run.record({ kind: "ToolIntended", at: run.now, call, effect: tool.effect, key: made.key, argsDigest, ...marks });
  return null;
}

/** Opens a gate that freezes the plan and the arguments by their hashes. */
function openGate(run: ActiveRun, agent: Agent, { open, args, ...judged }: Extract<Judged, { kind: "gated" }>): void {
  const { call } = open;
  // The reasons of all open calls share this room in the state.
  const reason = bounded(judged.reason, Math.floor(SIZES.reasonsCharactersMax / run.state.open.length));
  const [planHash, argsHash] = [digestOf(planOf(run.state, call)), digestOf(args)];
  const { again = open.timesReopened } = judged;
  const mark = openMark(run.row);
  const gate = gateId(run.world.hash, { attempt: run.state.restart, call, planHash, argsHash, again });
  const at = run.now;
  const asks = {
    gate,
    call,
    planHash,
    argsHash,
    reason,
    ...gateTerms(run, agent, judged.tool),
    ...(mark !== null && { restored: mark.at }),
    ...(again === undefined ? {} : { timesReopened: again }),
  };
  run.record({ kind: "ApprovalRequested", at, ...asks });
}

/** The plan that a gate freezes: all calls of the model's reply, as proposed. */
function planOf({ messages }: State, call: string): Json {
  const reply = messages.findLast(({ parts }) => parts.some((part) => part.kind === "call" && part.call === call));
  const calls = (reply?.parts ?? []).filter((part) => part.kind === "call");
  return calls.map(({ tool, args }) => ({ tool, args: args.kind === "inline" ? args.json : { blob: args.sha256 } }));
}

async function judgeCall(
  run: ActiveRun,
  { agent, agentOf }: { readonly agent: Agent; readonly agentOf: Runner["agentOf"] },
  open: OpenCall,
): Promise<Judged> {
  const { undoes } = open;
  if (undoes !== undefined && run.state.undo?.some(({ call }) => call === undoes) !== true) {
    return { kind: "refused", open, why: `NoUndo: ${open.tool} declared no undo when ${undoes} was called` };
  }
  const tool = toolFor(agent, open);
  if (tool === null || (open.tool === READ_RESULT && agent.readsResults === false)) {
    const known = Object.keys(agent.tools).join(", ");
    const next = known === "" ? "no tool can be called now, so answer in words" : `the tools are ${known}`;
    return {
      kind: "refused",
      open,
      why: bounded(`UnknownTool: there is no tool ${open.tool}; ${next}`),
      isGone: true,
    };
  }
  const args = await run.json(argsOf(run.state, open.call));
  const read = await toolInputOf(run, { open, tool });
  if (read.kind === "misfit" && open.edited !== null) {
    return askAgain(run, { open, tool, why: `${MISFIT} ${open.tool}: ${read.why}` });
  }
  if (read.kind === "misfit") {
    return { kind: "refused", open, why: bounded(`InvalidArguments: ${unreadable(args) ?? read.why}`), isGone: true };
  }
  if (read.kind === "changed" && mayHaveBegun(open)) return { kind: "refused", open, why: read.why, isUnsure: true };
  if (read.kind === "changed" && open.status === "permitted") return askAgain(run, { open, tool, why: read.why });
  const parsed = read.kind === "changed" ? read.now : read;
  const found = await formOf(run, { agentOf, tool, args, parsed });
  if (found.kind === "refused") return { ...found, open };
  const fitting = { open, tool, args, input: parsed.make, ...found.form };
  if (open.status === "permitted") return { kind: "fits", ...fitting };
  if (undoes === undefined && tool.child === undefined) {
    const stands = await standsBefore(run, { call: open.call, name: open.tool, tool, args });
    if (stands !== null) return { kind: "gated", ...fitting, reason: bounded(`AlreadyActed: ${stands}`) };
  }
  const acted = await actedBefore(run, { agent, agentOf, call: open.call, name: open.tool, tool, args });
  if (acted !== null && tool.child?.afterEffects !== "ask") {
    const asks = "nothing is handed out again by itself: use what was done, or ask for what is missing";
    return { kind: "refused", open, why: bounded(`AlreadyActed: ${acted}; ${asks}`) };
  }
  const reason = acted ?? (await reasonToAsk(run, { approval: tool.approval, name: open.tool }, parsed.make));
  return reason === null ? { kind: "fits", ...fitting } : { kind: "gated", ...fitting, reason };
}

/** What the intent of a call records of its parsed arguments. For a child tool it is the task of the child. */
async function formOf(
  run: ActiveRun,
  {
    tool,
    args,
    parsed,
    agentOf,
  }: {
    readonly agentOf: Runner["agentOf"];
    readonly tool: Tool;
    readonly args: Json;
    readonly parsed: ParsedInput;
  },
): Promise<
  | { readonly kind: "form"; readonly form: Pick<Fitting, "form"> }
  | { readonly kind: "refused"; readonly why: string; readonly unknownAgent?: string }
> {
  const { form } = parsed;
  const recorded = form === undefined ? {} : { form };
  if (tool.child === undefined) return { kind: "form", form: recorded };
  const task = await taskOfChild(run, {
    agentOf,
    tool,
    child: tool.child,
    args,
    input: form === undefined ? null : parsed.make,
  });
  if (task.kind === "unknown") return { kind: "refused", why: task.why, unknownAgent: tool.child.agent };
  if (task.kind === "refused") return { kind: "refused", why: task.why };
  if (form === undefined) return { kind: "form", form: {} };
  const isSame = digestOf(task.json) === digestOf(args);
  return { kind: "form", form: { form: isSame ? null : { as: "value", json: task.json } } };
}

const MISFIT = "ArgumentsInvalid: the arguments of the last decision do not fit";

/**
 * Opens the gate again where what a human decided cannot run: the arguments do not fit, or are parsed to another value
 * than the one that was approved. The human wanted the call to run, so it is not refused. The new gate says why.
 */
async function askAgain(
  run: ActiveRun,
  { open, tool, why: reason }: { readonly open: OpenCall; readonly tool: Tool; readonly why: string },
): Promise<Judged> {
  const args = await run.json(proposedArgsOf(run.state, open.call));
  const again = (open.timesReopened ?? 0) + 1;
  const read = await toolInputOf(run, { open, tool, args });
  const gated = { kind: "gated", open, tool, args, reason, again } as const;
  if (read.kind !== "misfit") {
    const { make: input, ...form } = read.kind === "changed" ? read.now : read;
    return { ...gated, input, ...(form.form !== undefined && { form: form.form }) };
  }
  const input = (): never => {
    throw new Error(read.why);
  };
  // An approval of these arguments would be refused. Until then the card says so.
  const form = { as: "projection", json: `Misfit(${read.why})` } as const;
  return { ...gated, input, ...(open.intent?.argsDigest === digestOf(args) ? {} : { form }) };
}

/** Why the arguments cannot be read as JSON, or null if they can. Such arguments are kept as their original text. */
function unreadable(args: Json): string | null {
  const parsed = typeof args === "string" ? parseArguments(args) : null;
  return parsed === null || parsed.ok ? null : parsed.why;
}
