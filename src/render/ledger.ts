/** Renders the ledger of a run: its calls with their effects, outcomes and idempotency keys. */
import type { LedgerEntry } from "../operations/views.ts";
import { type Cell, type Ink, type Style, fittedTable } from "./paint.ts";
import { duration, short } from "./words.ts";

export function renderLedger(calls: readonly LedgerEntry[], page: Style): string {
  const columns = [
    { title: "CALL" },
    { title: "TOOL" },
    { title: "EFFECT" },
    { title: "STATUS" },
    { title: "TRIES", align: "right" },
    { title: "TOOK", align: "right" },
    { title: "EXTERNAL ID" },
    { title: "KEY" },
    { title: "OF" },
    { title: "EVIDENCE" },
  ] as const;
  const rows = calls.map((entry): Cell[] => [
    entry.call,
    entry.tool,
    entry.effect ?? "-",
    { text: entry.status, ink: inkOf(entry) },
    String(entry.attempts),
    tookWords(entry),
    entry.externalId ?? "-",
    entry.key ?? "-",
    entry.key === null ? "-" : entry.business ? "business" : "intent",
    `${restoredWords(entry)}${short(entry.evidence, 100)}`,
  ]);
  return fittedTable(columns, rows, page).join("\n");
}

const RESTORED = {
  question: "restored, asked first: ",
  probe: "restored, probed first: ",
  newKey: "restored, may be repeated under a new key: ",
} as const;

const restoredWords = ({ restored }: LedgerEntry): string => (restored === undefined ? "" : RESTORED[restored.first]);

/**
 * How long the call ran, from its first release to its result. The time that a human took to approve it, to reconcile it
 * or to have it undone is no part of that.
 */
function tookWords({ status, attempts, releasedAt, intendedAt, settledAt }: LedgerEntry): string {
  const from = releasedAt ?? intendedAt;
  const hasRun = attempts > 0 && (status === "succeeded" || status === "failed");
  return !hasRun || from === null || settledAt === null ? "-" : duration(settledAt - from);
}

/** The colour of a ledger entry. */
function inkOf({ status }: LedgerEntry): Ink {
  if (status === "succeeded" || status === "reconciled") return "green";
  if (status === "failed") return "red";
  return status === "unknown" ? "yellow" : "cyan";
}
