/** Work that handed work out is repeated in another run. */
import { expect, test } from "vitest";
import { forkRun } from "../../src/operations/fork.ts";
import { show } from "../../src/operations/views.ts";
import { assertSafety } from "../support/gate/safety.ts";
import { refusedOnce } from "../support/runs/refused-hand-off.ts";
import { rowIn } from "../support/runs/run-to-fork.ts";
import { playRun } from "../support/runs/topology-run.ts";
import { MS } from "../support/harness/harness.ts";

test("schedule 217: a fork runs a stage again that handed out work before the fork; the work is not handed out again in silence", async () => {
  const { agent, others, acted } = refusedOnce({ onRollBack: "keep" });
  const { harness, run, events } = await playRun(agent, { others });
  assertSafety("the original has the work done once", () => expect(acted).toHaveLength(1));
  const done = events.find((event) => event.kind === "ToolResultRecorded" && event.call === "c1");
  const at = done?.version ?? 0;
  const forked = rowIn(await forkRun(harness.world, { run, at, agent, key: null, by: "ann", confirmed: true }));
  await harness.runForTime([agent, ...others], MS.hour);
  const shown = await show(harness.world, forked.run);
  expect(shown).toMatchObject({ status: "completed", standing: ["ask (c1)"] });
  assertSafety("the fork has nothing done that was done before it", () => expect(acted).toHaveLength(1));
});
