/** A process that kept a state in memory: it goes on with it only while the store names the bytes that it wrote. */
import { expect, test } from "vitest";
import { verify } from "../../src/features/seals/verify.ts";
import { transcript } from "../../src/operations/views.ts";
import { storeOutage } from "../support/faults/store-outages.ts";
import { attemptBeat, beginRun, drive, runnerOf } from "../support/harness/drive.ts";
import { callsThenFinal, createHarness, scriptedAgent } from "../support/harness/harness.ts";
import { runBeats } from "../support/runs/long-runs.ts";
import { twoProcesses } from "../support/runs/two-processes.ts";

test("schedule 137: another process advances the run in between; the first one reads what that process stored", async () => {
  const { harness, agent, gets, one, other } = twoProcesses(4);
  const begun = await beginRun(harness.world, agent, {});
  const first = await runBeats(one, begun, 2);
  gets.length = 0;
  const second = await runBeats(one, first, 1);
  expect(gets).toEqual([]);
  const third = await runBeats(other, second, 1);
  const stored = harness.row(begun.run).snapshot.key;
  await drive(one, third);
  expect(gets).toEqual([stored]);
  const told = await transcript(harness.world, begun.run);
  expect(told?.filter(({ role }) => role === "assistant")).toHaveLength(5);
  expect(await verify(harness.world, { run: begun.run })).toMatchObject({ findings: [] });
});

test("schedule 138: the object store is away and a warm process does not pay for replies that it cannot store", async () => {
  const harness = createHarness();
  let asked = 0;
  const reply = callsThenFinal(3);
  const agent = scriptedAgent({
    reply: (conversation) => {
      asked += 1;
      return reply(conversation);
    },
  });
  const objects = storeOutage(harness.world, "objects");
  const warm = runnerOf(objects.world, agent);
  const begun = await beginRun(harness.world, agent, {});
  let payload = await runBeats(warm, begun, 1);
  const paid = asked;
  objects.isAway = true;
  for (let beats = 0; beats < 5; beats += 1) {
    const result = await attemptBeat(warm, payload);
    if (result.kind === "beat") payload = result.reply;
  }
  // The first of these beats learns that the store is away, and the row says so to all others.
  expect(asked - paid).toBeLessThanOrEqual(1);
  objects.isAway = false;
  await drive(warm, payload);
  expect(harness.row(begun.run)).toMatchObject({ status: "completed", deaths: 0 });
});
