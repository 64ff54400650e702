/** How soon a reader of a store in a file sees what a model is saying, and how often it looks. */
import { expect, test } from "vitest";
import { pollEvents } from "../../src/operations/event-page.ts";
import { PACE_OF_FILE, PACE_OF_SERVICE } from "../../src/ports/delta-log.ts";
import type { World } from "../../src/ports/world.ts";
import type { Row } from "../../src/protocol/row.ts";
import { ShownText, type StreamedRun, createStreamedRun } from "../support/runs/streamed-run.ts";
import { flushPromises } from "../support/harness/harness.ts";

const inFile = (world: World): World => ({ ...world, deltas: { ...world.deltas, pace: PACE_OF_FILE } });

/** Lets that many milliseconds pass in steps of 10. */
async function pass({ harness }: StreamedRun, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 10) {
    await flushPromises();
    harness.clock.moveTo(harness.clock.now() + 10);
    await flushPromises();
  }
}

test("the first words are there after 100 ms, and further ones each 100 ms", async () => {
  const it = await createStreamedRun();
  const { call, end } = await it.begin(inFile(it.harness.world));
  const shown = new ShownText();
  for (const said of ["one ", "two ", "three "]) {
    call.say(said);
    await pass(it, 100);
    await it.read(shown);
  }
  expect(shown.deltas).toBe(3);
  expect(shown.open.trim()).toMatch(/^one two/);
  call.finish();
  await end();
});

/** How often a reader that waits looks at the row of a run in a second. */
async function looksIn(it: StreamedRun, world: World, change: Partial<Row>): Promise<number> {
  let looks = 0;
  const read: World["table"]["read"] = async (run, now) => {
    looks += 1;
    const row = await world.table.read(run, now);
    return row && { ...row, ...change };
  };
  const { version = 0 } = (await world.table.read(it.run, 0)) ?? {};
  const watched = { ...world, table: { ...world.table, read } };
  const page = pollEvents(watched, { run: it.run, after: version, wait: 1, bytesMax: null });
  await pass(it, 1_100);
  await page;
  return looks;
}

test("a reader looks often at a run that is at work, and seldom at a conversation that waits", async () => {
  const it = await createStreamedRun();
  const { world } = it.harness;
  const local = inFile(world);
  expect(await looksIn(it, local, { status: "running" })).toBe(21);
  expect(await looksIn(it, local, { status: "waiting" })).toBe(3);
  // A message has come that no beat has absorbed yet.
  expect(await looksIn(it, local, { status: "waiting", wakeCount: 1, wakeCountSeen: 0 })).toBe(21);
  expect(world.deltas.pace).toEqual(PACE_OF_SERVICE);
  expect(await looksIn(it, world, { status: "running" })).toBe(3);
});
