/**
 * What a step costs the processor. Steps run beside each other, so their seconds on the clock say little; this says which
 * step to shorten.
 */
import { readFileSync } from "node:fs";

/** `/proc` counts in hundredths of a second on each architecture. */
const TICKS_PER_SECOND = 100;
/** The fields `cutime` and `cstime` of `proc_pid_stat(5)`, counted after the name, which ends at the last `)`. */
const [CUTIME, CSTIME] = [13, 14];

/**
 * A meter of the processes that this one started and that have ended, with their children. `lap()`: the seconds of those
 * that ended since the last lap, so ask at each `exit`; null where there is no `/proc`.
 */
export function cpuMeter(stat: () => string = () => readFileSync("/proc/self/stat", "utf8")) {
  let before = 0;
  return {
    lap: (): number | null => {
      const ticks = ticksIn(stat);
      if (ticks === null) return null;
      const seconds = (ticks - before) / TICKS_PER_SECOND;
      before = ticks;
      return seconds;
    },
  };
}

function ticksIn(stat: () => string): number | null {
  try {
    const text = stat();
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return Number(fields[CUTIME]) + Number(fields[CSTIME]);
  } catch {
    return null;
  }
}
