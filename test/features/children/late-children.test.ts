/** Late children that may act outside: they go on as the same runs, under the same keys. */
import { expect, test } from "vitest";
import { show } from "../../../src/operations/views.ts";
import { renderChildren } from "../../../src/render/children.ts";
import { Till } from "../../support/agents/payers.ts";
import { freezeBeforeCall } from "../../support/harness/chain-steps.ts";
import {
  LATE_MS,
  SUCCEEDED,
  assertOnce,
  hangs,
  resultOf,
  settled,
  tooLate,
  waiting,
  waitsForItsRequest,
} from "../../support/runs/late-child.ts";

test("a child that hangs in a call of class keyed goes on at once with the same key", async () => {
  const till = new Till();
  const house = await waiting({ effect: "keyed", till, fate: (number) => (number === 0 ? "hangs" : "returns") });
  await hangs(house);
  await tooLate(house);
  const late = house.harness.clock.now();
  await house.runAttempt(house.child);
  expect(till.paid).toHaveLength(2);
  expect(house.harness.clock.now() - late).toBeLessThan(LATE_MS);
  await house.playAll();
  assertOnce(house, till, "keyed");
  expect(house.children()).toMatchObject([{ status: "completed", dispatch: 2, deaths: 0, takeovers: 0 }]);
  expect(await resultOf(house)).toEqual(SUCCEEDED);
});

test("a child that hangs in a call of class idempotent goes on once the earlier request can no longer land", async () => {
  await waitsForItsRequest("idempotent");
});

test("a process that was fenced commits nothing and acts no more", async () => {
  const till = new Till();
  const house = await waiting({ effect: "unsafe", till });
  const { harness, agents, child } = house;
  const frozen = freezeBeforeCall(harness.world, "commit");
  const out = house.startAttempt(child);
  const late = out.perform({ world: frozen.world, agent: agents });
  await settled();
  expect(till.paid).toEqual([]);
  await tooLate(house);
  frozen.thaw();
  out.end(await harness.advanceUntilSettled(late));
  expect(till.paid).toEqual([]);
  await house.playAll();
  assertOnce(house, till, "unsafe");
  expect(await resultOf(house)).toEqual(SUCCEEDED);
});

test("the list of children says which dispatch it is, and until when an earlier request may land", async () => {
  const till = new Till();
  const house = await waiting({ effect: "probed", till, fate: (number) => (number === 0 ? "lands late" : "returns") });
  await hangs(house);
  await tooLate(house);
  const shown = await show(house.harness.world, house.run);
  const now = house.harness.clock.now();
  const lines = renderChildren({ children: shown?.children ?? [] }, { now, paint: (_, text) => text, width: 200 });
  expect(lines.join("\n")).toMatch(/c1, dispatch 2/);
  expect(lines.join("\n")).toMatch(/an earlier request of it may still land, it is probed in \d/);
});
