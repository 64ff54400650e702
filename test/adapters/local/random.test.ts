/** Random digits from a pool that is filled again. */
import { expect, test } from "vitest";
import { randomHex } from "../../../src/adapters/local/random.ts";

test("no digits come twice, however often and in whatever lengths they are drawn", () => {
  const seen = new Set<string>();
  for (let draw = 0; draw < 3_000; draw += 1) {
    const digits = randomHex(draw % 3 === 0 ? 32 : 16);
    expect(digits).toMatch(/^([0-9a-f]{32}|[0-9a-f]{64})$/);
    for (const half of digits.match(/.{32}/g) ?? []) seen.add(half);
  }
  expect(seen.size).toBe(4_000);
});
