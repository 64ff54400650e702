/**
 * Judges whether a wall clock can be believed. A person or a time service can set a wall clock to any time. The uptime
 * of a machine cannot be set, and it counts on while the machine sleeps. A wall clock that moved against the uptime has
 * jumped.
 *
 * Schedule 104: the wall clock is put 40 days ahead for a minute. By that clock every waiting run has waited too long
 * and every ended run has expired. What is removed then does not come back when the clock is right again.
 *
 * So there are two times. `now` is the best guess: the wall clock, or what it would show without the jump. `earliest`
 * is a time that has come by every clock, and only `earliest` decides what cannot be taken back. A wall clock that
 * keeps its new time for `CLOCK.settleMs` is believed again, since the old time may have been wrong.
 */
/** Tolerances of the judgement, in milliseconds unless the name says otherwise. */
export const CLOCK = {
  /**
   * Clocks that differ by less than this agree. Time services correct by less at a time, and every retention is longer.
   */
  marginMs: 5_000,
  /** The uptime drifts by one part in this many at most. */
  driftParts: 2_000,
  /** How long a wall clock must keep its new time before it is believed. */
  settleMs: 3_600_000,
  /** A believed reading is replaced by a newer one after this long. */
  refreshMs: 60_000,
} as const;

/** What the clocks of a machine show at one moment, in milliseconds. */
export interface ClockReading {
  /** Epoch milliseconds. */
  readonly wall: number;
  /** Milliseconds since the machine started. */
  readonly uptime: number;
  /** The ID of this boot of the machine; empty where the system has none. */
  readonly boot: string;
}

/** What the store remembers of a machine's clocks. */
export interface ClockRecord {
  /** The last reading whose wall clock was believed. */
  readonly trusted: ClockReading;
  /**
   * The first reading since which the wall clock disagrees with `trusted` but agrees with itself; null without a doubt.
   */
  readonly doubted: ClockReading | null;
}

/**
 * Why the wall clock is not believed. `ahead`, `behind`: compared with the uptime. `away`: the machine was off, and
 * only its wall clock says for how long.
 */
export interface ClockDoubt {
  readonly kind: "ahead" | "behind" | "away";
  readonly byMs: number;
  /** How long the clock has kept its new time; it is believed from `CLOCK.settleMs` on. */
  readonly forMs: number;
}

/** `now`: the best guess. `earliest`: a time that has come by every clock. Both are epoch milliseconds. */
export interface JudgedTime {
  readonly now: number;
  readonly earliest: number;
  readonly doubt: ClockDoubt | null;
}

/** The time to use after a reading, judged by what is remembered. */
export function judgeTime({ trusted, doubted }: ClockRecord, reading: ClockReading): JudgedTime {
  const { wall } = reading;
  const expected = expectedWall(trusted, reading);
  const byMs = Math.abs(wall - expected);
  if (byMs <= marginSince(trusted, reading)) return { now: wall, earliest: wall, doubt: null };
  const earliest = Math.min(wall, expected);
  const forMs = doubted !== null && agrees(doubted, reading) ? reading.uptime - doubted.uptime : 0;
  if (wall < expected) return { now: expected, earliest, doubt: { kind: "behind", byMs, forMs } };
  // No count covers the time that a machine was off, so its wall clock is the best guess.
  if (!isSameBoot(trusted, reading)) return { now: wall, earliest, doubt: { kind: "away", byMs, forMs } };
  return { now: expected, earliest, doubt: { kind: "ahead", byMs, forMs } };
}

/** The record after this reading; the same object if nothing changes. */
export function followTime(record: ClockRecord | null, reading: ClockReading): ClockRecord {
  if (record === null) return { trusted: reading, doubted: null };
  const { trusted, doubted } = record;
  if (judgeTime(record, reading).doubt === null) {
    const isFresh = isSameBoot(trusted, reading) && reading.uptime - trusted.uptime < CLOCK.refreshMs;
    return isFresh && doubted === null ? record : { trusted: reading, doubted: null };
  }
  if (doubted === null || !agrees(doubted, reading)) return { trusted, doubted: reading };
  return reading.uptime - doubted.uptime < CLOCK.settleMs ? record : { trusted: reading, doubted: null };
}

/** The time that the wall clock should show. After a reboot it is a lower bound, since the time off is unknown. */
const expectedWall = (trusted: ClockReading, reading: ClockReading): number =>
  trusted.wall + countedSince(trusted, reading);

const countedSince = (before: ClockReading, reading: ClockReading): number =>
  isSameBoot(before, reading) ? reading.uptime - before.uptime : reading.uptime;

/**
 * True if no reboot lies between the readings. Without a boot ID, an uptime that went back shows a reboot. It may go
 * back by less than the margin, since another process read it.
 */
const isSameBoot = (before: ClockReading, { boot, uptime }: ClockReading): boolean =>
  before.boot === boot && before.uptime <= uptime + CLOCK.marginMs;

const marginSince = (before: ClockReading, reading: ClockReading): number =>
  CLOCK.marginMs + Math.floor(countedSince(before, reading) / CLOCK.driftParts);

const agrees = (before: ClockReading, reading: ClockReading): boolean =>
  isSameBoot(before, reading) && Math.abs(reading.wall - expectedWall(before, reading)) <= marginSince(before, reading);
