/**
 * What has become of runs, for whoever counts. Told after it is so, unlike the events that are recorded: those may be
 * decided again before they are committed, and would be counted twice.
 */
import type { Event } from "../../core/event.ts";
import type { Phase } from "../../core/phases.ts";
import type { Row } from "../../protocol/row.ts";
import type { ClaimOutcome } from "../../protocol/row-claim.ts";
import type { TelemetryRecord, World } from "../../ports/world.ts";

type Telling = Pick<World, "clock" | "telemetry">;

/** At once: what follows may be that this process dies. */
export function noteClaim(
  world: Telling,
  { row, overtook }: Extract<ClaimOutcome, { readonly kind: "granted" }>,
): void {
  const { run, epoch, takeovers } = row;
  note(world, { run, what: "RunClaimed", detail: { epoch, takeovers, overtook: overtook !== null } });
}

/** An event as it is recorded, which is before it is committed. */
export function noteEvent({ telemetry }: Telling, of: { row: Row; event: Event; phase: Phase }): void {
  const { row, event, phase } = of;
  const detail = { epoch: row.epoch, version: row.version + 1, phase };
  telemetry.record({ at: event.at, run: row.run, level: "trace", what: event.kind, detail });
}

/** A commit that was applied. `code` says why a run failed. */
export function noteCommit(world: Telling, of: { from: Row; to: Row; code: string | null }): void {
  const { run, epoch, version, status: to, spent } = of.to;
  const from = of.from.status;
  if (from !== to) note(world, { run, what: "StatusChanged", detail: { epoch, version, from, to, code: of.code } });
  const microUsd = spent.microUsd - of.from.spent.microUsd;
  if (microUsd > 0) note(world, { run, what: "Spent", detail: { epoch, version, microUsd } });
}

/** A process met a run that needs a newer version of cairn, and left it as it is. */
export function noteBehind(
  world: Telling,
  { run, ...detail }: { readonly run: string; readonly why: string; readonly waitedMs: number | null },
): void {
  note(world, { run, what: "RunNewer", detail });
}

/** What one sweep met: 0 where no run waits so. */
export interface Waits {
  readonly oldestQueuedMs: number;
  readonly oldestGateMs: number;
}

export const NO_WAITS: Waits = { oldestQueuedMs: 0, oldestGateMs: 0 };

/** Those, and that run. */
export function withRun(waits: Waits, { status, statusSince }: Row, now: number): Waits {
  const ms = now - statusSince;
  if (status === "queued") return { ...waits, oldestQueuedMs: Math.max(waits.oldestQueuedMs, ms) };
  if (status === "waiting") return { ...waits, oldestGateMs: Math.max(waits.oldestGateMs, ms) };
  return waits;
}

/** No record of it for long means that no sweeper looks for abandoned runs. */
export function noteSwept(world: Telling, of: Waits & { readonly runs: number }): void {
  note(world, { run: "", what: "Swept", detail: { ...of } });
}

function note({ clock, telemetry }: Telling, of: Pick<TelemetryRecord, "run" | "what" | "detail">): void {
  telemetry.record({ at: clock.now(), level: "trace", ...of });
}
