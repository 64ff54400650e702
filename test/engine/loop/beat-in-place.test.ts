/** A beat in a place of its tenant: when it asks for one, and what is left of it. */
import { expect, test } from "vitest";
import { beatInPlace, type PlacesByTenant } from "../../../src/engine/loop/beat-in-place.ts";
import { StoreUnreachable, type World } from "../../../src/ports/world.ts";
import { runnerOf } from "../../support/harness/drive.ts";
import { startKeyedRun } from "../../support/harness/chain-steps.ts";
import { type Harness, createChainHarness, scriptedAgent } from "../../support/harness/harness.ts";

const PLACES = { kind: "rate", about: "tenant local", id: "places" } as const;
const placesIn = async ({ world, clock }: Harness) => (await world.records.get(PLACES, clock.now()))?.body ?? null;

/** The reply of the first beat of a run, or its error. */
async function firstBeat(harness: Harness, places: PlacesByTenant, change: Partial<World["records"]> = {}) {
  const { clock, limits } = harness.world;
  const agent = scriptedAgent({});
  await startKeyedRun(harness.world, { agent, key: "k" });
  const { task } = harness.startAttempt();
  if (task.kind !== "beat") throw new Error(`the chain asks for ${task.kind}`);
  const world = { ...harness.world, records: { ...harness.world.records, ...change } };
  const invocation = { deadline: clock.now() + limits.beatMs, drain: new AbortController().signal };
  return harness.advanceUntilSettled(beatInPlace(runnerOf(world, agent), places, { task, invocation }));
}

const outage = async (): Promise<never> => {
  throw new StoreUnreachable("away", { store: "the table" });
};

test("a beat of a tenant with a cap gives up its place when it is over", async () => {
  const harness = createChainHarness();
  const bodies: unknown[] = [];
  const { add } = harness.world.records;
  const note: typeof add = async (record, now) => {
    if (record.id === PLACES.id) bodies.push(record.body);
    return add(record, now);
  };
  expect((await firstBeat(harness, { local: 1 }, { add: note })).reply.route).toBe("beat");
  expect(bodies.map((body) => Object.values(body as object))).toMatchObject([[{ epoch: 0, retry: 0 }]]);
  expect(await placesIn(harness)).toEqual({});
});

test("a beat of a tenant without a cap asks for no place", async () => {
  const harness = createChainHarness();
  expect((await firstBeat(harness, { other: 1 })).reply.route).toBe("beat");
  expect(await placesIn(harness)).toBeNull();
});

test("an outage before a beat is one of the beat: its chain tries it again", async () => {
  await expect(firstBeat(createChainHarness(), { local: 1 }, { get: outage })).rejects.toThrow("away");
});

test("an outage after a beat changes nothing of its reply, and its place is free after a time", async () => {
  const harness = createChainHarness();
  expect((await firstBeat(harness, { local: 1 }, { replace: outage })).reply.route).toBe("beat");
  expect(Object.keys((await placesIn(harness)) as object)).toHaveLength(1);
});
