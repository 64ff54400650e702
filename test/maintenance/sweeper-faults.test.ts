/** When a sweep dies at any of its calls, the next sweep brings the same result as one complete sweep. */
import { describe, expect, test } from "vitest";
import { runTask } from "../../src/maintenance/chain-tasks.ts";
import type { Row } from "../../src/protocol/row.ts";
import type { World } from "../../src/ports/world.ts";
import { timeline } from "../../src/operations/views.ts";
import { send } from "../../src/operations/steer.ts";
import { type Crash, dying, everyCrash } from "../support/crashing.ts";
import { dead, parked } from "../support/deserted.ts";
import { runnerOf } from "../support/drive.ts";
import { type Room, UNPARKED_MS, change, close, invocation, isTold, nameOf } from "../support/supervise.ts";
import { room, supervise, sweep, wait } from "../support/supervise.ts";
import { BEAT_MS, SKEW_MS, actor, rowOf } from "../support/stage.ts";

interface Scene {
  readonly on: Room;
  readonly run: string;
}

/** Plays a sweep that dies at that call, then further sweeps; returns true if the first one did not die. */
async function sweptAfter(scene: Scene, crash: Crash): Promise<boolean> {
  const { on } = scene;
  const isAlive = await dying(on.world, crash).survives((world) => sweepWith(on, world));
  for (let round = 0; round < 3; round += 1) {
    // The dead sweep's mutex lease has expired, and every run that it moved is overdue again.
    wait(on, Math.max(BEAT_MS + SKEW_MS, on.world.limits.overdueMs));
    await sweep(on);
  }
  return isAlive;
}

const sweepWith = (on: Room, world: World): Promise<unknown> =>
  runTask(runnerOf(world, actor({})))({ kind: "sweep" }, invocation(on));

const live = (on: Room): readonly string[] =>
  [...on.world.chain.executions.values()].filter(({ stage }) => stage !== "ended").map(({ name }) => name);

const rowNow = ({ on, run }: Scene): Row => rowOf(on, run);

const kinds = async ({ on, run }: Scene): Promise<readonly string[]> =>
  ((await timeline(on.world, { run, after: 0 })) ?? []).map(({ kind }) => kind);

test("a run whose execution is gone gets exactly one new execution and completes", async () => {
  const crashes = await everyCrash(async (crash) => {
    const on = room();
    const { run, row } = await dead(on, "keyed");
    on.clock.moveTo((row.leaseUntil ?? 0) + on.world.limits.overdueMs);
    const isAlive = await sweptAfter({ on, run }, crash);
    expect(live(on)).toEqual([nameOf(rowOf(on, run))]);
    expect(rowOf(on, run)).toMatchObject({ chain: 2, owner: null, takeovers: 1 });
    const ended = await supervise(on, { agent: actor({ effect: "keyed" }), run, until: isTold });
    expect(ended).toMatchObject({ status: "completed" });
    return isAlive;
  });
  expect(crashes).toBeGreaterThan(12);
});

test("a parked run with a new message is woken or handed over, and absorbs the message", async () => {
  await everyCrash(async (crash) => {
    const on = room();
    const { run, row, agent } = await parked(on);
    await on.world.chain.wake(row.park?.token ?? "");
    close(on, row);
    await on.world.table.request({ ...row, now: on.clock.now(), want: "resume" });
    wait(on, UNPARKED_MS);
    const isAlive = await sweptAfter({ on, run }, crash);
    // An execution without progress for so long may be backing off, so the sweep skipped it.
    expect(live(on)).toContain(nameOf(rowOf(on, run)));
    expect(await supervise(on, { agent, run, until: isTold })).toMatchObject({ status: "completed" });
    expect(live(on)).not.toContain(nameOf(rowOf(on, run)));
    return isAlive;
  });
});

describe("a run that cannot recover and has a new message", () => {
  async function play(scene: Scene, crash: Crash): Promise<boolean> {
    const isAlive = await sweptAfter(scene, crash);
    // If the dead sweep had committed that the run ends, a beat may have to do the rest.
    if (!rowNow(scene).endNotified) await supervise(scene.on, { agent: actor({}), run: scene.run, until: isTold });
    expect(rowNow(scene)).toMatchObject({ status: "failed", endNotified: true, owner: null });
    const happened = await kinds(scene);
    for (const once of ["RunEnded", "ToolOutcomeUnknown"])
      expect(happened.filter((kind) => kind === once)).toEqual([once]);
    const events = (await timeline(scene.on.world, { run: scene.run, after: 0 })) ?? [];
    const taken = events.flatMap((event) =>
      event.kind === "MessageAbsorbed" && event.stage === "taken" ? [event.message] : [],
    );
    expect(taken).toEqual(["user#w0", "user#w1"]);
    return isAlive;
  }

  async function scene(to: (row: Row, on: Room) => Partial<Row>): Promise<Scene> {
    const on = room();
    const { run, row } = await dead(on);
    for (const id of ["w0", "w1"]) await send(on.world, { run, text: "take the train", by: "ann", id });
    on.clock.moveTo((row.leaseUntil ?? 0) + on.world.limits.overdueMs);
    change(on, row, to(rowOf(on, run), on));
    return { on, run };
  }

  test("ends once as Abandoned, and each of its messages is absorbed once", async () => {
    const crashes = await everyCrash(async (crash) => play(await scene(() => ({ deaths: 11 })), crash));
    expect(crashes).toBeGreaterThan(15);
  });

  test("ends once as Expired", async () => {
    await everyCrash(async (crash) => play(await scene((_, { clock }) => ({ deadline: clock.now() })), crash));
  });
});
