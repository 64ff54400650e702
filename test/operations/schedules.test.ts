/** Schedules: paused, resumed and started by hand, over the decisions of their firings. */
import { describe, expect, test } from "vitest";
import { listSchedules } from "../../src/operations/schedules.ts";
import { pauseSchedule, runScheduleNow } from "../../src/operations/steer-schedule.ts";
import { createScheduleHarness, lastFullHour, scheduledAgent } from "../support/harness/schedule-harness.ts";
import { MS } from "../support/harness/harness.ts";

const tenant = "lane";
const named = (agent = scheduledAgent()) => ({ agent, tenant, by: "ann" });

describe("a paused schedule", () => {
  test("starts nothing, does not make up for it, and goes on after a resume", async () => {
    const agent = scheduledAgent({ overlap: "allow" });
    const schedule = createScheduleHarness(agent);
    const { world } = schedule;
    const at = lastFullHour(schedule);
    expect(await pauseSchedule(world, named(agent), true)).toEqual({ kind: "paused" });
    expect(await pauseSchedule(world, named(agent), true)).toEqual({ kind: "same" });
    expect(await schedule.fire(at)).toEqual({ kind: "paused", by: "ann" });
    expect(schedule.created).toEqual([]);
    const catalogue = { agents: [agent], broken: [] };
    const { schedules } = await listSchedules(world, { catalogue, tenant, firingsOf: () => [at + MS.hour], now: at });
    expect(schedules).toMatchObject([{ paused: { by: "ann" }, next: [at + MS.hour], last: { at, stage: "passed" } }]);
    expect(await pauseSchedule(world, named(agent), false)).toEqual({ kind: "resumed" });
    expect(await pauseSchedule(world, named(agent), false)).toEqual({ kind: "same" });
    expect(await schedule.fire(at)).toEqual({ kind: "late" });
    expect(await schedule.fire(at + MS.hour)).toMatchObject({ kind: "started" });
  });
});

describe("a run by hand", () => {
  test("is one run for each key, beside the schedule and with its labels", async () => {
    const agent = scheduledAgent({ overlap: "allow", labels: { team: "ops" } });
    const schedule = createScheduleHarness(agent);
    const first = await runScheduleNow(schedule.world, { ...named(agent), key: "k" });
    const again = await runScheduleNow(schedule.world, { ...named(agent), key: "k" });
    expect(first).toMatchObject({ row: { brief: { labels: { team: "ops" } } } });
    expect({ first: first.kind, again: again.kind }).toEqual({ first: "started", again: "exists" });
    expect(await schedule.fire(lastFullHour(schedule))).toMatchObject({ kind: "started" });
    expect(schedule.created).toHaveLength(2);
  });

  test("is refused while the last scheduled run is alive and runs may not overlap", async () => {
    const agent = scheduledAgent();
    const schedule = createScheduleHarness(agent);
    const at = lastFullHour(schedule);
    await schedule.fire(at);
    const run = schedule.runOf(at);
    expect(await runScheduleNow(schedule.world, { ...named(agent), key: null })).toEqual({ kind: "overlaps", run });
    schedule.end(run);
    expect(await runScheduleNow(schedule.world, { ...named(agent), key: null })).toMatchObject({ kind: "started" });
  });

  test("needs an agent with a schedule", async () => {
    const { world } = createScheduleHarness(scheduledAgent());
    const plain = { ...scheduledAgent(), schedule: null };
    expect(await runScheduleNow(world, { ...named(plain), key: null })).toEqual({ kind: "notScheduled" });
    expect(await pauseSchedule(world, { ...named(), agent: null }, true)).toEqual({ kind: "agentUnknown" });
  });
});
