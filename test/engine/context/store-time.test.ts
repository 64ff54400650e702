/** Store calls of an invocation that are not answered in time. */
import { expect, test } from "vitest";
import { seededRandom, virtualClock } from "../../../src/adapters/memory/clock.ts";
import { withKernel } from "../../../src/features/compose.ts";
import { memoryWorld } from "../../../src/adapters/memory/world.ts";
import { StoreTime } from "../../../src/engine/context/store-time.ts";
import type { World } from "../../../src/ports/world.ts";
import { limitsFor } from "../../../src/protocol/limits.ts";

const NOW = 1_700_000_000_000;
const LIMITS = limitsFor(6_000);

/** An invocation that begins now, in a world whose objects are silent. */
function beginInSilence() {
  const clock = virtualClock(NOW);
  const memory = withKernel(memoryWorld({ clock, limits: LIMITS, random: seededRandom("time") }));
  const asked: string[] = [];
  const silent = (key: string): Promise<never> => {
    asked.push(key);
    return new Promise(() => undefined);
  };
  const world: World = { ...memory, objects: { ...memory.objects, put: silent, get: silent } };
  const time = new StoreTime(world, { deadline: NOW + LIMITS.beatMs });
  /** What the call comes to, and what is left of the invocation then. */
  const outcomeOf = async (call: Promise<unknown>): Promise<readonly unknown[]> => {
    const settled = call.catch((error: unknown) => error);
    clock.moveTo(clock.next() ?? clock.now());
    return [await settled, NOW + LIMITS.beatMs - clock.now()];
  };
  return { clock, world, time, asked, outcomeOf };
}

test("a write that is not answered has an unknown outcome, and a read is refused", async () => {
  const { time, outcomeOf } = beginInSilence();
  const why = "the objects did not answer within the time of this invocation";
  const put = outcomeOf(time.world.objects.put("a", new Uint8Array()));
  expect(await put).toEqual([{ kind: "ambiguous", why }, LIMITS.drainMs / 2]);
  const refused = expect.objectContaining({ code: "StoreUnreachable", store: "the objects" });
  expect(await outcomeOf(time.world.objects.get("a"))).toEqual([refused, LIMITS.drainMs / 2]);
});

test("a release has time of its own", async () => {
  const { time, outcomeOf } = beginInSilence();
  time.beginRelease();
  expect((await outcomeOf(time.world.objects.get("a")))[1]).toBe(LIMITS.drainMs / 4);
});

test("a call after the last moment is sent, and is not waited for", async () => {
  const { clock, time, asked, outcomeOf } = beginInSilence();
  clock.moveTo(NOW + 2 * LIMITS.beatMs);
  expect((await outcomeOf(time.world.objects.get("late")))[1]).toBe(-LIMITS.beatMs);
  expect(asked).toEqual(["late"]);
});

test("an answer in time passes as it is, and leaves no timer behind", async () => {
  const { clock, time } = beginInSilence();
  expect(await time.world.table.read("no-such-run", NOW)).toBeNull();
  expect(clock.next()).toBeNull();
});

test("what a process knows of secrets is known under the same port", () => {
  const { world, time } = beginInSilence();
  expect(time.world.secrets).toBe(world.secrets);
  expect(time.world.sealKeys).toBe(world.sealKeys);
});

test("a record that a commit needs waits for a held store beyond the deadline, and not once its beat is over", async () => {
  const clock = virtualClock(NOW);
  const memory = withKernel(memoryWorld({ clock, limits: LIMITS, random: seededRandom("held") }));
  let heldUntil = NOW + 3 * LIMITS.beatMs;
  const why = "process 7 holds it";
  const records: World["records"] = {
    ...memory.records,
    add: async (record, now) =>
      clock.now() < heldUntil ? { kind: "ambiguous", why, isBusy: true } : memory.records.add(record, now),
  };
  const told: string[] = [];
  const holdOn = (said: string): boolean => told.push(said) > 0;
  const time = new StoreTime({ ...memory, records }, { deadline: NOW + LIMITS.beatMs, holdOn });
  const added = async (id: string): Promise<unknown> => {
    const record = { kind: "rate", about: "a", id, tenant: "t", at: NOW, body: {}, expiresAtSec: null } as const;
    const adding = time.world.records.add(record, clock.now());
    let outcome: unknown = null;
    void adding.then((said) => (outcome = said));
    for (let moves = 0; moves < 10_000 && outcome === null; moves += 1) {
      await new Promise<void>((resolve) => void setImmediate(resolve));
      clock.moveTo(clock.next() ?? clock.now());
    }
    return outcome;
  };
  time.mayHoldOn = () => true;
  expect(await added("one")).toEqual({ kind: "added" });
  expect(new Set(told)).toEqual(new Set([why]));
  time.mayHoldOn = () => false;
  heldUntil = Infinity;
  expect(await added("two")).toEqual({ kind: "ambiguous", why, isBusy: true });
});
