/** `cairn restored`: every run that has not ended is fenced and paused, and the operator is told what follows. */
import { expect, test } from "vitest";
import { attemptBeat, createLocalHarness, beginRun, drive, runnerOf } from "../support/harness/drive.ts";
import { scriptedAgent, callsThenFinal } from "../support/harness/harness.ts";
import { runCli } from "../support/processes/cli-in-process.ts";
import { CLAIM } from "../../src/protocol/row-claim.ts";

const agent = scriptedAgent({ reply: callsThenFinal(1) });

test("fences and pauses live runs, leaves ended runs, and says how a run continues", async () => {
  const { dir, world } = createLocalHarness();
  const read = (run: string) => world.table.read(run, world.clock.now());
  const ended = await beginRun(world, agent, {});
  await drive(runnerOf(world, agent), ended);
  const before = await read(ended.run);
  const queued = await beginRun(world, agent, {});
  const { exit, out } = await runCli(dir, "restored");
  expect({ exit, out }).toEqual({
    exit: 0,
    out: expect.stringContaining("fenced, marked and paused 1 run that had not ended"),
  });
  expect(out).toContain(`npx cairn show ${queued.run}`);
  expect(out).toMatch(/npx cairn resume RUN.* continues a run, .*npx cairn cancel RUN.* ends it/);
  expect(await read(queued.run)).toMatchObject({ epoch: 1_000_000, pause: true, chain: 2 });
  expect(await read(ended.run)).toEqual(before);
  // Fenced: the execution of before claims nothing.
  expect(await attemptBeat(runnerOf(world, agent), queued)).toMatchObject({ reply: { route: "renew" } });
});

test("names runs that an invocation may still hold, and asks to repeat the command", async () => {
  const { dir, world } = createLocalHarness();
  const { run, born } = await beginRun(world, agent, {});
  const now = world.clock.now();
  const entry = { execution: `${run}-${born}-1`, epoch: 0, retry: 0 };
  await world.table.decide({ run, born, now, chain: 1, entry, owner: "another", leaseUntil: now + 60_000 }, CLAIM);
  const { exit, out } = await runCli(dir, "restored");
  expect({ exit, out }).toEqual({
    exit: 4,
    out: expect.stringMatching(/not fenced: \S+ is held.*npx cairn restored.* again in/s),
  });
  expect(await world.table.read(run, now)).toMatchObject({ epoch: 1, pause: false });
  const { out: document } = await runCli(dir, "restored", "--json");
  expect(JSON.parse(document)).toMatchObject({ runs: [], held: [{ run, until: now + 60_000 }], damaged: [] });
});
