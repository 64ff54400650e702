/** Schedules of views in a process that reads in turns: others act while a view waits for its turn. */
import { expect, test } from "vitest";
import { showRow } from "../../src/operations/views.ts";
import { Turns, worldInTurns } from "../../src/api/streams/turns.ts";
import { decideGate, runUntilGate } from "../support/agents/approval-agent.ts";
import { drive } from "../support/harness/drive.ts";
import { createHarness } from "../support/harness/harness.ts";

test("schedule 237: the run takes the decision between the reads of a view, which does not ask for it again", async () => {
  const harness = createHarness();
  const { run, runner, payload } = await runUntilGate(harness);
  await decideGate(harness.world, { run, as: "approve" });
  const row = await harness.world.table.read(run, harness.clock.now());
  if (row === null) throw new Error("the run is gone");
  let playing: Promise<unknown> | null = null;
  const turns = new Turns(async () => {
    await (playing ??= drive(runner, payload));
  });
  const shown = await showRow(worldInTurns(harness.world, turns), row);
  expect(playing).not.toBeNull();
  // The row is an old one, and so is its gate; but it is known that somebody decided.
  expect(shown?.gates).toMatchObject([{ decided: true }]);
});
