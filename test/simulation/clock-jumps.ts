/**
 * A wall clock that is set and comes back, in some histories: all processes are on one machine then, whose supervisor looks
 * at its clocks all the while. What has expired by that clock alone must stay, and the run must come to its end all the same.
 */
import type { Clock } from "../../src/ports/world.ts";
import { type ClockReading, type ClockRecord, followTime, judgeTime } from "../../src/protocol/steadiness.ts";
import { LEASE_MS, RETENTION_MS, SKEW_MS } from "./modes.ts";
import type { Simulated } from "./history.ts";
import { replay } from "./replay.ts";
import { type Sim, isCalm, withClockOffset } from "./sim.ts";

/** The wall clock of the machine, and what its supervisor remembers. */
export interface WallClock {
  /** How far it is ahead of the true time; less than 0: behind. */
  aheadMs: number;
  /** The true time at which it was set. */
  setAt: number;
  record: ClockRecord;
}

type Jumping = Pick<Sim, "plan" | "clock" | "wall">;

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const JUMPS_MS = [40 * DAY_MS, -2 * DAY_MS, 60 * MINUTE_MS, -MINUTE_MS] as const;
const JUMP_ONE_IN = 30;
const RETURN_ONE_IN = 15;
/** A clock that keeps its new time for an hour is believed: this one comes back before. */
const AWAY_MS_MAX = 30 * MINUTE_MS;

const readingOf = ({ clock, wall }: Jumping): ClockReading => ({
  ...{ wall: clock.now() + wall.aheadMs, uptime: clock.now(), boot: "one" },
});

/** A machine whose clock was right when its store was made. */
export const steadyWallClock = (at: number): WallClock => ({
  ...{ aheadMs: 0, setAt: at },
  record: { trusted: { wall: at, uptime: at, boot: "one" }, doubted: null },
});

/** The clock of one process: `clock` gives its timers. */
export function judgedClock(sim: Jumping, clock: Clock, offsetMs: number): Clock {
  const plain = withClockOffset(clock, offsetMs);
  if (!sim.plan.jumps) return plain;
  // What is believed is shared by the processes of one machine, which has one clock.
  const judge = () => judgeTime(sim.wall.record, readingOf(sim));
  return { ...plain, now: () => judge().now, earliest: () => judge().earliest };
}

/** At each step: an operator may set the clock, or set it right, and the supervisor looks. */
export function setWallClock(sim: Sim): void {
  const { plan, chances, clock, wall, record } = sim;
  if (!plan.jumps) return;
  const isSet = wall.aheadMs !== 0;
  if (isSet && (isCalm(sim) || chances.jumps.oneIn(RETURN_ONE_IN))) setClock(sim, 0);
  if (!isSet && !isCalm(sim) && chances.jumps.oneIn(JUMP_ONE_IN)) {
    setClock(sim, chances.jumps.pick(JUMPS_MS));
    record.reached.add(`clock set ${wall.aheadMs > 0 ? "ahead" : "back"}`);
  }
  wall.record = followTime(wall.record, readingOf(sim));
  if (isSet && clock.now() - wall.setAt > AWAY_MS_MAX) setClock(sim, 0);
}

/** Before so much time passes that the clock would be believed, an operator sets it right. */
export function restoreWallClock(sim: Sim, until: number): void {
  if (sim.wall.aheadMs === 0 || until - sim.wall.setAt <= AWAY_MS_MAX) return;
  setClock(sim, 0);
}

function setClock({ wall, clock, record }: Sim, aheadMs: number): void {
  wall.aheadMs = aheadMs;
  wall.setAt = clock.now();
  record.note("clock", `is off by ${aheadMs} ms`);
}

export const JUMP_CELLS = ["clock set ahead", "clock set back"];

/** Of two processes, and of the chain, whose clock may be another one. */
export const MARGIN_MS = 3 * SKEW_MS;

/** An end may land as late as its process may still act. */
const KEPT_MARGIN_MS = MARGIN_MS + LEASE_MS;

/** Nothing is over before its time: no gate, no run that waits, and no time to live. */
export function actedTooEarly(history: Simulated): readonly string[] {
  const { stored, plan } = history;
  if (plan.mode.mayDouble) return [];
  const asked = new Map<string, number>();
  return replay(history).commits.flatMap(({ version, events }) => {
    const index = stored.findIndex(({ row }) => row.version === version);
    const { at, row } = stored[index] ?? { at: 0, row: null };
    const waits = stored[index - 1]?.row.deadline ?? 0;
    return events.flatMap((event) => {
      if (event.kind === "ApprovalRequested") asked.set(event.gate, event.expiresAt);
      if (event.kind === "HumanApprovalReceived" && event.decision.by === "expiry") {
        const leftMs = (asked.get(event.gate) ?? 0) - at;
        if (leftMs > MARGIN_MS) return [`gate ${event.gate} expired ${leftMs} ms before its time`];
      }
      if (event.kind !== "RunEnded") return [];
      const isEarly = event.status === "failed" && event.failure.code === "Expired" && waits - at > MARGIN_MS;
      const keptMs = row?.expiresAtSec == null ? RETENTION_MS : row.expiresAtSec * 1_000 - at;
      return [
        ...(isEarly ? [`the run expired ${waits - at} ms before its time`] : []),
        ...(keptMs < RETENTION_MS - KEPT_MARGIN_MS ? [`the ended run is kept for ${keptMs} ms only`] : []),
      ];
    });
  });
}
