/** The watchdog: when it looks, what it says, and what it does not touch. */
import { describe, expect, test } from "vitest";
import { virtualClock } from "../../../src/adapters/memory/clock.ts";
import { PHASE_NAMES, PHASES, type Phase } from "../../../src/core/phases.ts";
import { SOFT_IDLE_MS, WATCH_MS, watchPhase } from "../../../src/engine/model/watchdog.ts";
import { limitsFor } from "../../../src/protocol/limits.ts";
import { AT } from "../../support/states/states-and-events.ts";

function watching(of: { readonly hardMs?: number; readonly endsInMs?: number; readonly phase?: Phase } = {}) {
  const clock = virtualClock(AT);
  const told: string[] = [];
  const at = { phase: of.phase ?? ("AwaitingLLM" as Phase) };
  const stop = watchPhase(clock, {
    phase: () => at.phase,
    endsInMs: of.endsInMs ?? 600_000,
    hardMs: of.hardMs ?? null,
    onSoft: (phase, waitedMs) => told.push(`soft ${phase} ${waitedMs}`),
    onHard: (waitedMs) => told.push(`hard ${waitedMs}`),
  });
  return { clock, told, at, stop, pass: (ms: number) => clock.moveTo(clock.now() + ms) };
}

test("reports once that a run waits for its model, after 90 seconds", () => {
  expect({ SOFT_IDLE_MS, WATCH_MS }).toEqual({ SOFT_IDLE_MS: 90_000, WATCH_MS: 5_000 });
  const { told, pass } = watching();
  pass(89_999);
  expect(told).toEqual([]);
  pass(300_000);
  expect(told).toEqual(["soft AwaitingLLM 90000"]);
});

test.each([
  // By default a model call may take 45 seconds.
  [limitsFor(60_000).modelMs, 40_000],
  [112_500, 90_000],
  [100_000, 80_000],
  [7_000, null],
])("reports a wait of %s ms at the first look after 80 %% of it: at %s", (endsInMs, at) => {
  const { told, pass } = watching({ endsInMs });
  pass((at ?? endsInMs) - 1);
  expect(told).toEqual([]);
  pass(endsInMs);
  expect(told).toEqual(at === null ? [] : [`soft AwaitingLLM ${at}`]);
});

test("entering a phase restarts it", () => {
  const { told, pass, at } = watching();
  pass(60_000);
  at.phase = "ForceStop";
  pass(90_000);
  expect(told).toEqual([]);
  pass(5_000);
  expect(told).toEqual(["soft ForceStop 90000"]);
});

test.each(PHASE_NAMES.filter((phase) => !PHASES[phase].idle))(
  "%s bounds itself: not even the hard limit fires",
  (phase) => {
    const { told, pass } = watching({ phase, hardMs: 1_000 });
    pass(500_000);
    expect(told).toEqual([]);
  },
);

describe("the hard limit", () => {
  test("is off unless an agent sets it, and fires once", () => {
    const { told, pass } = watching({ hardMs: 120_000 });
    pass(500_000);
    expect(told).toEqual(["soft AwaitingLLM 90000", "hard 120000"]);
  });

  test("is found at the next poll", () => {
    const { told, pass } = watching({ hardMs: 7_000 });
    pass(9_999);
    expect(told).toEqual([]);
    pass(1);
    expect(told).toEqual(["hard 10000"]);
  });
});

test("leaves no timer, neither after a stop nor after the wait", () => {
  const { clock, stop, pass } = watching();
  pass(12_000);
  expect(clock.next()).not.toBeNull();
  stop();
  expect(clock.next()).toBeNull();
  const short = watching({ endsInMs: 4_000 });
  expect(short.clock.next()).toBeNull();
  const long = watching({ endsInMs: 11_000 });
  long.pass(10_000);
  expect(long.clock.next()).toBeNull();
});
