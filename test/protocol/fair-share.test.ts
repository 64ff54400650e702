/** The order in which tenants get places. */
import { expect, test } from "vitest";
import { type TenantShares, inFairOrder } from "../../src/protocol/fair-share.ts";

const waitingOf = (tenant: string, count: number, isBeat = true) =>
  Array.from({ length: count }, (_, index) => ({ tenant, isBeat, name: `${tenant}${index}` }));

const order = (
  waiting: Parameters<typeof inFairOrder>[0],
  { out = {}, shares = {}, max = 6 }: { out?: Record<string, number>; shares?: TenantShares; max?: number },
) =>
  inFairOrder(waiting, { out: new Map(Object.entries(out)), shares, max })
    .map(({ tenant }) => tenant)
    .join("");

test("the tenant with the fewest places is next, and equal ones take turns", () => {
  const waiting = [...waitingOf("a", 150), ...waitingOf("b", 3)];
  expect(order(waiting, {})).toBe("ababab");
  expect(order(waiting, { out: { a: 4 } })).toBe("bbbaaa");
});

test("weights share in proportion", () => {
  const waiting = [...waitingOf("a", 9), ...waitingOf("b", 9)];
  expect(order(waiting, { shares: { a: { weight: 2 } } })).toBe("abaaba");
});

test("other tasks than beats take no place", () => {
  const waiting = [...waitingOf("a", 3, false), ...waitingOf("b", 2), ...waitingOf("a", 1)];
  expect(order(waiting, {})).toBe("aaaabb");
});

test("a cap holds back beats of its tenant alone, and no other task", () => {
  const waiting = [...waitingOf("a", 9), ...waitingOf("a", 1, false), ...waitingOf("b", 1)];
  const shares = { a: { concurrency: 2 } };
  expect(order(waiting, { shares })).toBe("abaa");
  expect(order(waiting, { shares, out: { a: 2 } })).toBe("ba");
});
