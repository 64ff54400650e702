/** A boss whose child is too late or hangs, and whose worker may be deployed again meanwhile. */
import { expect } from "vitest";
import type { Row } from "../../../src/protocol/row.ts";
import { show } from "../../../src/operations/views.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import { Till, payer, payingBoss } from "../agents/payers.ts";
import { assertSafety } from "../gate/safety.ts";
import { type Household, household } from "./parent-steps.ts";
import { flushPromises } from "../harness/harness.ts";

export const LATE_MS = 1_000;
export const CHILD = { tries: 3, deadlineMs: LATE_MS } as const;

/** The boss has dispatched its child and waits for it. */
export async function waiting(worker: Parameters<typeof payer>[0]): Promise<Household & { readonly child: string }> {
  const house = await household([payingBoss({ child: CHILD }), payer(worker)]);
  await house.runAttempt(house.run);
  await house.runAttempt(house.run);
  return { ...house, child: house.children()[0]?.run ?? "" };
}

export const tooLate = async (house: Household): Promise<void> => {
  house.harness.clock.moveTo(house.harness.clock.now() + LATE_MS);
  await house.runAttempt(house.run);
};

/** The same household, in whose processes the worker is deployed again with a tool that acts nowhere. */
export const deployed = <House extends Household>(house: House, version: string): House => {
  const harmless: Agent = { ...payer({ effect: "none", till: new Till() }), version };
  return { ...house, agents: house.agents.map((each) => (each.name === harmless.name ? harmless : each)) };
};

type LateHouse = Awaited<ReturnType<typeof waiting>>;

/** The part that the boss hands out. */
export const PART = '{"part":0}';
export const SUCCEEDED = [{ outcome: "succeeded", result: { memo: "paid" } }];

export const settled = async (): Promise<void> => {
  for (let step = 0; step < 20; step += 1) await flushPromises();
};

/** A process of the child hangs in its call. Returns what lets its chain know that it died. */
export async function hangs(house: LateHouse): Promise<() => void> {
  const out = house.startAttempt(house.child);
  out.perform({ world: house.harness.world, agent: house.agents }).catch(() => undefined);
  await settled();
  return () => out.end(null);
}

export const childOf = ({ harness, child }: LateHouse): Row => harness.row(child);

export const resultOf = async ({ harness, run }: Household): Promise<unknown> =>
  (await show(harness.world, run))?.result;

/** One payment under one key, by the one child of its boss. */
export function assertOnce(house: Household, till: Till, effect: Parameters<Till["effectsOf"]>[1]): void {
  assertSafety("paid once", () => {
    expect(till.effectsOf(PART, effect)).toBe(1);
    expect(new Set(till.paid.map(({ key }) => key)).size).toBe(1);
    expect(house.children()).toHaveLength(1);
  });
}

/** The first request of a child is on its way when the child goes on. It lands while the next process waits for it. */
export async function waitsForItsRequest(effect: "probed" | "idempotent"): Promise<void> {
  const till = new Till();
  const house = await waiting({ effect, till, fate: (number) => (number === 0 ? "lands late" : "returns") });
  const { harness, run, child } = house;
  const { settleMs } = harness.world.limits;
  await hangs(house);
  const lease = childOf(house).leaseUntil ?? 0;
  await tooLate(house);
  expect(childOf(house)).toMatchObject({ dispatch: 2, effectsSettleAt: lease });
  const [shown] = (await show(harness.world, run))?.children ?? [];
  await house.runAttempt(child);
  const { wakeAt, owner } = childOf(house);
  expect(owner).toBeNull();
  assertSafety("it waits until the request can no longer land", () => {
    expect(wakeAt).toBeGreaterThanOrEqual(lease + settleMs);
    expect(till.paid).toEqual([]);
  });
  expect(shown).toMatchObject({ dispatch: 2, settlesAt: wakeAt });
  expect(shown?.deadline).toBeGreaterThan(wakeAt ?? 0);
  for (const land of till.late) land();
  await house.playAll();
  assertOnce(house, till, effect === "probed" ? "unsafe" : effect);
  expect(await resultOf(house)).toEqual(SUCCEEDED);
}
