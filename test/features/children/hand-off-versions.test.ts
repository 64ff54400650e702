/** Late children whose agent was deployed again while they worked: the code of today says nothing about them. */
import { expect, test } from "vitest";
import { show } from "../../../src/operations/views.ts";
import { Till, payer, payingBoss } from "../../support/agents/payers.ts";
import { assertSafety } from "../../support/gate/safety.ts";
import { CHILD, deployed, tooLate, waiting } from "../../support/runs/late-child.ts";
import { household } from "../../support/runs/parent-steps.ts";
import { flushPromises } from "../../support/harness/harness.ts";

const paidOnce = (till: Till): void => assertSafety("paid once", () => expect(till.paid).toHaveLength(1));

test.each([
  ["another version", "2"],
  ["the same version", "1"],
])("a child has acted when its agent is deployed without its tools as %s; no other one is made", async (_, version) => {
  const till = new Till();
  const house = await waiting({ effect: "unsafe", till, fate: () => "hangs" });
  const { harness, agents, run, child } = house;
  const out = house.startAttempt(child);
  out.perform({ world: harness.world, agent: agents }).catch(() => undefined);
  for (let step = 0; step < 10; step += 1) await flushPromises();
  paidOnce(till);
  const after = deployed(house, version);
  await tooLate(after);
  expect(await house.state(run)).toMatchObject({ children: [{ id: child, late: true }] });
  out.end(null);
  await after.playAll();
  expect(house.children()).toHaveLength(1);
  expect(await show(harness.world, run)).toMatchObject({ status: "blocked", unknown: [{ call: "c1" }] });
});

test("a late sub-boss whose worker runs an earlier version goes on as the same run, and no other one is made", async () => {
  const till = new Till();
  const middle = payingBoss({ name: "middle", task: payer({ effect: "none", till }).task as never });
  const child = { ...CHILD, agent: "middle", output: undefined as never, budget: { beats: 20 } };
  const root = payingBoss({ name: "root", child });
  const house = await household([root, middle, payer({ effect: "unsafe", till })]);
  await house.runAttempt(house.run);
  await house.runAttempt(house.run);
  const below = house.children()[0]?.run ?? "";
  await house.runAttempt(below);
  await house.runAttempt(below);
  expect(house.children(below)).toHaveLength(1);
  await tooLate(deployed(house, "2"));
  expect(await house.state(house.run)).toMatchObject({ children: [{ id: below, dispatch: 2 }] });
  expect(house.children()).toHaveLength(1);
});
