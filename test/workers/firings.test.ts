/** When the supervisor of a store fires schedules, with a test clock and a test pool. */
import { describe, expect, test } from "vitest";
import { type VirtualClock, virtualClock } from "../../src/adapters/memory/clock.ts";
import type { SupervisorEvent } from "../../src/ports/supervisor-events.ts";
import type { ScheduledAgent } from "../../src/ports/supervision.ts";
import { type Firings, firingsOf } from "../../src/workers/firings.ts";
import type { TaskEnd, Worker } from "../../src/workers/workers.ts";
import { firingTimes } from "../../src/features/schedules/firing-times.ts";
import type { Task } from "../../src/protocol/chain.ts";
import type { FiringOutcome } from "../../src/protocol/firing.ts";

const HOUR = 3_600_000;
const NOON = Date.UTC(2026, 5, 1, 12);
const WORKER = {} as Worker;

interface Sent {
  readonly at: number;
  readonly watched: boolean;
  readonly end: (end: TaskEnd) => void;
}

interface ScheduleDriver {
  readonly clock: VirtualClock & { moveBack(moment: number): void };
  readonly events: SupervisorEvent[];
  readonly firings: Firings;
  /** The firing that is sent at that moment, or null. Every firing ends at once unless `isOpen`. */
  readonly look: (moment: number, isOpen?: boolean) => Sent | null;
}

const STARTED: FiringOutcome = { kind: "started", run: "lane-x" };
const answer = (outcome: FiringOutcome): TaskEnd => ({ kind: "answered", answer: { kind: "firing", outcome } });
const DIED: TaskEnd = { kind: "failed", how: "SIGKILL", error: null, hasDied: true };

const scheduleOf = (every: string, agent = "clerk"): ScheduledAgent => ({
  ...{ agent, tenant: "local" },
  ...firingTimes({ every, timezone: "UTC" }),
});

function scheduleDriver(...schedules: readonly ScheduledAgent[]): ScheduleDriver {
  let back = 0;
  const inner = virtualClock(NOON - HOUR);
  const clock = {
    ...inner,
    now: () => inner.now() - back,
    moveBack: (moment: number) => {
      back += inner.now() - back - moment;
    },
  };
  const events: SupervisorEvent[] = [];
  let sent: Sent | null = null;
  const firings = firingsOf(
    {
      ...{ schedules: () => schedules, clock, onProgress: () => undefined },
      onEvent: (event) => void events.push(event),
    },
    {
      run: (_, { task, onEnd }) => {
        const { at, watched } = task as Extract<Task, { readonly kind: "firing" }>;
        sent = { at, watched, end: onEnd };
      },
    },
  );
  const look = (moment: number, isOpen = false): Sent | null => {
    if (moment > clock.now()) inner.moveTo(moment + back);
    const due = firings.next();
    if (due === null) return null;
    firings.start(WORKER, due);
    const found = sent;
    if (!isOpen) found?.end(answer(STARTED));
    return found;
  };
  return { clock, events, firings, look };
}

describe("a supervisor that starts", () => {
  test("fires the latest time as unwatched, for the store to judge, and then each time as it comes", () => {
    const { look } = scheduleDriver(scheduleOf("rate(1 hour)"));
    expect(look(NOON + 1)).toMatchObject({ at: NOON, watched: false });
    expect(look(NOON + HOUR - 1)).toBeNull();
    expect(look(NOON + HOUR)).toMatchObject({ at: NOON + HOUR, watched: true });
    expect(look(NOON + HOUR)).toBeNull();
  });

  test("fires nothing before a schedule's first time, and then watches the schedule", () => {
    const { look } = scheduleDriver(scheduleOf("at(2026-06-01T13:00:00)"));
    expect(look(NOON)).toBeNull();
    expect(look(NOON + HOUR)).toMatchObject({ at: NOON + HOUR, watched: true });
    expect(look(NOON + 99 * HOUR)).toBeNull();
  });
});

describe("a supervisor", () => {
  test("fires only the latest time after its machine was suspended", () => {
    const { look } = scheduleDriver(scheduleOf("rate(5 minutes)"));
    look(NOON);
    expect(look(NOON + 9 * HOUR + 1)).toMatchObject({ at: NOON + 9 * HOUR });
    expect(look(NOON + 9 * HOUR + 2)).toBeNull();
  });

  test("fires one time of a schedule at a time, and the next after the end of that firing", () => {
    const { look } = scheduleDriver(scheduleOf("rate(1 hour)"), scheduleOf("rate(2 hours)", "other"));
    const first = look(NOON, true);
    expect(look(NOON)).toMatchObject({ at: NOON });
    expect(look(NOON + HOUR)).toBeNull();
    first?.end(answer(STARTED));
    expect(look(NOON + HOUR)).toMatchObject({ at: NOON + HOUR });
  });

  test("repeats and reports a failed firing until a newer time replaces it", () => {
    const { look, events } = scheduleDriver(scheduleOf("rate(1 hour)"));
    look(NOON, true)?.end(DIED);
    expect(events).toEqual([{ kind: "firingFailed", agent: "clerk", at: NOON, how: "SIGKILL", error: null }]);
    expect(look(NOON + 59_999)).toBeNull();
    const again = look(NOON + 60_000, true);
    expect(again).toMatchObject({ at: NOON, watched: false });
    again?.end(DIED);
    expect(look(NOON + HOUR)).toMatchObject({ at: NOON + HOUR });
    expect(look(NOON + HOUR + 120_000)).toBeNull();
  });

  test("retries a firing when the decision of another firing must be over", () => {
    const { look, events } = scheduleDriver(scheduleOf("rate(1 hour)"));
    look(NOON, true)?.end(answer({ kind: "held", until: NOON + 2_000 }));
    expect(events).toMatchObject([{ kind: "fired", outcome: { kind: "held" } }]);
    expect(look(NOON + 1_999)).toBeNull();
    expect(look(NOON + 2_000)).toMatchObject({ at: NOON });
    expect(look(NOON + 3_000)).toBeNull();
  });

  test("fires at the present times after its clock jumped ahead and back", () => {
    const { look, clock } = scheduleDriver(scheduleOf("rate(1 hour)"));
    look(NOON);
    expect(look(NOON + 9_000 * HOUR)).toMatchObject({ at: NOON + 9_000 * HOUR });
    clock.moveBack(NOON + 1_000);
    expect(look(NOON + 1_000)).toBeNull();
    expect(look(NOON + HOUR)).toMatchObject({ at: NOON + HOUR });
  });

  test("does not wait for the old time when its clock is put back before a repetition", () => {
    const { look, clock } = scheduleDriver(scheduleOf("rate(1 hour)"));
    look(NOON);
    look(NOON + HOUR, true)?.end(DIED);
    look(NOON + HOUR + 1);
    clock.moveBack(NOON + 1_000);
    expect(look(NOON + 1_000)).toMatchObject({ at: NOON });
    expect(look(NOON + HOUR)).toMatchObject({ at: NOON + HOUR });
  });

  test("fires a schedule that is added later", () => {
    const known: ScheduledAgent[] = [];
    const clock = virtualClock(NOON);
    const firings = firingsOf(
      { schedules: () => known, clock, onEvent: () => undefined, onProgress: () => undefined },
      { run: () => undefined },
    );
    expect(firings.next()).toBeNull();
    known.push(scheduleOf("rate(1 hour)"));
    expect(firings.next()).toMatchObject({ agent: "clerk", at: NOON });
  });
});
