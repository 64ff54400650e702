/** `cairn restored`: every run that has not ended is fenced and paused, and the operator is told what follows. */
import { expect, test } from "vitest";
import { attempt, bench, begin, drive, runnerOf } from "../support/drive.ts";
import { actor, callsThenOver } from "../support/stage.ts";
import { typed } from "../support/typed.ts";

const agent = actor({ reply: callsThenOver(1) });

test("fences and pauses what has not ended, leaves what has, and says how a run goes on", async () => {
  const { dir, world } = bench();
  const read = (run: string) => world.table.read(run, world.clock.now());
  const ended = await begin(world, agent, {});
  await drive(runnerOf(world, agent), ended);
  const before = await read(ended.run);
  const queued = await begin(world, agent, {});
  const { exit, out } = await typed(dir, "restored");
  expect([exit, out]).toEqual([0, expect.stringContaining("fenced and paused 1 run that had not ended")]);
  expect(out).toContain(`npx cairn show ${queued.run}`);
  expect(out).toMatch(/npx cairn resume RUN.* continues it, .*npx cairn cancel RUN.* ends it/);
  expect(await read(queued.run)).toMatchObject({ epoch: 1_000_000, pause: true, chain: 2 });
  expect(await read(ended.run)).toEqual(before);
  // Fenced: the execution of before claims nothing.
  expect(await attempt(runnerOf(world, agent), queued)).toMatchObject({ reply: { route: "renew" } });
});

test("says which run an invocation may still hold, and to come again", async () => {
  const { dir, world } = bench();
  const { run, born } = await begin(world, agent, {});
  const now = world.clock.now();
  const entry = { execution: `${run}-${born}-1`, epoch: 0, retry: 0 };
  await world.table.claim({ run, born, now, chain: 1, entry, owner: "another", leaseUntil: now + 60_000 });
  const { exit, out } = await typed(dir, "restored");
  expect([exit, out]).toEqual([4, expect.stringMatching(/not fenced: \S+ is held.*npx cairn restored.* again in/s)]);
  expect(await world.table.read(run, now)).toMatchObject({ epoch: 1, pause: false });
  const { out: document } = await typed(dir, "restored", "--json");
  expect(JSON.parse(document)).toMatchObject({ runs: [], held: [{ run, until: now + 60_000 }], damaged: [] });
});
