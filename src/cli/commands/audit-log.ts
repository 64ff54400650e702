/** `cairn audit-log`: who did what, to what, when, from where and why, and what came of it. Newest first. */
import { isRunId, tenantOf } from "../../core/ids.ts";
import type { AuditEntry, AuditPage } from "../../operations/access/audit.ts";
import { durationMs } from "../../sdk/duration.ts";
import { UserError, EXIT } from "../../compose/user-error.ts";
import { originBeside, retyped, shortRun, timeOfDay } from "../../render/words.ts";
import type { StoreFlags } from "../../compose/surroundings.ts";
import { type Shell, printLines } from "../shell.ts";
import { fittedTable } from "../../render/paint.ts";
import { transportTo } from "../choose-transport.ts";

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
  const transport = await transportTo(shell, flags);
  // The records of a run outlive it, so a whole ID needs no run.
  const run = typed === null || isRunId(typed) ? typed : await transport.resolve(typed, "read");
  const tenant = run === null ? flags.tenant : tenantOf(run);
  const local = { tenant };
  const filter = { run, actor: flags.actor ?? null, since: sinceTyped(shell, flags.since, transport.now()) };
  const entries: AuditEntry[] = [];
  for (let after: string | null = null, isMore = true; isMore && entries.length < flags.limit;) {
    const page: AuditPage | { readonly kind: "missing" } = await transport.perform(
      "auditLog",
      {
        ...filter,
        after,
      },
      local,
    );
    if (page.kind === "missing") break;
    entries.push(...page.entries.slice(0, flags.limit - entries.length));
    after = page.next;
    isMore = after !== null;
  }
  if (shell.json) printLines(shell, entries);
  else shell.terminal.out(entries.length === 0 ? "there is no record" : tableOf(shell, entries, transport.now()));
  return EXIT.done;
}

/** The time from which records count: an age such as `2h`, or a date, which is a day of the user's zone. */
export function sinceTyped(shell: Shell, text: string | undefined, now: number): number | null {
  if (text === undefined) return null;
  const ageMs = durationMs(text);
  const at = ageMs === null ? (startOfDay(text) ?? Date.parse(text)) : Math.max(0, now - ageMs);
  if (Number.isFinite(at) && at >= 0) return at;
  const why = "it is an age such as 2h or 7d, or a date such as 2026-11-25 or 2026-11-25T09:00+01:00";
  const next = retyped(shell, "--since", "7d");
  throw new UserError({ code: "Usage", exit: EXIT.usage, what: `${text} is no time`, why, next });
}

/** The beginning of a day that is given without a time, here; null: it is no such day. `Date.parse` would begin it in UTC. */
function startOfDay(text: string): number | null {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text)?.map(Number) ?? [];
  if (year === undefined || month === undefined || day === undefined) return null;
  const date = new Date(year, month - 1, day);
  // 31 February would be a day of March.
  return date.getDate() === day && date.getMonth() === month - 1 ? date.getTime() : Number.NaN;
}

function tableOf({ terminal }: Shell, entries: readonly AuditEntry[], now: number): string {
  const columns = ["TIME", "ACTOR", "DID", "RUN", "OUTCOME", "DETAILS"].map((title) => ({ title }));
  const rows = entries.map((entry) => [
    timeOfDay(entry.at, now),
    entry.actor,
    entry.operation,
    entry.run === null ? "" : shortRun(entry.run),
    entry.outcome ?? "not known",
    detailsOf(entry),
  ]);
  return fittedTable(columns, rows, { paint: terminal.paintOut, width: terminal.width }).join("\n");
}

function detailsOf({ details, why, from, actor }: AuditEntry): string {
  const origin = originBeside({ actor, from });
  return [
    ...(typeof details === "object" && details !== null
      ? Object.entries(details).map(
          ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
        )
      : []),
    ...(why === null ? [] : [`why: ${why}`]),
    ...(origin === null ? [] : [`from ${origin}`]),
  ].join(" ");
}
