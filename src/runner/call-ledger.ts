/** The ledger of a run: one entry per call that a model ever asked for, folded from the events in their order. */
import type { LedgerEntry } from "../codec/archive.ts";
import type { Event } from "../core/event.ts";
import { inline } from "../core/message.ts";

export class CallLedger {
  readonly #calls = new Map<string, LedgerEntry>();

  get entries(): readonly LedgerEntry[] {
    return [...this.#calls.values()];
  }

  add(event: Event): void {
    if (event.kind === "ModelCallCompleted") {
      for (const part of event.parts) {
        const call = `c${this.#calls.size + 1}`;
        if (part.kind === "call") this.#calls.set(call, proposed(call, part.tool));
      }
    }
    if (!("call" in event)) return;
    const entry = this.#calls.get(event.call);
    if (entry !== undefined) this.#calls.set(event.call, entered(entry, event));
  }
}

/** What the ledger takes of an event, without the values that it carries, for whoever cannot hold all of them; or null. */
export function entryOf(event: Event): Event | null {
  switch (event.kind) {
    case "ModelCallCompleted": {
      const calls = event.parts.filter((part) => part.kind === "call");
      return { ...event, parts: calls.map(({ kind, tool }) => ({ kind, tool, args: NOTHING, provider: null })) };
    }
    case "ToolResultRecorded":
      return { ...event, value: NOTHING };
    case "ToolResultReconciled":
      return { ...event, answer: { ...event.answer, value: null } };
    case "HumanApprovalReceived":
      return { ...event, decision: { ...event.decision, args: null } };
    default:
      return "call" in event ? event : null;
  }
}

const NOTHING = inline(null);

const proposed = (call: string, tool: string): LedgerEntry => ({
  ...{ call, tool, effect: null, key: null, status: "proposed", attempts: 0, externalId: null },
  ...{ evidence: "the model asked for it", intendedAt: null, settledAt: null },
});

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
        evidence: `released in epoch ${event.epoch}`,
      };
    case "ToolResultRecorded": {
      const { outcome: status, externalId, evidence, at: settledAt } = event;
      return { ...entry, status, externalId, evidence, settledAt };
    }
    case "ToolOutcomeUnknown":
      return { ...entry, status: "unknown", evidence: event.why };
    case "ToolResultReconciled": {
      const { as, by, note } = event.answer;
      const said = event.evidence ?? note;
      const evidence = `${by} says: ${as}${said === null ? "" : ` (${said})`}`;
      const externalId = event.externalId ?? entry.externalId;
      const settledAt = as === "retry" ? null : event.at;
      return { ...entry, status: as === "retry" ? "intended" : "reconciled", evidence, externalId, settledAt };
    }
  }
}
