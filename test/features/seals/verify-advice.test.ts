/** `verify` adds up what was spent by itself, and says what can be done about what it finds. */
import { describe, expect, test } from "vitest";
import { verify } from "../../../src/features/seals/verify.ts";
import { DamagedCopy, createLongRun } from "../../support/runs/damaged-copies.ts";
import { beginRun } from "../../support/harness/drive.ts";
import { scriptedAgent, createHarness } from "../../support/harness/harness.ts";

test("an amount spent at the start of a run is detected, because no debit accounts for it", async () => {
  const { world } = createHarness();
  const { run } = await beginRun(world, scriptedAgent({}), {});
  const damaged = new DamagedCopy({ store: world.store, run });
  const spent = { ...damaged.row.spent, beats: 5 };
  damaged.forge((document) => ({ ...document, state: { ...document.state, spent } }));
  damaged.change({ spent });
  expect(await damaged.findings()).toEqual(["the debits: they add up to 0 beats, and it spent 5"]);
});

describe("the remedy", () => {
  test("for a damaged history differs from that for a run that no process can continue", async () => {
    const storedRun = await createLongRun();
    const history = new DamagedCopy(storedRun);
    history.delete(history.keys("snapshots")[3]);
    expect(await verify(history.world, { run: storedRun.run })).toMatchObject({
      readable: true,
      advice: expect.stringMatching(/^the newest state is intact.* bring back/) as string,
    });
    const newest = new DamagedCopy(storedRun);
    newest.flip(newest.row.snapshot.key);
    expect(await verify(newest.world, { run: storedRun.run })).toMatchObject({
      readable: false,
      advice: expect.stringMatching(/^no invocation can continue the run, and nothing is committed over it/) as string,
    });
  });
});
