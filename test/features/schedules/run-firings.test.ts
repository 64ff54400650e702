/** What a run knows of the firing that started it: in its state, its tools, its instructions and its first message. */
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineAgent, tool } from "../../../src/index.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import { CERTAIN_MS, LATE_MS } from "../../../src/protocol/firing.ts";
import { forkRun } from "../../../src/operations/fork.ts";
import { pauseSchedule, runScheduleNow } from "../../../src/operations/steer-schedule.ts";
import { show } from "../../../src/operations/views.ts";
import { scriptedModel } from "../../../src/sdk/scripted.ts";
import { drive, runnerOf } from "../../support/harness/drive.ts";
import {
  type ScheduleHarness,
  createScheduleHarness,
  lastFullHour,
  scheduledAgent,
} from "../../support/harness/schedule-harness.ts";
import { MS } from "../../support/harness/harness.ts";

const firingIn = async (of: ScheduleHarness, at: number) => (await show(of.world, of.runOf(at)))?.firing;

const known = (dueAt: number, previousDueAt: number | null, makesUp = false) => ({
  ...{ schedule: "actor", dueAt, previousDueAt, makesUp },
});

/** Delivers the firing in time. */
async function inTime(of: ScheduleHarness, at: number): Promise<void> {
  of.harness.clock.moveTo(at);
  await of.fire(at);
}

describe("the firing of a run", () => {
  test("has the time it was due and that of the run before, not of a firing that was skipped", async () => {
    const of = createScheduleHarness(scheduledAgent());
    const at = lastFullHour(of) + MS.hour;
    await inTime(of, at);
    await inTime(of, at + MS.hour);
    of.end(of.runOf(at));
    await inTime(of, at + 2 * MS.hour);
    expect(await firingIn(of, at)).toEqual(known(at, null));
    expect(of.created).toEqual([of.runOf(at), of.runOf(at + 2 * MS.hour)]);
    expect(await firingIn(of, at + 2 * MS.hour)).toEqual(known(at + 2 * MS.hour, at));
  });

  test("makes up for a missed time if it comes late, or from before the scheduler ran", async () => {
    const of = createScheduleHarness(scheduledAgent({ overlap: "allow" }));
    const at = lastFullHour(of) + MS.hour;
    await inTime(of, at);
    of.harness.clock.moveTo(at + MS.hour + LATE_MS);
    await of.fire(at + MS.hour);
    of.harness.clock.moveTo(at + 2 * MS.hour + LATE_MS + 1);
    await of.fire(at + 2 * MS.hour);
    of.harness.clock.moveTo(at + 3 * MS.hour + 1);
    await of.fire(at + 3 * MS.hour, { watched: false });
    expect(await firingIn(of, at + MS.hour)).toEqual(known(at + MS.hour, at));
    expect(await firingIn(of, at + 2 * MS.hour)).toEqual(known(at + 2 * MS.hour, at + MS.hour, true));
    expect(await firingIn(of, at + 3 * MS.hour)).toEqual(known(at + 3 * MS.hour, at + 2 * MS.hour, true));
  });

  test("is the same when its process dies before it starts the run, and the next firing starts it", async () => {
    const of = createScheduleHarness(scheduledAgent({ overlap: "allow" }));
    const at = lastFullHour(of) + MS.hour;
    await inTime(of, at);
    of.harness.clock.moveTo(at + MS.hour + LATE_MS + 1);
    const create = () => Promise.reject(new Error("the process died"));
    const world = { ...of.world, table: { ...of.world.table, create } };
    await expect(of.fire(at + MS.hour, { world })).rejects.toThrow("the process died");
    expect(await show(of.world, of.runOf(at + MS.hour))).toBeNull();
    of.lapse();
    await inTime(of, at + 2 * MS.hour);
    expect(await firingIn(of, at + MS.hour)).toEqual(known(at + MS.hour, at, true));
    expect(await firingIn(of, at + 2 * MS.hour)).toEqual(known(at + 2 * MS.hour, at + MS.hour));
  });

  test("names none before it where it is not known any more whether that one started a run", async () => {
    const of = createScheduleHarness(scheduledAgent({ overlap: "allow" }));
    const at = lastFullHour(of) + MS.hour;
    await inTime(of, at);
    of.harness.clock.moveTo(at + MS.hour);
    const create = () => Promise.reject(new Error("the process died"));
    const world = { ...of.world, table: { ...of.world.table, create } };
    await expect(of.fire(at + MS.hour, { world })).rejects.toThrow("the process died");
    of.lapse();
    const later = at + MS.hour + CERTAIN_MS;
    await inTime(of, later);
    expect(of.harness.alarms).toMatchObject([{ what: "FiringUncertain", run: of.runOf(at + MS.hour) }]);
    expect(await firingIn(of, later)).toEqual(known(later, null));
  });

  test("is the start of a run by hand, after a pause too, and is not counted as one before", async () => {
    const agent = scheduledAgent({ overlap: "allow" });
    const of = createScheduleHarness(agent);
    const at = lastFullHour(of) + MS.hour;
    await inTime(of, at);
    const named = { agent, tenant: "lane", by: "ann" };
    await pauseSchedule(of.world, named, true);
    await inTime(of, at + MS.hour);
    await pauseSchedule(of.world, named, false);
    const byHand = await runScheduleNow(of.world, { ...named, key: "k" });
    if (byHand.kind !== "started") throw new Error(byHand.kind);
    expect((await show(of.world, byHand.row.run))?.firing).toEqual(known(at + MS.hour, at));
    await inTime(of, at + 2 * MS.hour);
    expect(await firingIn(of, at + 2 * MS.hour)).toEqual(known(at + 2 * MS.hour, at));
  });
});

test("tools, instructions and the first message have it, and a fork keeps it", async () => {
  const seen: Record<string, unknown> = {};
  const agent = {
    ...defineAgent({
      ...{ name: "actor", version: "1", task: z.object({}), loops: "ignore" as const },
      instructions: ({ firing }) => {
        seen["instructions"] = firing;
        return "Act.";
      },
      model: scriptedModel({
        name: "script",
        reply: ({ messages, calls }) => {
          seen["messages"] = JSON.stringify(messages[0]);
          return calls.length < 1 ? { calls: [{ tool: "act", args: {} }] } : { text: "over" };
        },
      }),
      tools: {
        act: tool({
          ...{ input: z.object({}), effect: "none" as const },
          run: ({ firing }) => void (seen["tool"] = firing),
        }),
      },
    }),
    schedule: scheduledAgent().schedule,
  } as Agent;
  const of = createScheduleHarness(agent);
  const at = lastFullHour(of) + MS.hour;
  await inTime(of, at);
  const run = of.runOf(at);
  const { born, chain, epoch } = of.harness.row(run);
  await drive(runnerOf(of.world, agent), { run, born, chain, epoch, agent: "actor" });
  expect(seen).toMatchObject({ tool: known(at, null), instructions: known(at, null) });
  expect(seen["messages"]).toContain(`The schedule actor started this run, due ${new Date(at).toISOString()}`);
  const forked = await forkRun(of.world, { run, at: 0, agent, key: null, by: "ann", confirmed: true });
  if (forked.kind !== "started") throw new Error(forked.kind);
  expect((await show(of.world, forked.row.run))?.firing).toEqual(known(at, null));
});
