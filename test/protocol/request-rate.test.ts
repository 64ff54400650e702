import fc from "fast-check";
import { expect, test } from "vitest";
import { type UsedRequests, decideRequests } from "../../src/protocol/request-rate.ts";

const NOW = 1_700_000_000_400;

test("a second and a minute of the clock take as many requests as their limits say", () => {
  const limits = { requestsPerSecond: 3, requestsPerMinute: 5 };
  const first = decideRequests(null, { count: 4, now: NOW, limits });
  expect({ accepted: first.accepted, retryAt: first.retryAt }).toEqual({ accepted: 3, retryAt: 1_700_000_001_000 });
  const second = decideRequests(first.next, { count: 4, now: NOW + 1_000, limits });
  // 1,700,000,000 seconds are 20 seconds after the minute.
  expect({ accepted: second.accepted, retryAt: second.retryAt }).toEqual({ accepted: 2, retryAt: 1_700_000_040_000 });
  expect(decideRequests(second.next, { count: 1, now: 1_700_000_040_000, limits }).accepted).toBe(1);
});

test("no second and no minute takes more, however requests come", () => {
  const limits = { requestsPerSecond: 4, requestsPerMinute: 20 };
  const step = fc.record({ count: fc.integer({ min: 1, max: 6 }), afterMs: fc.integer({ min: 0, max: 700 }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const perSecond = new Map<number, number>();
      const perMinute = new Map<number, number>();
      let [now, used]: [number, UsedRequests | null] = [NOW, null];
      for (const { count, afterMs } of steps) {
        now += afterMs;
        const decided = decideRequests(used, { count, now, limits });
        used = decided.next;
        const [second, minute] = [Math.floor(now / 1_000), Math.floor(now / 60_000)];
        perSecond.set(second, (perSecond.get(second) ?? 0) + decided.accepted);
        perMinute.set(minute, (perMinute.get(minute) ?? 0) + decided.accepted);
        if (decided.accepted < count) expect(decided.retryAt).toBeGreaterThan(now);
      }
      expect(Math.max(0, ...perSecond.values())).toBeLessThanOrEqual(4);
      expect(Math.max(0, ...perMinute.values())).toBeLessThanOrEqual(20);
    }),
  );
});

test("a clock that goes back opens no earlier second", () => {
  const limits = { requestsPerSecond: 1 };
  const { next } = decideRequests(null, { count: 1, now: NOW, limits });
  expect(decideRequests(next, { count: 1, now: NOW - 5_000, limits }).accepted).toBe(0);
});
