/** `verify` adds up what was spent by itself, and says what can be done about what it finds. */
import { describe, expect, test } from "vitest";
import { verify } from "../../src/history/verify.ts";
import { Copy, longRun } from "../support/damage.ts";
import { begin } from "../support/drive.ts";
import { actor, stage } from "../support/stage.ts";

test("a run that began with something spent is found: no debit says so", async () => {
  const { world } = stage();
  const { run } = await begin(world, actor({}), {});
  const damaged = new Copy({ store: world.store, run });
  const spent = { ...damaged.row.spent, beats: 5 };
  damaged.forge((document) => ({ ...document, state: { ...document.state, spent } }));
  damaged.change({ spent });
  expect(await damaged.findings()).toEqual(["the debits: they add up to 0 beats, and it spent 5"]);
});

describe("what to do", () => {
  test("about a damaged history is another thing than about a run that nobody can go on with", async () => {
    const left = await longRun();
    const history = new Copy(left);
    history.delete(history.keys("snapshots")[3]);
    expect(await verify(history.world, { run: left.run })).toMatchObject({
      readable: true,
      advice: expect.stringMatching(/^the newest state is intact.* bring back/) as string,
    });
    const newest = new Copy(left);
    newest.flip(newest.row.snapshot.key);
    expect(await verify(newest.world, { run: left.run })).toMatchObject({
      readable: false,
      advice: expect.stringMatching(/^no invocation can continue the run, and nothing is committed over it/) as string,
    });
  });
});
