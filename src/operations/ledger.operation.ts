import * as z from "zod";
import { shownLedger } from "./ledger-view.ts";
import { LISTED_MAX } from "./list.ts";
import { type RunMissing, RESPONSES, operation, runInput } from "./operation.ts";
import type { LedgerEntry } from "./views.ts";
import type { Syntaxes } from "./syntax.ts";

export const ledgerOperation = operation({
  scope: "runs:read",
  writes: false,
  typed: [{ command: "ledger" }],
  help: "list every tool call of a run: its key, attempts, outcome and evidence",
  input: runInput.extend({
    after: z.int().nonnegative().default(0),
    limit: z.int().positive().nullable().default(null),
  }),
  run: async (
    { world },
    { run, after, limit },
  ): Promise<
    RunMissing | { readonly kind: "shown"; readonly calls: readonly LedgerEntry[]; readonly next: number | null }
  > => {
    const all = await shownLedger(world, run);
    if (all === null) return { kind: "missing" };
    const calls = all.slice(after, limit === null ? undefined : after + limit);
    return { kind: "shown", calls, next: after + calls.length < all.length ? after + calls.length : null };
  },
  outcomes: { shown: RESPONSES.shown, missing: RESPONSES.missing },
  over: ["store", "http"],
  http: {
    method: "get",
    path: "/runs/{run}/ledger",
    bounds: { limit: z.int().min(1).max(LISTED_MAX).default(LISTED_MAX) },
  },
});

export const ledgerSyntax = (): Syntaxes => ({ ledger: { group: "Inspecting", words: "<run>" } });
