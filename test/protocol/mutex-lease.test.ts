/** Who gets a named mutex lease, and what a message is whose id was delivered before. */
import { expect, test } from "vitest";
import { type MutexLease, storedMutexLease, decideMutexLease } from "../../src/protocol/mutex-lease.ts";
import { repetition } from "../../src/protocol/repetition.ts";

const NOW = 1_000;
const lease = (change: Partial<MutexLease> = {}): MutexLease => ({
  name: "sweep",
  owner: "ada",
  until: 2_000,
  now: NOW,
  ...change,
});
const before = lease({ cursor: "page 3" });

test("the lease of another owner holds until it expires", () => {
  const bob = (now: number) => decideMutexLease(before, lease({ owner: "bob", now }));
  expect(bob(1_999)).toEqual({ kind: "held", until: 2_000 });
  expect(bob(2_000)).toEqual({ kind: "taken", cursor: "page 3" });
});

test("an owner takes its own lease again before its end", () => {
  expect(decideMutexLease(before, lease({ now: 1_999 }))).toEqual({ kind: "taken", cursor: "page 3" });
});

test("a lease that was never taken is free, and starts without a cursor", () => {
  expect(decideMutexLease(null, lease())).toEqual({ kind: "taken", cursor: null });
});

test("an owner may renew only a lease that is still its own", () => {
  expect(decideMutexLease(before, lease({ again: true, now: 9_000 }))).toEqual({ kind: "taken", cursor: "page 3" });
  expect(decideMutexLease(before, lease({ again: true, owner: "bob", now: 9_000 }))).toEqual({
    kind: "held",
    until: 2_000,
  });
  expect(decideMutexLease(null, lease({ again: true }))).toEqual({ kind: "held", until: NOW });
});

test("the cursor stays unless the owner sets another, or none", () => {
  expect(storedMutexLease(before, lease()).cursor).toBe("page 3");
  expect(storedMutexLease(null, lease()).cursor).toBeNull();
  expect(storedMutexLease(before, lease({ cursor: "page 4" })).cursor).toBe("page 4");
  expect(storedMutexLease(before, lease({ cursor: null })).cursor).toBeNull();
});

test("a message conflicts only with a message that has another known text", () => {
  expect(repetition("a", "b")).toBe("conflict");
  for (const [kept, given] of [
    ["a", "a"],
    [null, "a"],
    ["a", null],
    [null, null],
  ] as const) {
    expect(repetition(kept, given)).toBe("duplicate");
  }
});
