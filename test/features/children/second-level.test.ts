/**
 * The mechanism of levels with two of them. This code has one level until version 0.1.0, so the test adds a second one to
 * its table, as a newer version has it, and removes it again.
 */
import { expect, test } from "vitest";
import { type Level, LEVEL, LEVELS } from "../../../src/core/levels.ts";
import { attemptBeat, beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { scriptedAgent, callsThenFinal, beatReply, createHarness } from "../../support/harness/harness.ts";

/** What a newer version adds: runs whose task is settled by a second call. */
const SECOND: Level = {
  level: LEVEL + 1,
  adds: "second calls",
  isUsedBy: ({ state }) => state.calls > 1,
};

/** A process of the newer version makes the commits: its table of levels has one line more. */
async function withSecondLevel<T>(act: () => Promise<T>): Promise<T> {
  const levels = LEVELS as unknown as Level[];
  levels.push(SECOND);
  try {
    return await act();
  } finally {
    levels.pop();
  }
}

test("a commit that uses a feature of a second level raises the row's level; an older process leaves the run as it is", async () => {
  const harness = createHarness();
  const agent = scriptedAgent({ reply: callsThenFinal(3) });
  const payload = await beginRun(harness.world, agent, {});
  const { run } = payload;
  const newer = { ...runnerOf(harness.world, agent), level: SECOND.level };
  const [first, second] = await withSecondLevel(async () => {
    const next = await beatReply(attemptBeat(newer, payload));
    const lowest = harness.row(run);
    return [lowest, await beatReply(attemptBeat(newer, next))];
  });
  expect(first).not.toHaveProperty("level");
  const raised = harness.row(run);
  expect(raised.level).toBe(SECOND.level);
  expect(await beatReply(attemptBeat(runnerOf(harness.world, agent), second))).toMatchObject({
    route: "wait",
    behind: true,
    epoch: raised.epoch,
  });
  expect(harness.row(run)).toEqual(raised);
  // The level is not lowered by a process that no longer has it in its table, but knows it.
  expect(await drive(newer, second)).toMatchObject({ route: "done" });
  expect(harness.row(run)).toMatchObject({ status: "completed", level: SECOND.level });
  expect(LEVELS.map(({ level }) => level)).toEqual([LEVEL]);
});
