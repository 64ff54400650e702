/** The sweeper's function over abandoned runs. The tests run one after another, because each sweep sees all runs. */
import { describe, expect, test } from "vitest";
import type { World } from "../../src/ports/world.ts";
import { decide } from "../../src/operations/decide.ts";
import { clerk } from "./fixtures/clerk.ts";
import {
  callsOf,
  dying,
  ended,
  invoke,
  keysOf,
  laneOf,
  nameOf,
  parked,
  rowOf,
  loseExecution,
  setAttribute,
  shown,
  started,
  statesOf,
  statusOf,
  sweep,
  until,
} from "./lane.ts";

const lane = laneOf("lane");
const ASK = { steps: [{ do: "ask", wrong: 0 }] };
const ORDER = { steps: [{ do: "order", wrong: 0 }] };

/** Sweeps until the assertion holds, because the sweeper leaves a run alone for some time after it moved. */
async function sweptUntil<T>(holds: () => Promise<T>): Promise<T> {
  return until(async () => {
    await sweep(lane);
    return holds();
  });
}

/** Sets the wake-up time of the run to the past. */
const timePasses = (run: string): Promise<void> => setAttribute(lane, run, { name: "wakeAt", value: 1 });

async function approved(world: World, run: string): Promise<void> {
  const [gate] = (await shown(lane, run)).gates;
  await decide(world, { run, gate: gate?.gate ?? "", as: "approve", args: null, by: "a test", note: null });
}

describe("the sweeper", () => {
  test("starts a run whose starting process died between row and execution", async () => {
    const row = await started({ world: dying(lane.world) }, { agent: clerk, input: ORDER });
    expect(await rowOf(lane, row.run)).toMatchObject({ status: "queued", epoch: 0 });
    await sweep(lane);
    expect(await ended(lane, row.run)).toMatchObject({ status: "completed" });
    expect(await rowOf(lane, row.run)).toMatchObject({ chain: 1, takeovers: 0 });
  });

  test("wakes a run whose sender died after the delivery", async () => {
    const row = await started(lane, { agent: clerk, input: ASK });
    await parked(lane, row.run);
    await approved(dying(lane.world), row.run);
    const { wakeCount, wakeCountSeen, park } = await rowOf(lane, row.run);
    expect(wakeCount).toBeGreaterThan(wakeCountSeen);
    expect(park).not.toBeNull();
    await sweep(lane);
    expect(await ended(lane, row.run)).toMatchObject({ status: "completed" });
    expect(await rowOf(lane, row.run)).toMatchObject({ chain: 1, takeovers: 0 });
  });

  test("hands over a run whose execution was lost while it waited", async () => {
    const row = await started(lane, { agent: clerk, input: ASK });
    const waiting = await parked(lane, row.run);
    await loseExecution(lane, waiting);
    // The token is dead by now, so the wake-up of the approval has no effect.
    await approved(lane.world, row.run);
    await timePasses(row.run);
    await sweptUntil(async () =>
      expect(await rowOf(lane, row.run)).toMatchObject({ chain: 2, takeovers: 0, deaths: 0 }),
    );
    expect(await ended(lane, row.run)).toMatchObject({ status: "completed" });
    expect((await keysOf(lane, row.run)).map(callsOf)).toEqual([1]);
    expect((await statesOf(lane, nameOf(row, 2)))[0]).toBe("Beat");
  });

  test("leaves a waiting run alone that can be woken", async () => {
    const row = await started(lane, { agent: clerk, input: ASK });
    const before = await parked(lane, row.run);
    await sweep(lane);
    await sweep(lane);
    expect(await rowOf(lane, row.run)).toEqual(before);
    expect(await statusOf(lane, nameOf(row, 1))).toBe("RUNNING");
    await approved(lane.world, row.run);
    await ended(lane, row.run);
  });

  test.each([
    ["whose processes died too often", "deaths", 1_000, "Abandoned"],
    ["that got no answer for as long as it may wait", "deadline", 1, "Expired"],
  ] as const)("ends a run without an execution %s", async (_, name, value, code) => {
    const row = await started(lane, { agent: clerk, input: ASK });
    const waiting = await parked(lane, row.run);
    await loseExecution(lane, waiting);
    await setAttribute(lane, row.run, { name, value });
    await timePasses(row.run);
    await sweptUntil(async () =>
      expect(await rowOf(lane, row.run)).toMatchObject({ phase: "Failed", endNotified: true }),
    );
    expect(await shown(lane, row.run)).toMatchObject({ failure: { code } });
    await expect(statusOf(lane, nameOf(row, 2))).rejects.toThrow(/does not exist/i);
  });
});

describe("a schedule", () => {
  const minutesAgo = (minutes: number): string => new Date(Date.now() - minutes * 60_000).toISOString();
  const firing = { agent: "clerk", tenant: "lane", scheduledTime: minutesAgo(2) };

  test("starts one run per firing, however often it is delivered, and none after a newer firing", async () => {
    const first = (await invoke(lane, "start", firing)) as { readonly kind: string; readonly run: string };
    expect(first.kind).toBe("started");
    expect(await invoke(lane, "start", firing)).toEqual({ ...first, kind: "exists" });
    expect(await ended(lane, first.run)).toMatchObject({ status: "completed" });
    expect((await keysOf(lane, first.run)).map(callsOf)).toEqual([1]);
    const next = { ...firing, scheduledTime: minutesAgo(1) };
    expect(await invoke(lane, "start", next)).toMatchObject({ kind: "started" });
    expect(await invoke(lane, "start", firing)).toEqual({ kind: "late" });
  });

  test("gets an error for a firing that cannot start", async () => {
    await expect(invoke(lane, "start", { ...firing, agent: "nobody" })).rejects.toThrow(
      "this deployment has no agent named nobody",
    );
    await expect(invoke(lane, "start", { ...firing, scheduledTime: "now" })).rejects.toThrow("not a time such as");
  });

  test("the search for orphans finds objects without a row and leaves young ones", async () => {
    const key = `runs/lane/lane-${"a".repeat(26)}/orphan/blobs/x`;
    await lane.world.objects.put(key, Buffer.from("x"));
    expect(await invoke(lane, "sweep", { kind: "orphans" })).toBeNull();
    expect(await lane.world.objects.get(key)).not.toBeNull();
  });
});
