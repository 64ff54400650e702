/** Starts that a limit of their tenant counts, against each other and against frozen ones. */
import { expect, test } from "vitest";
import type { World } from "../../src/ports/world.ts";
import { freezeAtCall } from "../support/faults/freeze-at-call.ts";
import { createLocalHarness } from "../support/harness/drive.ts";
import { createHarness } from "../support/harness/harness.ts";
import { CENT, startCounted } from "../support/runs/counted-starts.ts";

const WORLDS: readonly (() => { readonly world: World })[] = [() => createHarness(), () => createLocalHarness()];

test("schedule 188: starts read a counter with room for one of them; one starts, in memory and on SQLite", async () => {
  for (const make of WORLDS) {
    const { world } = make();
    const limits = { month: { microUsd: CENT } };
    const freezing = freezeAtCall(world, { at: 0, when: "after" });
    let isFirst = true;
    const get: World["records"]["get"] = (...of) => {
      const { records } = isFirst ? freezing.world : world;
      isFirst = false;
      return records.get(...of);
    };
    const late = startCounted({ ...world, records: { ...world.records, get } }, limits, { key: "late" });
    expect(await freezing.freezes(late)).toBe(true);
    expect((await startCounted(world, limits, { key: "first" })).kind).toBe("started");
    freezing.thaw();
    expect((await late).kind).toBe("limitReached");
  }
});

test("schedule 189: a start reserves and freezes before it creates its run; what it reserved stays counted", async () => {
  const { world } = createHarness();
  const limits = { day: { microUsd: CENT } };
  const [frozen, thaw] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const create: World["table"]["create"] = async (creation) => {
    frozen.resolve();
    await thaw.promise;
    return world.table.create(creation);
  };
  const late = startCounted({ ...world, table: { ...world.table, create } }, limits, { key: "late" });
  await frozen.promise;
  expect((await startCounted(world, limits, { key: "other" })).kind).toBe("limitReached");
  thaw.resolve();
  expect((await late).kind).toBe("started");
  expect(world.store.rows.size).toBe(1);
});
