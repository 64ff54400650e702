/** Runs that the sweeper ends while a job of their model is out. */
import { noticeMs } from "../../../src/engine/loop/next-look.ts";
import { expect, test } from "vitest";
import { timeline } from "../../../src/operations/views.ts";
import { asynchronousAgent } from "../../support/agents/asynchronous-agent.ts";
import { beginRun } from "../../support/harness/drive.ts";
import { createSupervisedHarness } from "../../support/harness/harness.ts";

test("ends a run whose deadline passed while its model job is out, and debits the job at its estimate", async () => {
  const harness = createSupervisedHarness();
  const { agent } = asynchronousAgent({ pending: 1_000 });
  const { run } = await beginRun(harness.world, agent, {});
  await harness.driveUntil({ agent, run, until: ({ park }) => park !== null });
  harness.clock.moveTo(harness.row(run).deadline + noticeMs(harness.world.limits));
  // Nobody hears that it is to wake.
  harness.changeRow({ run }, { park: null });
  harness.passTime();
  await harness.sweep();
  expect(harness.row(run)).toMatchObject({ status: "failed", endNotified: true, spent: { tokensOut: 500 } });
  const ends = ((await timeline(harness.world, { run, after: 0 })) ?? []).flatMap((event) =>
    event.kind === "DetachedCallEnded" ? [event.how] : event.kind === "RunEnded" ? [event.status] : [],
  );
  expect(ends).toEqual(["cancelled", "failed"]);
});
