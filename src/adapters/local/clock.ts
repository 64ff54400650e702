/**
 * The machine's own clocks. Their timers keep the process alive: a caller waits for its timer or takes it back.
 *
 * All processes of a store share what is known of the clocks: it is in the store. A worker that begins after a jump would
 * see nothing wrong by itself. Only the supervisor writes it.
 */
import { readFileSync } from "node:fs";
import { uptime } from "node:os";
import {
  type ClockDoubt,
  type ClockReading,
  type ClockRecord,
  type JudgedTime,
  followTime,
  judgeTime,
} from "../../protocol/steadiness.ts";
import type { Clock } from "../../ports/world.ts";
import { type Store, reaching } from "./database.ts";

/** As it is set: for timers, and where there is no store. */
export const systemClock: Clock = {
  now: () => Date.now(),
  earliest: () => Date.now(),
  after: (delayMs, call) => {
    const timer = setTimeout(call, delayMs);
    return () => clearTimeout(timer);
  },
};

export interface StoreClock extends Clock {
  /** Remembers what the clocks show, for every process of the store. For the supervisor alone. */
  follow(): void;
  /** Why the wall clock is not believed, or null. */
  doubt(): ClockDoubt | null;
}

/** How long a process goes by what it read in the store. */
const READ_EVERY_MS = 1_000;

/** `read`: what the clocks of this machine show. */
export function storeClock(store: Store, read: () => ClockReading = readClocks): StoreClock {
  const select = store.rows.prepare("SELECT value FROM meta WHERE name = 'clock'");
  const insert = store.rows.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES ('clock', ?)");
  let known: { readonly record: ClockRecord | null; readonly at: number } | null = null;

  const recordAt = (uptimeMs: number): ClockRecord | null => {
    if (known !== null && uptimeMs >= known.at && uptimeMs - known.at < READ_EVERY_MS) return known.record;
    try {
      const found = reaching(store, () => select.get());
      known = { record: found === undefined ? null : recordIn(String(found["value"])), at: uptimeMs };
    } catch {
      // What time it is must be known also without the store; the next use of the store says what is wrong with it.
      known = { record: known?.record ?? null, at: uptimeMs };
    }
    return known.record;
  };
  const judge = (): JudgedTime => {
    const reading = read();
    const record = recordAt(reading.uptime);
    return record === null ? { now: reading.wall, earliest: reading.wall, doubt: null } : judgeTime(record, reading);
  };
  return {
    ...systemClock,
    now: () => judge().now,
    earliest: () => judge().earliest,
    doubt: () => judge().doubt,
    follow: () => {
      const reading = read();
      const before = recordAt(reading.uptime);
      const record = followTime(before, reading);
      if (record === before) return;
      reaching(store, () => insert.run(JSON.stringify(record)));
      known = { record, at: reading.uptime };
    },
  };
}

/** Null for what is no record: the wall clock is believed then. */
function recordIn(json: string): ClockRecord | null {
  const { trusted, doubted } = JSON.parse(json) as ClockRecord;
  const isReading = ({ wall, uptime }: ClockReading): boolean => Number.isFinite(wall) && Number.isFinite(uptime);
  return isReading(trusted) && (doubted === null || isReading(doubted)) ? { trusted, doubted } : null;
}

/** Both clocks at one moment: a process that is put aside between them looks again. */
function readClocks(): ClockReading {
  for (;;) {
    const before = uptime();
    const wall = Date.now();
    const after = uptime();
    if (after - before < TOGETHER_SEC) return { wall, uptime: Math.round(after * 1_000), boot: bootName };
  }
}

const TOGETHER_SEC = 0.5;

const bootName = ((): string => {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "";
  }
})();
