/** How often a supervisor looks for work, in virtual time. */
import { expect, test } from "vitest";
import { virtualClock } from "../../src/adapters/memory/clock.ts";
import { beginLooks, sweeper } from "../../src/workers/looks.ts";
import type { Work } from "../../src/workers/worker-process.ts";

/** A supervisor that finds nothing, unless the test says so. */
function scene(canWatch = true) {
  const clock = virtualClock(0);
  const of = { looks: 0, restMs: 60_000 as number | null, change: () => {}, isWatching: false, isAway: false };
  const looks = beginLooks({
    clock,
    look: () => {
      of.looks += 1;
    },
    restsFor: () => {
      if (of.isAway) throw new Error("the store does not answer");
      return of.restMs;
    },
    watch: (onChange) => {
      if (!canWatch) return null;
      of.change = onChange;
      of.isWatching = true;
      return () => {
        of.isWatching = false;
      };
    },
  });
  /** How often it looks in so many milliseconds. */
  const looksIn = (ms: number): number => {
    const [before, until] = [of.looks, clock.now() + ms];
    for (let next = clock.next(); next !== null && next <= until; next = clock.next()) clock.moveTo(next);
    clock.moveTo(until);
    return of.looks - before;
  };
  return { of, looks, looksIn, turn: () => new Promise((resolve) => void setImmediate(resolve)) };
}

test("polls while it works, and looks twice a second once nothing was out for two seconds", () => {
  const { of, looksIn } = scene();
  expect(looksIn(2_000)).toBeGreaterThan(75);
  expect(looksIn(60_000)).toBeLessThanOrEqual(121);
  of.restMs = null;
  looksIn(500);
  expect(looksIn(1_000)).toBe(40);
});

test("looks at once when the store says that it changed, and when the next thing is due", async () => {
  const { of, looksIn, turn } = scene();
  looksIn(10_000);
  const before = of.looks;
  of.change();
  of.change();
  await turn();
  expect(of.looks).toBe(before + 1);
  of.restMs = 120;
  looksIn(600);
  const asleep = of.looks;
  looksIn(240);
  expect(of.looks - asleep).toBe(2);
});

test("never sleeps where no word of a change comes, and neither looks nor watches once it is stopped", async () => {
  expect(scene(false).looksIn(10_000)).toBeGreaterThan(380);
  const { of, looks, looksIn, turn } = scene();
  looksIn(10_000);
  looks.soon();
  looks.stop();
  await turn();
  const { looks: before } = of;
  looksIn(10_000);
  expect({ looks: of.looks, isWatching: of.isWatching }).toEqual({ looks: before, isWatching: false });
});

test("goes on looking where the store does not say what is due, and sleeps again after it", () => {
  const { of, looksIn } = scene();
  looksIn(10_000);
  of.isAway = true;
  looksIn(500);
  expect(looksIn(1_000)).toBe(40);
  of.isAway = false;
  looksIn(3_000);
  expect(looksIn(60_000)).toBeLessThanOrEqual(121);
});

test("a sweeper says when its last sweep ended, how many runs that judged, and when the next one begins", () => {
  const clock = virtualClock(1_000);
  const works: Work[] = [];
  const sweep = sweeper(
    { clock, onEvent: () => {}, onProgress: () => {} },
    { run: (_, work) => void works.push(work) },
  );
  expect(sweep.seen(3_000)).toEqual({ lastAt: null, judged: null, nextAt: 3_000 });
  sweep.start({ identity: { pid: 1 } });
  clock.moveTo(1_500);
  works[0]?.onEnd({ kind: "answered", answer: { kind: "sweep", judged: 4 } });
  expect(sweep.seen(0)).toEqual({ lastAt: 1_500, judged: 4, nextAt: 61_000 });
  sweep.start({ identity: { pid: 1 } });
  works[1]?.onEnd({ kind: "failed", how: "it died", error: null, hasDied: true });
  expect(sweep.seen(0)).toMatchObject({ lastAt: 1_500, judged: null });
});
