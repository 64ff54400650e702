/** The bucket's lifecycle rules fit the retention options of agents and the rules of S3. */
import { expect, test } from "vitest";
import { LIFECYCLE_RULES, type LifecycleRule } from "../../infra/retention.ts";
import { ARCHIVES, ARCHIVE_TIERS } from "../../src/core/policy/retention.ts";
import { RUNS, archiveKey } from "../../src/history/object-keys.ts";

const OF = { run: `local-${"a".repeat(26)}`, born: "b".repeat(10) };

const expiryOf = (key: string): readonly number[] =>
  LIFECYCLE_RULES.flatMap(({ prefix, expirationDays, objectSizeGreaterThan }) =>
    key.startsWith(prefix) && expirationDays !== undefined && objectSizeGreaterThan === undefined
      ? [expirationDays]
      : [],
  );

test("each archive expires with its tier by one rule, whatever its size", () => {
  for (const tier of ARCHIVE_TIERS) expect(expiryOf(archiveKey(OF, tier))).toEqual([ARCHIVES[tier].days]);
});

test("no object of a run expires by its age, since a chat may live longer than any number of days", () => {
  expect(expiryOf(`${RUNS}local/x/y/snapshots/0`)).toEqual([]);
});

test("an object changes its storage class only after, and for at least, the minimum billed time", () => {
  const billedDays = { STANDARD_IA: 30, GLACIER_IR: 90 };
  const moving = LIFECYCLE_RULES.filter((rule): rule is LifecycleRule & Required<Pick<LifecycleRule, "transition">> =>
    Boolean(rule.transition),
  );
  expect(moving.map(({ transition }) => transition.storageClass)).toEqual(["STANDARD_IA", "GLACIER_IR"]);
  for (const { prefix, transition, objectSizeGreaterThan = 0 } of moving) {
    const [expires = 0] = expiryOf(prefix);
    expect(expires).toBeGreaterThanOrEqual(transition.days + billedDays[transition.storageClass]);
    expect(objectSizeGreaterThan).toBeGreaterThanOrEqual(128 * 1024);
    if (transition.storageClass === "STANDARD_IA") expect(transition.days).toBeGreaterThanOrEqual(30);
  }
});

test("no two rules share a name", () => {
  expect(new Set(LIFECYCLE_RULES.map(({ id }) => id)).size).toBe(LIFECYCLE_RULES.length);
});
