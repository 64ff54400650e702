/** Inbox items hold what senders wrote: they go as soon as it is committed, and are taken in only by who can redact them. */
import { expect, test } from "vitest";
import { virtualClock } from "../../../src/adapters/memory/clock.ts";
import { memoryWorld } from "../../../src/adapters/memory/world.ts";
import type { Secrets } from "../../../src/ports/secrets.ts";
import { StoreUnreachable } from "../../../src/ports/world.ts";
import { transcript } from "../../../src/operations/views.ts";
import { AT } from "../../support/build.ts";
import { begin } from "../../support/drive.ts";
import { OVER, type Stage, actor, callsThenOver, chainedStage, rowOf } from "../../support/stage.ts";
import { meeting, playOut, step } from "../../support/steps.ts";

const RAW = "use t0ps3cret, and password=hunter2hunter2";

/** As a process writes it that knows no secrets. */
async function deliverRaw({ world, clock }: Stage, run: string): Promise<void> {
  const { born, deadline } = world.store.rows.get(run) ?? { born: "", deadline: 0 };
  const body = { kind: "user", text: RAW, by: "ann" } as const;
  const message = { id: "raw", sentAt: clock.now(), body };
  await world.table.deliver({ run, born, message, now: clock.now(), deadline });
}

const isRaw = ({ world }: Stage): boolean => JSON.stringify([...world.store.messages.values()]).includes("hunter2");

const heard = async ({ world }: Stage, run: string): Promise<string> => JSON.stringify(await transcript(world, run));

test("an item is gone after the commit that took it in, and a beat without messages deletes nothing", async () => {
  const on = chainedStage();
  const deletions: (readonly string[])[] = [];
  const world = meeting(on.world, "clearInbox", (clear) => async (of) => {
    deletions.push(of.ids);
    await clear(of);
  });
  const agent = actor({ reply: callsThenOver(3) });
  const { run } = await begin(on.world, agent, {});
  await step(on, agent, world);
  expect(deletions).toEqual([]);
  await deliverRaw(on, run);
  expect(isRaw(on)).toBe(true);
  await step(on, agent, world);
  expect(rowOf(on, run).status).toBe("running");
  expect(deletions).toEqual([["raw"]]);
  expect(isRaw(on)).toBe(false);
  expect(await heard(on, run)).toContain("password=[redacted password]");
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject({ status: "completed", endNotified: true });
});

test("a deletion that fails is left to the next invocation, and the commit stands", async () => {
  const on = chainedStage();
  const away = async (): Promise<never> => {
    throw new StoreUnreachable("the table is away");
  };
  const agent = actor({ reply: callsThenOver(3) });
  const { run } = await begin(on.world, agent, {});
  await deliverRaw(on, run);
  await step(
    on,
    agent,
    meeting(on.world, "clearInbox", () => away),
  );
  expect(isRaw(on)).toBe(true);
  await step(on, agent);
  expect(isRaw(on)).toBe(false);
  expect((await heard(on, run)).split("password=").length).toBe(2);
});

test("a message waits while secrets cannot be read, and is redacted when they can", async () => {
  const clock = virtualClock(AT);
  let isAway = false;
  const get: Secrets["get"] = async () => {
    if (isAway) throw new StoreUnreachable("the parameters are away");
    return { kind: "found", value: "t0ps3cret" };
  };
  const secrets: Secrets = { get, declare: async () => {}, declared: async () => ["TOKEN"] };
  const { limits } = chainedStage().world;
  const world = memoryWorld({ clock, limits, secrets });
  const on: Stage = { world, clock, wakes: [] };
  const agent = actor({ reply: () => OVER });
  const { run } = await begin(world, agent, {});
  await deliverRaw(on, run);
  isAway = true;
  // Long enough that what was read before counts no more.
  clock.moveTo(clock.now() + 2 * 3_600_000);
  await step(on, agent);
  expect(isRaw(on)).toBe(true);
  expect(await heard(on, run)).not.toContain("hunter2");
  expect(await heard(on, run)).not.toContain("t0ps3cret");
  isAway = false;
  clock.moveTo(clock.now() + 120_000);
  await playOut(on, agent);
  expect(rowOf(on, run).status).toBe("completed");
  expect(await heard(on, run)).toContain("use [secret TOKEN], and password=[redacted password]");
  expect(isRaw(on)).toBe(false);
});
