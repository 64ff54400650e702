/** Inbox items hold what senders wrote: they go as soon as it is committed, and are taken in only by who can redact them. */
import { expect, test } from "vitest";
import { virtualClock } from "../../../src/adapters/memory/clock.ts";
import { withKernel } from "../../../src/features/compose.ts";
import { memoryWorld } from "../../../src/adapters/memory/world.ts";
import type { Secrets } from "../../../src/ports/secrets.ts";
import { StoreUnreachable } from "../../../src/ports/world.ts";
import { transcript } from "../../../src/operations/views.ts";
import { AT } from "../../support/states/states-and-events.ts";
import { beginRun } from "../../support/harness/drive.ts";
import {
  FINAL_REPLY,
  type Harness,
  scriptedAgent,
  callsThenFinal,
  createChainHarness,
  harnessOf,
} from "../../support/harness/harness.ts";
import { wrapTableCall } from "../../support/harness/chain-steps.ts";

const RAW = "use t0ps3cret, and password=hunter2hunter2";

/** As a process writes it that knows no secrets. */
async function deliverRaw({ world, clock }: Harness, run: string): Promise<void> {
  const { born, deadline } = world.store.rows.get(run) ?? { born: "", deadline: 0 };
  const body = { kind: "user", text: RAW, by: "ann" } as const;
  const message = { id: "raw", sentAt: clock.now(), body };
  await world.inbox.deliver({ run, born, message, now: clock.now(), deadline });
}

const isRaw = ({ world }: Harness): boolean => JSON.stringify([...world.store.messages.values()]).includes("hunter2");

const heard = async ({ world }: Harness, run: string): Promise<string> => JSON.stringify(await transcript(world, run));

test("an inbox item is deleted after the commit that absorbed it, and a beat without messages deletes nothing", async () => {
  const harness = createChainHarness();
  const deletions: (readonly string[])[] = [];
  const world = wrapTableCall(harness.world, "clear", (clear) => async (of) => {
    deletions.push(of.ids);
    await clear(of);
  });
  const agent = scriptedAgent({ reply: callsThenFinal(3) });
  const { run } = await beginRun(harness.world, agent, {});
  await harness.runAttempt(agent, world);
  expect(deletions).toEqual([]);
  await deliverRaw(harness, run);
  expect(isRaw(harness)).toBe(true);
  await harness.runAttempt(agent, world);
  expect(harness.row(run).status).toBe("running");
  expect(deletions).toEqual([["raw"]]);
  expect(isRaw(harness)).toBe(false);
  expect(await heard(harness, run)).toContain("password=[redacted password]");
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed", endNotified: true });
});

test("a failed deletion is repeated by the next invocation, and the commit stands", async () => {
  const harness = createChainHarness();
  const away = async (): Promise<never> => {
    throw new StoreUnreachable("the table is away");
  };
  const agent = scriptedAgent({ reply: callsThenFinal(3) });
  const { run } = await beginRun(harness.world, agent, {});
  await deliverRaw(harness, run);
  await harness.runAttempt(
    agent,
    wrapTableCall(harness.world, "clear", () => away),
  );
  expect(isRaw(harness)).toBe(true);
  await harness.runAttempt(agent);
  expect(isRaw(harness)).toBe(false);
  expect((await heard(harness, run)).split("password=").length).toBe(2);
});

test("a message waits while secrets cannot be read, and is redacted when they can be", async () => {
  const clock = virtualClock(AT);
  let isAway = false;
  const get: Secrets["get"] = async () => {
    if (isAway) throw new StoreUnreachable("the parameters are away");
    return { kind: "found", value: "t0ps3cret" };
  };
  const secrets: Secrets = { get, declare: async () => {}, declared: async () => ["TOKEN"] };
  const { limits } = createChainHarness().world;
  const world = withKernel(memoryWorld({ clock, limits, secrets }));
  const harness = harnessOf({ world, clock, wakes: [], alarms: [] });
  const agent = scriptedAgent({ reply: () => FINAL_REPLY });
  const { run } = await beginRun(world, agent, {});
  await deliverRaw(harness, run);
  isAway = true;
  // Long enough that what was read before counts no more.
  clock.moveTo(clock.now() + 2 * 3_600_000);
  await harness.runAttempt(agent);
  expect(isRaw(harness)).toBe(true);
  expect(await heard(harness, run)).not.toContain("hunter2");
  expect(await heard(harness, run)).not.toContain("t0ps3cret");
  isAway = false;
  clock.moveTo(clock.now() + 120_000);
  await harness.runUntilIdle(agent);
  expect(harness.row(run).status).toBe("completed");
  expect(await heard(harness, run)).toContain("use [secret TOKEN], and password=[redacted password]");
  expect(isRaw(harness)).toBe(false);
});
