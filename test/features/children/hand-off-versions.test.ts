/** Late children whose agent was deployed again while they worked: the code of today says nothing about them. */
import { expect, test } from "vitest";
import { show } from "../../../src/operations/views.ts";
import { Till, payer, payingBoss } from "../../support/agents/payers.ts";
import { assertSafety } from "../../support/gate/safety.ts";
import { CHILD, deployed, tooLate, waiting } from "../../support/runs/late-child.ts";
import { beatOf, childrenOf, household, leaveOf, playAll, stateOf } from "../../support/runs/parent-steps.ts";
import { flushPromises } from "../../support/harness/harness.ts";

const paidOnce = (till: Till): void => assertSafety("paid once", () => expect(till.paid).toHaveLength(1));

test.each([
  ["another version", "2"],
  ["the same version", "1"],
])("a child has acted when its agent is deployed without its tools as %s; no other one is made", async (_, version) => {
  const till = new Till();
  const house = await waiting({ effect: "unsafe", till, fate: () => "hangs" });
  const { harness, agents, run, child } = house;
  const out = leaveOf(house, child);
  out.perform({ world: harness.world, agent: agents }).catch(() => undefined);
  for (let step = 0; step < 10; step += 1) await flushPromises();
  paidOnce(till);
  const after = deployed(house, version);
  await tooLate(after);
  expect(await stateOf(house, run)).toMatchObject({ children: [{ id: child, late: true }] });
  out.end(null);
  await playAll(after);
  expect(childrenOf(house)).toHaveLength(1);
  expect(await show(harness.world, run)).toMatchObject({ status: "blocked", unknown: [{ call: "c1" }] });
});

test("a late sub-boss whose worker runs an earlier version goes on as the same run, and no other one is made", async () => {
  const till = new Till();
  const middle = payingBoss({ name: "middle", task: payer({ effect: "none", till }).task as never });
  const child = { ...CHILD, agent: "middle", output: undefined as never, budget: { beats: 20 } };
  const root = payingBoss({ name: "root", child });
  const house = await household([root, middle, payer({ effect: "unsafe", till })]);
  await beatOf(house, house.run);
  await beatOf(house, house.run);
  const below = childrenOf(house)[0]?.run ?? "";
  await beatOf(house, below);
  await beatOf(house, below);
  expect(childrenOf(house, below)).toHaveLength(1);
  await tooLate(deployed(house, "2"));
  expect(await stateOf(house, house.run)).toMatchObject({ children: [{ id: below, dispatch: 2 }] });
  expect(childrenOf(house)).toHaveLength(1);
});
