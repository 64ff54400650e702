/**
 * From proposed to released: each call is judged, its intent recorded, and the commit that follows releases it. Where
 * its tool asks for approval, a gate is opened instead, and nothing is released before a person decides (seed 3).
 */
import type { Agent, Tool } from "../../ports/agent.ts";
import { parseArguments } from "../../codec/arguments.ts";
import { digestOf } from "../../codec/canonical.ts";
import { bounded, sentenceOf } from "../../codec/value.ts";
import { gateId } from "../../protocol/ids.ts";
import type { Json } from "../../core/json.ts";
import { argsOf, proposedArgsOf } from "../../core/calls/ledger.ts";
import { SIZES } from "../../codec/limits.ts";
import { type Value, inline } from "../../core/message.ts";
import { waitsItsTurn } from "../../core/calls/open-calls.ts";
import type { OpenCall, State } from "../../core/state.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { keyOf } from "./call-key.ts";
import { hasRoom } from "../context/budget-gate.ts";
import type { Next } from "../context/next.ts";
import { misfit, openCall, timeoutOf, toolFor } from "./tools.ts";
import { recordUnknown } from "./unknown-outcome.ts";

type Judged =
  | { readonly kind: "fits"; readonly open: OpenCall; readonly tool: Tool; readonly args: Json }
  /** A person is asked, and this is why. */
  | {
      readonly kind: "gated";
      readonly open: OpenCall;
      readonly tool: Tool;
      readonly args: Json;
      readonly reason: string;
      /** The last decision gave arguments that do not fit: which time the call is asked about again. */
      readonly again?: number;
    }
  | { readonly kind: "refused"; readonly open: OpenCall; readonly why: string };

/**
 * Judges each call: what names no tool or does not fit its schema is told to the model; the rest is intended, and
 * released by the next commit. Nothing is released that could not end within this invocation.
 */
export async function intend(run: ActiveRun, agent: Agent, calls: readonly string[]): Promise<Next> {
  const judged = await Promise.all(calls.map((call) => judgeCall(run, agent, openCall(run, call))));
  const fitting = judged.filter((each) => each.kind === "fits");
  const longest = Math.max(0, ...fitting.map(({ tool }) => timeoutOf(run, tool)));
  if (longest > run.leftMs && run.moved) return "release";
  // What stands is undone whatever it costs.
  if (fitting.some(({ open }) => open.undoes === undefined) && !hasRoom(run, agent, fitting.length)) return "on";
  let released = 0;
  for (const each of judged) {
    const { call } = each.open;
    const why = each.kind === "refused" ? each.why : recordIntent(run, each);
    if (why !== null && each.open.undoes !== undefined) {
      const asked = `it cannot be undone by the agent as it is now: ${why}; undo it by hand, and say so`;
      recordUnknown(run, { call, tool: null, why: asked });
    } else if (why !== null) {
      const evidence = "refused before it was started";
      recordResult(run, call, { outcome: "failed", value: inline(why), evidence });
    } else if (each.kind === "gated") {
      openGate(run, each);
    } else if (!waitsItsTurn(run.state.open, openCall(run, call))) {
      run.record({ kind: "ToolInvoked", at: run.now, call, epoch: run.row.epoch });
      released += 1;
    }
  }
  if (released > 0) {
    const debit = { toolCalls: released };
    run.record({ kind: "BudgetDebited", at: run.now, debit, for: "tool calls" });
  }
  return "on";
}

/**
 * One intent per arguments: those that a person changed are another intent, with another key. So is that of a tool which
 * may be repeated otherwise than when its gate was opened, under the same key: what a crash leads to is read off it.
 * Whether it runs alone is settled by its first intent, since others may wait for it by then. Null, or why it is refused.
 */
function recordIntent(run: ActiveRun, { open, tool, args }: Exclude<Judged, { kind: "refused" }>): string | null {
  const argsDigest = digestOf(args);
  const { call, intent } = open;
  if (intent?.argsDigest === argsDigest && intent.effect === tool.effect) return null;
  const made = keyOf(run, { open, tool, args, argsDigest });
  if (made.kind === "refused") return made.why;
  const isAlone = intent === null ? !tool.parallel : intent.alone === true;
  const marks = {
    ...(made.isBusiness && { business: true as const }),
    ...(isAlone && { alone: true as const }),
    ...(tool.undo !== null && { undo: true as const }),
  };
  run.record({ kind: "ToolIntended", at: run.now, call, effect: tool.effect, key: made.key, argsDigest, ...marks });
  return null;
}

function openGate(run: ActiveRun, { open, args, ...judged }: Extract<Judged, { kind: "gated" }>): void {
  const { call } = open;
  // All open calls of a run share that room in its state.
  const reason = bounded(judged.reason, Math.floor(SIZES.reasonsCharactersMax / run.state.open.length));
  const [planHash, argsHash] = [digestOf(planOf(run.state, call)), digestOf(args)];
  const { again = open.askedAgain } = judged;
  const gate = gateId(run.world.hash, { attempt: run.state.attempt, call, planHash, argsHash, again });
  const at = run.now;
  const expiresAt = at + run.world.limits.gateMs;
  const asks = { gate, call, planHash, argsHash, reason, expiresAt, ...(again === undefined ? {} : { again }) };
  run.record({ kind: "ApprovalRequested", at, ...asks });
}

/** What the model wants to do in the same breath: all calls of its reply, as it asked for them. */
function planOf({ messages }: State, call: string): Json {
  const reply = messages.findLast(({ parts }) => parts.some((part) => part.kind === "call" && part.call === call));
  const calls = (reply?.parts ?? []).filter((part) => part.kind === "call");
  return calls.map(({ tool, args }) => ({ tool, args: args.kind === "inline" ? args.json : { blob: args.sha256 } }));
}

async function judgeCall(run: ActiveRun, agent: Agent, open: OpenCall): Promise<Judged> {
  const tool = toolFor(agent, open);
  if (tool === null) {
    const known = Object.keys(agent.tools).join(", ");
    return {
      kind: "refused",
      open,
      why: bounded(`UnknownTool: there is no tool ${open.tool}; the tools are ${known}`),
    };
  }
  const args = await run.json(argsOf(run.state, open.call));
  const wrong = misfit(tool, args);
  if (wrong !== null && open.edited !== null) return askAgain(run, { open, tool, wrong });
  if (wrong !== null) return { kind: "refused", open, why: bounded(`InvalidArguments: ${unreadable(args) ?? wrong}`) };
  const reason = open.status === "permitted" ? null : reasonToAsk(tool, args);
  return reason === null ? { kind: "fits", open, tool, args } : { kind: "gated", open, tool, args, reason };
}

/**
 * What a person gave in place of the model's arguments does not fit. The call is not given up for it, since the person
 * wanted it to run: the gate is opened again, and says what did not fit.
 */
async function askAgain(
  run: ActiveRun,
  { open, tool, wrong }: { readonly open: OpenCall; readonly tool: Tool; readonly wrong: string },
): Promise<Judged> {
  const args = await run.json(proposedArgsOf(run.state, open.call));
  const reason = `ArgumentsInvalid: the arguments of the last decision do not fit ${open.tool}: ${wrong}`;
  return { kind: "gated", open, tool, args, reason, again: (open.askedAgain ?? 0) + 1 };
}

/** Arguments that could not be read are kept as the text that they came as: why they could not; null for others. */
function unreadable(args: Json): string | null {
  const parsed = typeof args === "string" ? parseArguments(args) : null;
  return parsed === null || parsed.ok ? null : parsed.why;
}

/** A policy that fails asks: what nobody could judge is not started unseen. */
function reasonToAsk({ approval, input }: Tool, args: Json): string | null {
  if (approval === "never") return null;
  if (approval === "always") return "this tool is always asked about";
  try {
    const reason: unknown = approval(input.parse(args));
    return reason === false ? null : bounded(String(reason));
  } catch (error) {
    return bounded(`its approval policy threw: ${sentenceOf(error)}`);
  }
}

export function recordResult(
  run: ActiveRun,
  call: string,
  result: { outcome: "succeeded" | "failed"; value: Value; externalId?: string | null; evidence: string },
): void {
  run.record({ kind: "ToolResultRecorded", at: run.now, call, externalId: null, ...result });
}
