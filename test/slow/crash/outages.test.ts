/**
 * Stores that are away for an hour, from each point of each scenario on: requests are lost, or their answers are, or
 * nothing is heard at all. The run
 * waits and comes to the same as without an outage: it does not fail, no effect is doubled, no model call is uncounted, and
 * no death is counted. `npm run crash -- --outages` plays every one.
 */
import { expect, test } from "vitest";
import { assertNoViolations } from "../../support/gate/safety.ts";
import { everyOutage, inWords } from "./enumerate.ts";
import { OUTAGE_STORES } from "./plan.ts";
import { playScene } from "./play.ts";
import { sampled } from "../../support/gate/stride.ts";
import { ENUMERATION_TIMEOUT } from "../../support/harness/timeouts.ts";

/** Each kind of outage from one in so many points. */
const STRIDE = sampled(36, 9);

test.each([
  ["the scene of every effect", {}],
  ["a run that has to stop", { stops: true }],
  ["a run whose context gets too long", { compacts: true }],
  ["a run that commits no plan before harmless calls", { dialled: 1 }],
  ["a run that compensates and restarts", { saga: "fails" }],
  ["a run that is cancelled and compensates", { saga: "cancelled" }],
] as const)("%s survives an hour without a store, wherever it begins", async (_, scene) => {
  const { found, reached, histories } = await everyOutage({ ...scene, stride: STRIDE });
  assertNoViolations(inWords(found));
  expect(histories).toBeGreaterThan(180 / STRIDE);
  for (const point of ["table.claim", "table.commit", "objects.put", "objects.get"])
    expect(reached).toContain(`${point} away`);
});

test(
  "an outage shows in the row while the table responds, and is cleared by the next checkpoint",
  ENUMERATION_TIMEOUT,
  async () => {
    const { rows } = await playScene({ outage: { at: 40, store: "objects", kind: "requests" } });
    const waiting = rows.filter(({ storeOutage }) => storeOutage !== null);
    expect(new Set(waiting.map(({ storeOutage }) => storeOutage?.store))).toEqual(new Set(["objects"]));
    const pauses = waiting.flatMap(({ wakeAt }) => wakeAt ?? []).map((at, index, all) => at - (all[index - 1] ?? at));
    expect(Math.max(...pauses)).toBeGreaterThan(60_000);
    expect(rows.at(-1)).toMatchObject({ storeOutage: null, status: "completed", deaths: 0, takeovers: 0 });
    expect(OUTAGE_STORES).toContain("objects");
  },
);
