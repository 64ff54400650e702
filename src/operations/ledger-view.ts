/**
 * The ledger as operators see it: a failed call shows the message of its tool as evidence. The stored ledger has no
 * messages, because exports are checked against the fold of their events.
 */
import type { LedgerEntry } from "../codec/archive.ts";
import { bounded } from "../codec/value.ts";
import type { Event } from "../core/event.ts";
import type { World } from "../ports/world.ts";
import { ledgerSteps } from "../history/call-ledger.ts";
import { type Steps, eachOf, inTurns } from "../history/stepwise.ts";
import { timeline } from "./views.ts";

/** Null if there is no such run. */
export async function shownLedger(world: World, run: string): Promise<readonly LedgerEntry[] | null> {
  const events = await timeline(world, { run, after: 0 });
  return events === null ? null : inTurns(steps(events), world.reading?.turn);
}

const MESSAGE_CHARACTERS_MAX = 300;

function* steps(events: readonly Event[]): Steps<readonly LedgerEntry[]> {
  const calls = yield* ledgerSteps(events);
  const said = new Map<string, string>();
  yield* eachOf(events, (event) => {
    if (event.kind !== "ToolResultRecorded" || event.outcome !== "failed" || event.value.kind !== "inline") return;
    const { json } = event.value;
    if (typeof json === "string" && !event.evidence.includes(json)) said.set(event.call, json);
  });
  return calls.map((entry) => (entry.status === "failed" ? withMessage(entry, said.get(entry.call)) : entry));
}

const withMessage = (entry: LedgerEntry, message: string | undefined): LedgerEntry =>
  message === undefined
    ? entry
    : { ...entry, evidence: `${entry.evidence}: ${bounded(message, MESSAGE_CHARACTERS_MAX)}` };
