/** The state of a run at one of its versions equals what its events give, between snapshots as well. */
import { describe, expect, test } from "vitest";
import { stateAt } from "../../src/history/state-at.ts";
import { recordingIn } from "../../src/features/archive/recording.ts";
import { KERNEL } from "../../src/features/compose.ts";
import { replay } from "../../src/features/archive/replay.ts";
import { showSnapshot } from "../../src/operations/snapshot.ts";
import { drive, runnerOf } from "../support/harness/drive.ts";
import { callsThenFinal, createHarness, scriptedAgent } from "../support/harness/harness.ts";
import { startRun } from "../../src/operations/start.ts";

async function ended() {
  const harness = createHarness();
  const agent = scriptedAgent({ reply: callsThenFinal(3) });
  const started = await startRun(harness.world, { agent, input: {}, tenant: "local", idempotencyKey: "k" });
  if (started.kind !== "started") throw new Error(started.kind);
  const { run, born } = started.row;
  await drive(runnerOf(harness.world, agent), { run, born, chain: 1, epoch: 0, agent: agent.name });
  return { ...harness, run, row: harness.row(run) };
}

describe("the state of a version", () => {
  test("is what a replay up to that version gives, for every version", async () => {
    const { world, run, row } = await ended();
    const recording = await recordingIn(world, { run });
    if (recording === null) throw new Error("gone");
    expect(row.version).toBeGreaterThan(4);
    for (let version = 0; version <= row.version; version += 1) {
      const found = await stateAt(world, row, version);
      expect(found?.state).toEqual(replay(KERNEL, recording, { until: version }).state);
      expect(found?.later.map((commit) => commit.version)).toEqual(
        recording.commits.map((commit) => commit.version).filter((each) => each > version),
      );
    }
  });

  test("is unknown beyond the newest one, and leaves out the oldest messages if it is too large", async () => {
    const { world, run, row } = await ended();
    expect(await showSnapshot(world, { run, version: row.version + 1, bytesMax: null })).toEqual({
      kind: "versionUnknown",
      of: row.version,
    });
    const whole = await showSnapshot(world, { run, version: row.version, bytesMax: null });
    if (whole.kind !== "shown") throw new Error(whole.kind);
    const bytesMax = JSON.stringify(whole.state).length - 1;
    const cut = await showSnapshot(world, { run, version: row.version, bytesMax });
    if (cut.kind !== "shown") throw new Error("not shown");
    expect(cut.omittedMessages).toBeGreaterThan(0);
    expect(cut.state.messages).toEqual(whole.state.messages.slice(cut.omittedMessages));
    expect(await showSnapshot(world, { run: "local-none", version: 0, bytesMax: null })).toEqual({ kind: "missing" });
  });
});
