/**
 * Emits telemetry events about runs, for metrics. Most are emitted only after the fact is durable. A recorded event may
 * be decided again before its commit, and a metric would then count it twice.
 */
import type { Event } from "../../core/event.ts";
import type { Phase } from "../../core/phases.ts";
import type { ListedRow, Row } from "../../protocol/row.ts";
import type { ClaimOutcome } from "../../protocol/row-claim.ts";
import type { TelemetryRecord, World } from "../../ports/world.ts";

type Telling = Pick<World, "clock" | "telemetry">;

/** Reports a granted claim. It is emitted at once, because this process may die next. */
export function noteClaim(
  world: Telling,
  { row, overtook }: Extract<ClaimOutcome, { readonly kind: "granted" }>,
): void {
  const { run, epoch, takeovers } = row;
  note(world, { run, what: "RunClaimed", detail: { epoch, takeovers, overtook: overtook !== null } });
}

/** Traces an event when it is recorded, which is before its commit. */
export function noteEvent(
  { telemetry }: Telling,
  { row, event, phase }: { row: Row; event: Event; phase: Phase },
): void {
  const detail = { epoch: row.epoch, version: row.version + 1, phase };
  telemetry.record({ at: event.at, run: row.run, level: "trace", what: event.kind, detail });
}

/** Reports a status change and the money spent after an applied commit. `code` is the failure code of a failed run. */
export function noteCommit(world: Telling, change: { from: Row; to: Row; code: string | null }): void {
  const { run, epoch, version, status: to, phase, spent } = change.to;
  const from = change.from.status;
  const changed = { epoch, version, from, to, phase, code: change.code };
  if (from !== to) note(world, { run, what: "StatusChanged", detail: changed });
  const microUsd = spent.microUsd - change.from.spent.microUsd;
  if (microUsd > 0) note(world, { run, what: "Spent", detail: { epoch, version, microUsd } });
}

/** Reports the first signals of failures that an applied commit holds. */
export function noteCracks(
  world: Telling,
  { row, events }: { readonly row: Row; readonly events: readonly Event[] },
): void {
  const { run, epoch, version } = row;
  for (const event of events) {
    if (event.kind !== "CrackSignalled") continue;
    const { crack, why, times } = event;
    note(world, { run, what: "CrackSeen", detail: { epoch, version, crack, why, isFirst: times === 1 } });
  }
}

/** Reports that this process met a run that needs a newer version of cairn. The process leaves the run unchanged. */
export function noteBehind(
  world: Telling,
  { run, ...detail }: { readonly run: string; readonly why: string; readonly waitedMs: number | null },
): void {
  note(world, { run, what: "RunNewer", detail });
}

/** The longest waits that one sweep found, in milliseconds. A value is 0 if no run waits like that. */
export interface Waits {
  readonly oldestQueuedMs: number;
  readonly oldestGateMs: number;
}

/** The waits before any run was counted. */
export const NO_WAITS: Waits = { oldestQueuedMs: 0, oldestGateMs: 0 };

/** Adds one run to the waits. */
export function includeWait(waits: Waits, { status, phase, statusSince }: ListedRow, now: number): Waits {
  const ms = now - statusSince;
  if (status === "queued") return { ...waits, oldestQueuedMs: Math.max(waits.oldestQueuedMs, ms) };
  // A run that waits for its children, an event or a time waits for no human.
  if (status === "waiting" && phase === "AwaitingApproval")
    return { ...waits, oldestGateMs: Math.max(waits.oldestGateMs, ms) };
  return waits;
}

/** Reports one completed sweep. No `Swept` record for a long time means that the sweeper is down. */
export function noteSwept(world: Telling, waits: Waits & { readonly runs: number }): void {
  note(world, { run: "", what: "Swept", detail: { ...waits } });
}

function note({ clock, telemetry }: Telling, record: Pick<TelemetryRecord, "run" | "what" | "detail">): void {
  telemetry.record({ at: clock.now(), level: "trace", ...record });
}
