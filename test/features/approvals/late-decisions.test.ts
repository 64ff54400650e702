/** A late child that its boss decided to take, and did not reach. */
import { expect, test } from "vitest";
import { dispatchIn } from "../../../src/protocol/row-fence.ts";
import { Till } from "../../support/agents/payers.ts";
import { freezeBeforeCall } from "../../support/harness/chain-steps.ts";
import {
  LATE_MS,
  SUCCEEDED,
  assertOnce,
  childOf,
  hangs,
  resultOf,
  settled,
  tooLate,
  waiting,
} from "../../support/runs/late-child.ts";

test("a boss is away for longer than the deadline between its decision and the request; its child still goes on", async () => {
  const till = new Till();
  const house = await waiting({ effect: "keyed", till, fate: (number) => (number === 0 ? "hangs" : "returns") });
  const { harness, agents, run } = house;
  await hangs(house);
  harness.clock.moveTo(harness.clock.now() + LATE_MS);
  const frozen = freezeBeforeCall(harness.world, "fenceChild");
  const out = house.startAttempt(run);
  out.perform({ world: frozen.world, agent: agents }).catch(() => undefined);
  await settled();
  out.end(null);
  expect(await house.state(run)).toMatchObject({ children: [{ dispatch: 2, isContinuing: true }] });
  expect(dispatchIn(childOf(house))).toBe(1);
  await tooLate(house);
  await house.runAttempt(run);
  expect(childOf(house)).toMatchObject({ dispatch: 3, cancel: false });
  expect(await house.state(run)).toMatchObject({ open: [{ heldBy: { continued: 1 } }] });
  await house.playAll();
  assertOnce(house, till, "keyed");
  expect(await resultOf(house)).toEqual(SUCCEEDED);
});
