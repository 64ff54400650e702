/** Redrives: the one way out of an end, taken by one operator, recorded, and past whatever still believes in the end. */
import { expect, test } from "vitest";
import type { World } from "../../src/ports/world.ts";
import { executionName } from "../../src/protocol/ids.ts";
import { archiveKey } from "../../src/history/object-keys.ts";
import { timeline } from "../../src/operations/views.ts";
import { redrive } from "../../src/operations/redrive.ts";
import { type Crashed, crashed } from "../support/crashed.ts";
import { HOUR, MINUTE, playFor } from "../support/passing-time.ts";
import { passing } from "../support/stage.ts";
import {
  ahead,
  beforeCall,
  dieInTool,
  dyingAfter,
  frozenBefore,
  hear,
  leave,
  perform,
  rest,
  sweep,
} from "../support/steps.ts";

const ADA = { by: "ada", why: "more memory" } as const;
const BOB = { by: "bob", why: "the night shift" } as const;

const redrivesIn = async ({ on, run }: Crashed): Promise<readonly string[]> =>
  ((await timeline(on.world, { run, after: 0 })) ?? []).flatMap((event) =>
    event.kind === "RunRedriven" ? [`${event.by}: ${event.why}`] : [],
  );

/** It fails once more in the same way. */
async function crashAgain(it: Crashed): Promise<void> {
  await dieInTool(it.on, it.agent);
  await dieInTool(it.on, it.agent);
  await playFor(it.on, it.agent, MINUTE);
  expect(it.row()).toMatchObject({ status: "failed" });
}

test("schedule 87: two operators redrive a run at once; one of them does, and the other is told", async () => {
  const it = await crashed();
  const { run, on } = it;
  // Bob has judged the run; before he writes, Ada redrives it.
  const slow = beforeCall(on.world, "redrive", () => redrive(on.world, { run, ...ADA }));
  expect(await redrive(slow, { run, ...BOB })).toMatchObject({ kind: "Late", row: { redrive: { by: "ada" } } });
  expect(it.row()).toMatchObject({ chain: 2, status: "running" });
  await playFor(on, it.agent, HOUR);
  expect([it.row().status, it.called, await redrivesIn(it)]).toEqual(["completed", [it.key], ["ada: more memory"]]);
});

test("schedule 88: a sender dies between the row and the start; the sweeper starts the run, and the wish has its name", async () => {
  const it = await crashed();
  const { on, run } = it;
  const late = redrive(dyingAfter(on.world, "redrive"), { run, ...ADA });
  late.catch(() => undefined);
  await rest();
  const { born, chain, epoch } = it.row();
  expect(it.row()).toMatchObject({ status: "running", redrive: { by: "ada" }, owner: null });
  expect(on.world.chain.executions.has(executionName(run, born, chain))).toBe(false);
  on.clock.moveTo(on.clock.now() + 2 * MINUTE);
  await passing(on, sweep(on.world));
  expect(on.world.chain.executions.get(executionName(run, born, chain))?.payload.epoch).toBe(epoch);
  await playFor(on, it.agent, HOUR);
  expect([it.row().status, it.called, await redrivesIn(it)]).toEqual(["completed", [it.key], ["ada: more memory"]]);
});

test("schedule 89: a process freezes before it tells an end; the run is redriven and fails again, and the late telling says nothing of that", async () => {
  const it = await crashed({}, { hotMs: null, archive: "warm" });
  const { on, run } = it;
  expect(it.row()).toMatchObject({ endNotified: true });
  await redrive(on.world, { run, ...ADA });
  // Whoever ends it is frozen before the end is told; its archive is put by then.
  await dieInTool(on, it.agent);
  await dieInTool(on, it.agent);
  const frozen = frozenBefore(on.world, "recordEndNotified");
  await failIn(it, frozen.world);
  expect(it.row()).toMatchObject({ status: "failed", endNotified: false });
  await redrive(on.world, { run, ...BOB });
  await dieInTool(on, it.agent);
  await dieInTool(on, it.agent);
  // And whoever ends it this time dies before it tells.
  await failIn(it, frozenBefore(on.world, "recordEndNotified").world);
  frozen.thaw();
  await rest();
  expect(it.row()).toMatchObject({ status: "failed", endNotified: false, expiresAtSec: null });
  await passing(on, sweep(on.world));
  expect(it.row()).toMatchObject({ endNotified: true });
  const archives = [...on.world.store.objects.keys()].filter((key) => key.startsWith("archive/"));
  expect(archives.toSorted()).toEqual([1, 2, 3].map((end) => archiveKey(it.row(), "warm", end)).toSorted());
});

/** Its last beats are done in that world, in which the end may never be told. */
async function failIn({ on, agent, row }: Crashed, world: World): Promise<void> {
  const failed = async (): Promise<void> => {
    while (row().status !== "failed") await new Promise((resolve) => setImmediate(resolve));
  };
  while (row().status !== "failed") {
    const out = leave(on);
    const heard = perform(out.task, { world, agent }).then((result) => hear(on, out, result));
    heard.catch(() => undefined);
    await passing(on, Promise.race([heard, failed()]));
  }
}

test("schedule 90: a run is redriven right before its time is over: it stays; right after it, nothing brings it back", async () => {
  const it = await crashed();
  const { on, run } = it;
  const over = (it.row().expiresAtSec ?? 0) * 1_000;
  on.clock.moveTo(over - 1);
  expect(await redrive(on.world, { run, ...ADA })).toMatchObject({ kind: "redriven" });
  on.clock.moveTo(over + 1);
  on.world.store.expire(over + 1);
  expect(it.row()).toMatchObject({ status: "running", expiresAtSec: null });
  await crashAgain(it);
  const again = (it.row().expiresAtSec ?? 0) * 1_000;
  expect(again).toBeGreaterThan(over);
  on.clock.moveTo(again);
  expect(await redrive(on.world, { run, ...BOB })).toEqual({ kind: "Expired" });
  // Judged in time by a clock that is behind; the store has removed the row when the write arrives.
  const slow = beforeCall(ahead(on.world, -1), "redrive", async () => on.world.store.expire(again));
  expect(await redrive(slow, { run, ...BOB })).toEqual({ kind: "missing" });
  expect(on.world.store.rows.has(run)).toBe(false);
});
