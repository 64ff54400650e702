/** The key of an ended run: kept whatever dies, kept by a purge, and forgotten where an operator wants that. */
import { expect, test } from "vitest";
import type { Agent } from "../../../src/ports/agent.ts";
import type { Incarnation } from "../../../src/protocol/row.ts";
import { purge } from "../../../src/operations/purge.ts";
import { type Crash, dying, everyCrash } from "../../support/crashing.ts";
import { begin, drive, runnerOf } from "../../support/drive.ts";
import { first, goes, retry } from "../../support/old-keys.ts";
import { type Stage, actor, rowOf, stage } from "../../support/stage.ts";
import { sweep } from "../../support/steps.ts";

/** A run that ends in a process which dies there; the retry or the sweeper goes on. */
async function endsDespite(on: Stage, agent: Agent, of: { readonly crash: Crash; readonly started: Incarnation }) {
  const { run, born } = of.started;
  const payload = { run, born, chain: 1, epoch: 0, agent: agent.name };
  const isAlive = await dying(on.world, of.crash).survives((world) => drive(runnerOf(world, agent), payload));
  on.clock.moveTo(Math.max(on.clock.now(), rowOf(on, run).leaseUntil ?? 0) + on.world.limits.overdueMs);
  for (let round = 0; round < 3 && !rowOf(on, run).endNotified; round += 1) {
    await sweep(on.world);
    const { chain, epoch, endNotified } = rowOf(on, run);
    if (!endNotified) await drive(runnerOf(on.world, agent), { ...payload, chain, epoch });
  }
  return isAlive;
}

test.each(["by its own commit", "to its parent"])(
  "whatever call a process dies at that tells an end %s, the key is kept from the moment on at which the row may go",
  async (told) => {
    const crashes = await everyCrash(async (crash) => {
      const on = stage();
      let acts = 0;
      const agent = actor({ run: () => (acts += 1) });
      const parent = told === "to its parent" ? await begin(on.world, actor({}), {}) : undefined;
      const started = await first(on.world, agent, parent);
      const { rows, tombstones } = on.world.store;
      const set = rows.set.bind(rows);
      rows.set = (run, row) => {
        if (row.expiresAtSec !== null) {
          expect(tombstones.get(run)).toMatchObject({ born: row.born, status: row.status });
          expect(tombstones.get(run)?.expiresAtSec).toBeGreaterThanOrEqual(row.expiresAtSec);
        }
        return set(run, row);
      };
      const isAlive = await endsDespite(on, agent, { crash, started });
      expect(rowOf(on, started.run)).toMatchObject({ status: "completed", endNotified: true });
      await goes(on, started);
      const before = acts;
      expect(await retry(on.world, agent)).toMatchObject({ kind: "ended", tombstone: { status: "completed" } });
      expect(acts).toBe(before);
      return isAlive;
    });
    expect(crashes).toBeGreaterThan(15);
  },
);

test("a key whose run ended under an older cairn is kept from a purge on", async () => {
  const on = stage();
  const agent = actor({});
  const { run, born } = await first(on.world, agent);
  await drive(runnerOf(on.world, agent), { run, born, chain: 1, epoch: 0, agent: agent.name });
  on.world.store.tombstones.clear();
  expect(await purge(on.world, run)).toMatchObject({ kind: "purged" });
  expect(await retry(on.world, agent)).toMatchObject({ kind: "ended", tombstone: { born } });
  expect(await purge(on.world, run)).toEqual({ kind: "missing" });
  expect(await purge(on.world, run, { forgetKey: true })).toMatchObject({ kind: "forgotten", tombstone: { born } });
  expect(await purge(on.world, run, { forgetKey: true })).toEqual({ kind: "missing" });
  expect((await retry(on.world, agent)).kind).toBe("started");
});
