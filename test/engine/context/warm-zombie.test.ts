/** A process that thaws with a state that nobody committed. */
import { expect, test } from "vitest";
import { verify } from "../../../src/features/seals/verify.ts";
import { withCalls } from "../../../src/testing/decisions.ts";
import { attemptBeat, beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { beatReply, neverSettles, flushPromises } from "../../support/harness/harness.ts";
import { runBeats } from "../../support/runs/long-runs.ts";
import { twoProcesses } from "../../support/runs/two-processes.ts";

test("a process froze with a snapshot that no row names; it thaws behind another process and does not use that state", async () => {
  const { harness, agent, other } = twoProcesses(3);
  const begun = await beginRun(harness.world, agent, {});
  const frozen = { ...harness.world, table: withCalls(harness.world.table, { commit: neverSettles }) };
  const one = runnerOf(harness.world, agent);
  const first = await runBeats(one, begun, 1);
  void attemptBeat({ ...one, world: frozen }, first);
  await flushPromises();
  const second = await beatReply(attemptBeat(other, first, 1));
  expect(await drive(one, second)).toMatchObject({ route: "done" });
  expect(harness.row(begun.run)).toMatchObject({ status: "completed", takeovers: 1 });
  expect(await verify(harness.world, { run: begun.run })).toMatchObject({ findings: [] });
});
