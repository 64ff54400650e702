/**
 * Whether a wall clock can be believed. A person or a time service can set it to any time; what a machine counts since it
 * began cannot be set, and goes on while the machine sleeps. A wall clock that moved against that count has jumped.
 *
 * Schedule 104: the clock is put 40 days ahead for a minute. By that clock every run that waits has waited too long, and
 * every ended run has been kept for long enough; what is removed then does not come back with the clock.
 *
 * So there are two times. `now` is the best guess: the wall, or where it jumped, what it would show without the jump.
 * `earliest` is a time that has come by every clock: what cannot be taken back is decided by it alone. A wall clock that
 * keeps its new time for `CLOCK.settleMs` is believed again: the old time may have been the wrong one.
 */
export const CLOCK = {
  /** Clocks that differ by less agree. Time services correct less at a time, and nothing is kept for so short a time. */
  marginMs: 5_000,
  /** A machine's count of its own time is wrong by one part in so many at most. */
  driftParts: 2_000,
  /** How long a clock that jumped has to keep its new time until it is believed. */
  settleMs: 3_600_000,
  /** A believed reading is replaced by a newer one after so long. */
  refreshMs: 60_000,
} as const;

/** What the clocks of a machine show at one moment, in milliseconds. */
export interface ClockReading {
  /** Epoch milliseconds. */
  readonly wall: number;
  /** Since the machine began. */
  readonly uptime: number;
  /** Names the time from one start of the machine to its end; empty where the system has no name for it. */
  readonly boot: string;
}

/** What is remembered of a machine's clocks. */
export interface ClockRecord {
  /** The last reading whose wall clock was believed. */
  readonly trusted: ClockReading;
  /** The first reading of a wall clock that has not agreed with `trusted` since, and agrees with itself; or null. */
  readonly doubted: ClockReading | null;
}

/** `ahead` and `behind`: of where the wall clock should be; `away`: this machine was off, and only its wall clock tells for how long. */
export interface ClockDoubt {
  readonly kind: "ahead" | "behind" | "away";
  readonly byMs: number;
  /** How long the clock has kept that time, and how long it has to. */
  readonly forMs: number;
}

export interface JudgedTime {
  readonly now: number;
  readonly earliest: number;
  readonly doubt: ClockDoubt | null;
}

export function judgeTime({ trusted, doubted }: ClockRecord, reading: ClockReading): JudgedTime {
  const { wall } = reading;
  const expected = expectedWall(trusted, reading);
  const byMs = Math.abs(wall - expected);
  if (byMs <= marginSince(trusted, reading)) return { now: wall, earliest: wall, doubt: null };
  const earliest = Math.min(wall, expected);
  const forMs = doubted !== null && agrees(doubted, reading) ? reading.uptime - doubted.uptime : 0;
  if (wall < expected) return { now: expected, earliest, doubt: { kind: "behind", byMs, forMs } };
  // How long a machine was off is told by no count: its wall clock is the best guess.
  if (!isSameBoot(trusted, reading)) return { now: wall, earliest, doubt: { kind: "away", byMs, forMs } };
  return { now: expected, earliest, doubt: { kind: "ahead", byMs, forMs } };
}

/** What is to be remembered after this reading: the same object where nothing changes. */
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

/** A machine that began again was off for an unknown time: the wall shows at least this. */
const expectedWall = (trusted: ClockReading, reading: ClockReading): number =>
  trusted.wall + countedSince(trusted, reading);

const countedSince = (before: ClockReading, reading: ClockReading): number =>
  isSameBoot(before, reading) ? reading.uptime - before.uptime : reading.uptime;

/** Where no boot has a name, a count that went back tells of a new one; a little, since another process reads it too. */
const isSameBoot = (before: ClockReading, { boot, uptime }: ClockReading): boolean =>
  before.boot === boot && before.uptime <= uptime + CLOCK.marginMs;

const marginSince = (before: ClockReading, reading: ClockReading): number =>
  CLOCK.marginMs + Math.floor(countedSince(before, reading) / CLOCK.driftParts);

const agrees = (before: ClockReading, reading: ClockReading): boolean =>
  isSameBoot(before, reading) && Math.abs(reading.wall - expectedWall(before, reading)) <= marginSince(before, reading);
