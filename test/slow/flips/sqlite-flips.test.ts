/** Bits of the file of an embedded store that flip while it is closed: each is harmless or named, and nothing goes on silently wrong. */
import { expect, test } from "vitest";
import { temporaryDir } from "../../process/fixtures/store.ts";
import { sampled } from "../../support/gate/stride.ts";
import { numberFrom, seedFor } from "../../support/gate/draws.ts";
import { type Observation, createFlipScenario, observe } from "../../support/faults/sqlite-flips.ts";

/** Numbers below `below`, drawn from the seed of this run of the tests. */
function* sample(count: number, below: number): Generator<number> {
  let state = numberFrom(seedFor("flips"));
  for (let index = 0; index < count; index += 1) {
    state = (state * 48_271) % 2_147_483_647;
    yield state % below;
  }
}

async function flips(count: number, check?: "none") {
  const scene = await createFlipScenario();
  const how = { scene, dir: temporaryDir(), ...(check !== undefined && { check }) };
  const whole = await observe({ ...how, bytes: scene.bytes });
  expect(whole.named).toEqual([]);
  expect(await observe({ ...how, bytes: scene.bytes })).toEqual(whole);
  const seen: { readonly bit: number; readonly seen: Observation }[] = [];
  for (const bit of sample(count, scene.bytes.length * 8)) {
    const bytes = Buffer.from(scene.bytes);
    bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    seen.push({ bit, seen: await observe({ ...how, bytes }) });
  }
  return { whole, seen };
}

const FLIPS = sampled(120, 2_000);
const UNCHECKED = sampled(30, 500);

test("each sampled flip is harmless or reported as damage when the file is checked at open", async () => {
  const { whole, seen } = await flips(FLIPS);
  const named = seen.filter((each) => each.seen.named.length > 0);
  const silent = seen.filter(
    ({ seen: { named: words, told, rows } }) =>
      // The row and its journal have checksums of their own.
      words.length === 0 && rows === whole.rows && JSON.stringify(told) !== JSON.stringify(whole.told),
  );
  expect(silent.map(({ bit }) => bit)).toEqual([]);
  // The rest are bits of pages that hold nothing.
  expect(named.length).toBeGreaterThan(FLIPS / 10);
  const atOpen = named.filter((each) => each.seen.named.includes("open: StoreDamaged"));
  expect(atOpen.length).toBeGreaterThan(FLIPS * 0.03);
});

test("no sampled flip leads to an error without a code when the file is too large for the check at open", async () => {
  const { seen } = await flips(UNCHECKED, "none");
  expect(seen.filter((each) => each.seen.named.length > 0).length).toBeGreaterThan(UNCHECKED * 0.06);
});
