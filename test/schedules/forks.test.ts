/** Forks against a purge of their run, against each other, and against the death of their process. */
import { expect, test } from "vitest";
import { prefixUnder } from "../../src/history/object-keys.ts";
import { stateAt } from "../../src/history/state-at.ts";
import { purge } from "../../src/operations/purge.ts";
import { crashAtCall, forEachCrashPoint } from "../support/faults/crash-at-call.ts";
import { wrapPorts } from "../support/harness/ports.ts";
import { CALLS, type RunToFork, createRunToFork, rowIn } from "../support/runs/run-to-fork.ts";

/** The newest version before the last call. */
async function beforeLast({ harness, run }: RunToFork): Promise<number> {
  const row = harness.row(run);
  for (let at = row.version; at > 0; at -= 1) {
    const state = (await stateAt(harness.world, row, at))?.state;
    if (state?.calls === CALLS - 1 && state.open.length === 0) return at;
  }
  throw new Error("no such version");
}

test("schedule 180: a run is purged while a fork copies its values; the fork is missing, or whole", async () => {
  const outcomes = new Set<string>();
  for (let purgeAt = 0; purgeAt < 60; purgeAt += 1) {
    const it = await createRunToFork();
    const { world } = it.harness;
    const at = await beforeLast(it);
    let count = 0;
    const slow = wrapPorts(world, async ({ send }) => {
      count += 1;
      if (count === purgeAt) {
        const own = it.harness.row(it.run);
        await purge(world, it.run);
        await world.objects.removeUnder(prefixUnder(own));
      }
      return send();
    });
    const forked = await it.fork({ at }, slow);
    outcomes.add(forked.kind);
    if (forked.kind === "missing") {
      expect([...world.store.rows.values()].filter(({ run }) => run !== it.run)).toEqual([]);
    } else {
      expect(await it.play(rowIn(forked))).toMatchObject({ status: "completed" });
      expect(it.called.get(rowIn(forked).run)).toHaveLength(1);
    }
    if (count < purgeAt) break;
  }
  expect([...outcomes].toSorted()).toEqual(["missing", "started"]);
});

test("schedule 181: a fork dies at any call, or forks twice at once; one key makes one whole run", async () => {
  const crashes = await forEachCrashPoint(async (crash) => {
    const it = await createRunToFork();
    const { world } = it.harness;
    const at = await beforeLast(it);
    const dying = crashAtCall(world, crash);
    const survived = await dying.survives((mine) => it.fork({ at, key: "once" }, mine));
    const both = await Promise.all([it.fork({ at, key: "once" }), it.fork({ at, key: "once" })]);
    const [run, ...others] = new Set(both.map((forked) => rowIn(forked).run));
    expect(others).toEqual([]);
    expect(new Set(world.store.rows.keys())).toEqual(new Set([it.run, run]));
    expect(await it.play({ run: run ?? "" })).toMatchObject({ status: "completed" });
    expect(it.called.get(run ?? "")).toHaveLength(1);
    return survived;
  });
  expect(crashes).toBeGreaterThan(20);
});
