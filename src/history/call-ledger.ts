/** The ledger of a run: one entry per tool call that a model ever proposed, folded from the events in order. */
import type { LedgerEntry } from "../codec/archive.ts";
import type { ChildReport } from "../core/child.ts";
import type { Action, Event } from "../core/event.ts";
import { inline } from "../core/message.ts";
import { joinedWork, reconciledWork, unknownWork } from "../core/calls/outside.ts";
import { type FollowedSettlement, followCalls, followedCalls, touchesCalls } from "../core/calls/followed-calls.ts";
import { countAfter, proposedBy } from "../core/calls/proposed-calls.ts";
import { type Steps, atOnce, eachOf } from "./stepwise.ts";

/** The ledger of these events, which must be all events of the run in order. */
export const ledgerOf = (events: Iterable<Event>): readonly LedgerEntry[] => atOnce(ledgerSteps(events));

/** The same in steps. */
export function* ledgerSteps(events: Iterable<Event>): Steps<readonly LedgerEntry[]> {
  const ledger = new CallLedger();
  yield* eachOf(events, (event) => ledger.add(event));
  return ledger.entries;
}

class CallLedger {
  readonly #calls = new Map<string, LedgerEntry>();
  /** The call of each child run. */
  readonly #children = new Map<string, string>();
  /** How many calls the models proposed. */
  #asked = 0;
  readonly #followed = followedCalls();

  get entries(): readonly LedgerEntry[] {
    return [...this.#calls.values()];
  }

  add(event: Event): void {
    for (const { call, tool } of proposedBy(event, this.#asked)) this.#calls.set(call, proposed(call, tool));
    this.#asked = countAfter(event, this.#asked);
    if (event.kind === "RecoveryDecided" && event.action.kind === "undo") this.#undo(event.action.call);
    if (event.kind === "RecoveryDecided" && event.action.kind === "postpone") this.#postpone(event.action, event.why);
    if (event.kind === "RecoveryDecided" && event.action.kind === "probe") this.#probe(event.action);
    if (event.kind === "ChildDispatched") this.#children.set(event.child, event.call);
    if (event.kind === "MessageAbsorbed" && event.stage === "taken" && event.body.kind === "child") {
      this.#report(event.body, event.at);
    }
    this.#enter(event);
    for (const settled of followCalls(this.#followed, event)) this.#close(settled, event);
  }

  /** What settles a call settles its entry, whatever kind of event that is. */
  #close({ call, outcome }: FollowedSettlement, event: Event): void {
    const entry = this.#calls.get(call);
    if (entry === undefined || entry.settledAt !== null) return;
    const evidence = event.kind === "RecoveryDecided" ? event.why : entry.evidence;
    this.#calls.set(call, { ...entry, status: outcome, evidence, settledAt: event.at });
  }

  #enter(event: Event): void {
    if (!("call" in event)) return;
    const entry = this.#calls.get(event.call);
    if (entry === undefined) return;
    const now = entered(entry, event);
    this.#calls.set(event.call, now);
    if (entry.undoes !== undefined && isUndone(event)) this.#settle(entry.undoes, now);
  }

  /** A call that its run judges replaces this by its result. A run that is to end judges none. */
  #report({ child, status, outside: work }: ChildReport, at: number): void {
    const before = this.#calls.get(this.#children.get(child) ?? "");
    if (before === undefined) return;
    const outside = joinedWork(before.outside, work);
    const entry = { ...before, ...(outside && { outside }) };
    this.#calls.set(entry.call, entry);
    if (entry.settledAt !== null) return;
    const failed = unknownWork(outside).length > 0 ? "unknown" : "failed";
    const outcome = status === "completed" ? "succeeded" : failed;
    const evidence = `child run ${child} ${status}`;
    this.#calls.set(entry.call, { ...entry, status: outcome, externalId: child, evidence, settledAt: at });
  }

  #undo(undoes: string): void {
    const tool = this.#calls.get(undoes)?.tool ?? "";
    const call = `undo-${undoes}`;
    this.#calls.set(call, { ...proposed(call, tool), undoes, evidence: `undoes ${undoes}` });
  }

  /** A call that is known not to have begun is intended again. Its release here counts as no attempt. */
  #postpone({ call, after }: Extract<Action, { readonly kind: "postpone" }>, why: string): void {
    const entry = this.#calls.get(call);
    if (entry === undefined || after === "retry") return;
    const attempts = entry.attempts - (after === "release" ? 1 : 0);
    this.#calls.set(call, { ...entry, status: "intended", attempts, evidence: `postponed: ${why}` });
  }

  /** A run that was restored asks its service first. */
  #probe({ call, restored: at }: Extract<Action, { readonly kind: "probe" }>): void {
    const entry = this.#calls.get(call);
    if (entry !== undefined && at !== undefined) this.#calls.set(call, { ...entry, restored: { at, first: "probe" } });
  }

  #settle(call: string, { call: by, settledAt }: LedgerEntry): void {
    const entry = this.#calls.get(call);
    if (entry === undefined) return;
    this.#calls.set(call, { ...entry, status: "compensated", evidence: `undone by ${by}`, settledAt });
  }
}

const isUndone = (event: Event): boolean =>
  event.kind === "ToolCompensated" || (event.kind === "ToolResultReconciled" && event.answer.as === "succeeded");

/** The part of an event that the ledger needs, without large values, to save memory; null if it needs nothing. */
export function readLedgerEvent(event: Event): Event | null {
  switch (event.kind) {
    case "ModelCallCompleted": {
      const calls = event.parts.filter((part) => part.kind === "call");
      return { ...event, parts: calls.map(({ kind, tool }) => ({ kind, tool, args: NOTHING, provider: null })) };
    }
    case "ToolResultRecorded":
    case "ToolCompensated":
      return { ...event, value: NOTHING };
    case "RunStarted":
      return event.forked === undefined ? null : event;
    case "RunEnded":
      return event.status === "completed" ? { ...event, result: NOTHING } : event;
    case "MessageAbsorbed":
      if (event.stage !== "taken" || event.body.kind !== "child") return null;
      return { ...event, body: { ...event.body, value: NOTHING } };
    case "ToolResultReconciled":
      return { ...event, answer: { ...event.answer, value: null } };
    case "HumanApprovalReceived":
      return { ...event, decision: { ...event.decision, args: null } };
    default:
      return "call" in event || touchesCalls(event) ? event : null;
  }
}

const NOTHING = inline(null);

const proposed = (call: string, tool: string): LedgerEntry => ({
  call,
  tool,
  effect: null,
  key: null,
  status: "proposed",
  attempts: 0,
  externalId: null,
  evidence: "the model asked for it",
  intendedAt: null,
  settledAt: null,
});

/** The first of the releases that follow each other without a decision of an operator between them. */
const releasedAt = (entry: LedgerEntry, at: number): number =>
  entry.status === "started" ? (entry.releasedAt ?? at) : at;

const WAITS_FOR = {
  answer: () => "waits for a human's answer",
  event: (event = "") => `waits for event ${event}`,
  time: () => "sleeps",
} as const;

type CallEvent = Extract<Event, { readonly call: string }>;

function entered(entry: LedgerEntry, event: CallEvent): LedgerEntry {
  switch (event.kind) {
    case "ToolIntended": {
      const { effect, key, at: intendedAt, business } = event;
      return { ...entry, status: "intended", effect, key, intendedAt, ...(business && { business }) };
    }
    case "ApprovalRequested":
      return { ...entry, evidence: `waits for approval: ${event.reason}` };
    case "HumanApprovalReceived": {
      const { as, by, note } = event.decision;
      const evidence = `${by} says: ${as}${note === null ? "" : ` (${note})`}`;
      return as === "deny" ? { ...entry, status: "failed", evidence, settledAt: event.at } : { ...entry, evidence };
    }
    case "ToolInvoked":
      return {
        ...entry,
        status: "started",
        attempts: entry.attempts + 1,
        releasedAt: releasedAt(entry, event.at),
        evidence: `released in epoch ${event.epoch}`,
        ...(event.restored !== undefined && { restored: { at: event.restored, first: "newKey" } as const }),
      };
    case "WaitBegun":
      return {
        ...entry,
        status: "started",
        attempts: entry.attempts + 1,
        releasedAt: releasedAt(entry, event.at),
        evidence: WAITS_FOR[event.wait.for](event.wait.event),
      };
    case "InputRefused":
      return { ...entry, evidence: `what ${event.by} gave does not fit: ${event.why}` };
    case "ChildDispatched": {
      const evidence = `dispatched child run ${event.child} in epoch ${event.epoch}`;
      const { child: externalId, try: attempts, at } = event;
      const released = { attempts, releasedAt: releasedAt(entry, at), externalId, evidence };
      return { ...entry, ...released, status: "started", settledAt: null };
    }
    case "ChildSuperseded":
      return { ...entry, evidence: `child run ${event.child} was too late: ${event.why}` };
    case "ChildContinued":
      return { ...entry, evidence: `child run ${event.child} goes on as dispatch ${event.dispatch}: ${event.why}` };
    case "ChildNeverMade": {
      if (entry.settledAt !== null) return entry;
      const evidence = `child run ${event.child} was never made`;
      return { ...entry, status: "failed", evidence, settledAt: event.at };
    }
    case "ResultSummarised":
      return entry;
    case "ToolResultRecorded": {
      const { outcome: status, externalId, evidence, at: settledAt } = event;
      return { ...entry, status, externalId, evidence, settledAt };
    }
    case "ToolCompensated":
      return { ...entry, status: "succeeded", evidence: event.evidence, settledAt: event.at };
    case "ToolOutcomeUnknown":
      return {
        ...entry,
        status: event.unbegun === true ? "intended" : "unknown",
        evidence: event.why,
        ...(event.restored !== undefined && { restored: { at: event.restored, first: "question" } as const }),
      };
    case "ToolResultReconciled": {
      const { as, by, note } = event.answer;
      const said = event.evidence ?? note;
      const evidence = `${by} says: ${as}${said === null ? "" : ` (${said})`}`;
      const externalId = event.externalId ?? entry.externalId;
      const settledAt = as === "retry" ? null : event.at;
      const outside = reconciledWork(entry.outside, as === "succeeded");
      return {
        ...entry,
        ...(outside && { outside }),
        status: as === "retry" ? "intended" : "reconciled",
        evidence,
        externalId,
        settledAt,
      };
    }
  }
}
