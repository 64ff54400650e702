/**
 * Timers with which a process judges others, such as "no answer in time".
 *
 * Schedule 230: a process is held up beyond the end of a timer: stopped by a signal, starved, or busy in one turn. When it
 * goes on, its timers run before it reads anything. So the answer that came in time lies unread in a pipe or socket while
 * its sender is judged as silent: a worker is killed, a call becomes unknown, a reply is paid for twice.
 *
 * So such a timer never judges before the process has polled once. If it fires late, the process also gets a moment to
 * read: as long as it was held up, and `READ_MS` at most. An answer may need several reads, and a thread that unpacks it.
 */
import type { Clock } from "./world.ts";

/** What the event loop of a process offers. */
export interface EventLoop {
  /** Calls it in the phase of timers, which comes before the process reads. */
  readonly start: (delayMs: number, call: () => void) => () => void;
  /** Calls it after the process has read what is there. */
  readonly poll: (call: () => void) => () => void;
  /** Milliseconds since some moment, which no one can set. */
  readonly count: () => number;
}

/** How long a process that was held up reads at most before it judges. */
const READ_MS = 100;
/** A timer that fires later than this shows that its process was held up. */
const HELD_UP_MS = 50;
/** The longest delay that a timer of Node keeps, 24.8 days. It fires a longer one at once, with a warning. */
const DELAY_MS_MAX = 2 ** 31 - 1;

/** The delay for a timer of Node: what is over by now fires at once, and without a warning on the user's screen. */
const delayFor = (ms: number): number => Math.min(Math.max(0, ms), DELAY_MS_MAX);

export const afterReading =
  ({ start, poll, count }: EventLoop): Clock["after"] =>
  (delayMs, call) => {
    const due = count() + delayMs;
    const judge = (): void => {
      forget = poll(call);
    };
    let forget = start(delayFor(delayMs), () => {
      const lateMs = count() - due;
      if (lateMs < HELD_UP_MS) judge();
      else forget = start(Math.min(lateMs, READ_MS), judge);
    });
    return () => forget();
  };
