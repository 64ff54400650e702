/**
 * The machine's own clocks. Their timers keep the process alive, so a caller waits for its timer or cancels it.
 *
 * All processes of a store share one record of the clocks, which is in the store and which only the supervisor writes.
 * A worker that starts after a jump would notice nothing wrong by itself.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { uptime } from "node:os";
import {
  type ClockReading,
  type ClockRecord,
  type JudgedTime,
  followTime,
  judgeTime,
} from "../../protocol/steadiness.ts";
import { type EventLoop, afterReading } from "../../ports/late-timers.ts";
import type { Clock } from "../../ports/world.ts";
import type { StoreClock } from "../../ports/driven-store.ts";
import { type Store, reaching } from "./store/database.ts";

/** A timer for what a process owes at a time of its own: it fires before anything else is read. */
export const punctually: Clock["after"] = (delayMs, call) => {
  const timer = setTimeout(call, delayMs);
  return () => clearTimeout(timer);
};

/** The event loop of this process. */
const EVENT_LOOP: EventLoop = {
  start: punctually,
  poll: (call) => {
    const turn = setImmediate(call);
    return () => clearImmediate(turn);
  },
  count: () => performance.now(),
};

/** The clock as the machine shows it: for timers, and for code without a store. */
export const systemClock: Clock = {
  now: () => Date.now(),
  earliest: () => Date.now(),
  after: afterReading(EVENT_LOOP),
};

/** How long a process uses what it read in the store. */
const READ_EVERY_MS = 1_000;

/** The clock of a store. `read` returns what the clocks of this machine show. */
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
      // The time must be known without the store too. The next use of the store reports what is wrong with it.
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
    uptime: () => read().uptime,
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

/** The stored record; null for malformed text, and then the wall clock is believed. */
function recordIn(json: string): ClockRecord | null {
  const { trusted, doubted } = JSON.parse(json) as ClockRecord;
  const isReading = ({ wall, uptime }: ClockReading): boolean => Number.isFinite(wall) && Number.isFinite(uptime);
  return isReading(trusted) && (doubted === null || isReading(doubted)) ? { trusted, doubted } : null;
}

/** The clocks of this machine, each as a function without arguments. */
interface MachineClocks {
  /** Epoch milliseconds. */
  readonly wall: () => number;
  /** Seconds since the machine started, also while it was suspended. */
  readonly uptime: () => number;
  /** Milliseconds since some moment. It may stand still while the machine is suspended. */
  readonly monotonic: () => number;
}

/**
 * Reads the wall clock and the uptime at one moment. The uptime is read in a file (macOS: from the system, in whole
 * seconds), so between two reads of it the
 * monotonic clock is added instead. A suspended machine, or a wall clock that was set, makes the
 * wall clock and the monotonic clock differ, and then the uptime is read again.
 */
export function clockReader({ wall, uptime, monotonic }: MachineClocks): () => ClockReading {
  let base: { readonly reading: ClockReading; readonly at: number } | null = null;
  return () => {
    const [wallNow, at] = [wall(), monotonic()];
    if (base !== null) {
      const sinceMs = at - base.at;
      const drift = Math.abs(wallNow - base.reading.wall - sinceMs);
      if (drift <= TOGETHER_MS) {
        return { ...base.reading, wall: wallNow, uptime: Math.round(base.reading.uptime + sinceMs) };
      }
    }
    const reading = readTogether({ wall, uptime });
    base = { reading, at: monotonic() };
    return reading;
  };
}

/** If the system suspends the process between the two reads, it reads again. */
function readTogether({ wall, uptime }: Pick<MachineClocks, "wall" | "uptime">): ClockReading {
  for (;;) {
    const before = uptime();
    const wallNow = wall();
    const after = uptime();
    if (after - before < TOGETHER_SEC) return { wall: wallNow, uptime: Math.round(after * 1_000), boot: bootNow() };
  }
}

/** How far two clocks may move apart while they count as read at one moment. */
const TOGETHER_SEC = 0.5;
const TOGETHER_MS = 5;

/** Where a system names the present boot. */
export interface BootSource {
  readonly readFile: (path: string) => string;
  readonly run: (program: string, words: readonly string[]) => string;
}

const MACHINE: BootSource = {
  readFile: (path) => readFileSync(path, "utf8"),
  run: (program, words) => execFileSync(program, words, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }),
};

/**
 * The ID of this boot of the machine; empty where the system has none. Without it, a machine that was off for a night
 * looks like one whose clock jumped, if its uptime is already longer than it was at the last reading.
 */
export function bootOf(platform: NodeJS.Platform, { readFile, run }: BootSource = MACHINE): string {
  try {
    if (platform === "darwin") return run("/usr/sbin/sysctl", ["-n", "kern.bootsessionuuid"]).trim();
    return readFile("/proc/sys/kernel/random/boot_id").trim();
  } catch {
    return "";
  }
}

/** Read once for a process, and only by one that reads the clocks: macOS needs a process for it. */
let boot: string | null = null;
const bootNow = (): string => (boot ??= bootOf(process.platform));

const readClocks = clockReader({ wall: () => Date.now(), uptime, monotonic: () => performance.now() });
