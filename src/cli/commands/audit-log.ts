/** `cairn audit-log`: who did what, to what, when, from where and why, and what came of it. Newest first. */
import { isRunId, tenantOf } from "../../core/ids.ts";
import type { AuditEntry, AuditPage } from "../../operations/access/audit.ts";
import { performOperation } from "../../operations/perform.ts";
import { OPERATIONS } from "../../operations/table.ts";
import { durationMs } from "../../sdk/duration.ts";
import { CliError, EXIT } from "../errors.ts";
import { retyped } from "../input.ts";
import { openExisting } from "../open.ts";
import { contextOf } from "../perform.ts";
import { resolveRun } from "./runs.ts";
import { type Shell, type StoreFlags, printLines } from "../shell.ts";
import { shortRun, timeOfDay } from "../render/words.ts";
import { fittedTable } from "../terminal/paint.ts";

interface AuditFlags extends StoreFlags {
  readonly since?: string;
  readonly actor?: string;
  readonly limit: number;
  readonly tenant: string;
}

export async function showAuditLog(
  shell: Shell,
  { run: typed, flags }: { readonly run: string | null; readonly flags: AuditFlags },
): Promise<number> {
  const opened = await openExisting(shell, flags);
  const { world, settings } = opened;
  const { command } = settings;
  // The records of a run outlive it, so a whole ID needs no run.
  const run = typed === null || isRunId(typed) ? typed : await resolveRun(world, { text: typed, command });
  const tenant = run === null ? flags.tenant : tenantOf(run);
  const context = contextOf(shell, opened, { tenant });
  const filter = { run, actor: flags.actor ?? null, since: sinceOf(shell, flags.since, world.clock.now()) };
  const entries: AuditEntry[] = [];
  for (let after: string | null = null, isMore = true; isMore && entries.length < flags.limit;) {
    const page: AuditPage | { readonly kind: "missing" } = await performOperation(OPERATIONS.auditLog, context, {
      ...filter,
      after,
    });
    if (page.kind === "missing") break;
    entries.push(...page.entries.slice(0, flags.limit - entries.length));
    after = page.next;
    isMore = after !== null;
  }
  if (shell.json) printLines(shell, entries);
  else shell.terminal.out(entries.length === 0 ? "there is no record" : tableOf(shell, entries, world.clock.now()));
  return EXIT.done;
}

/** The time from which records count: an age such as `2h`, or a date. */
export function sinceOf(shell: Shell, text: string | undefined, now: number): number | null {
  if (text === undefined) return null;
  const ageMs = durationMs(text);
  const at = ageMs === null ? Date.parse(text) : Math.max(0, now - ageMs);
  if (Number.isFinite(at) && at >= 0) return at;
  const why = "it is an age such as 2h or 7d, or a date such as 2026-11-25";
  const next = retyped(shell, "--since", "7d");
  throw new CliError({ code: "Usage", exit: EXIT.usage, what: `${text} is no time`, why, next });
}

function tableOf({ terminal }: Shell, entries: readonly AuditEntry[], now: number): string {
  const columns = ["TIME", "ACTOR", "DID", "RUN", "OUTCOME", "DETAILS"].map((title) => ({ title }));
  const rows = entries.map((entry) => [
    ...[timeOfDay(entry.at, now), entry.actor, entry.operation, entry.run === null ? "" : shortRun(entry.run)],
    entry.outcome ?? "not known",
    detailsOf(entry),
  ]);
  return fittedTable(columns, rows, { paint: terminal.paintOut, width: terminal.width }).join("\n");
}

const detailsOf = ({ details, why, from }: AuditEntry): string =>
  [
    ...(typeof details === "object" && details !== null
      ? Object.entries(details).map(
          ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
        )
      : []),
    ...(why === null ? [] : [`why: ${why}`]),
    ...(from === null ? [] : [`from ${from}`]),
  ].join(" ");
