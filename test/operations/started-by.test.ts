/** Who started a run is recorded with it: bounded, without secrets, and as long as the run and its archive last. */
import { describe, expect, test } from "vitest";
import type { Agent } from "../../src/ports/agent.ts";
import { SIZES } from "../../src/codec/limits.ts";
import { memorySecrets } from "../../src/adapters/memory/secrets.ts";
import { factsOf } from "../../src/features/archive/archive.ts";
import { show } from "../../src/operations/views.ts";
import { startRun } from "../../src/operations/start.ts";
import { lastFullHour, createScheduleHarness, scheduledAgent } from "../support/harness/schedule-harness.ts";
import { stateOf } from "../support/agents/approval-agent.ts";
import { createApiHarness } from "../support/harness/api-harness.ts";
import { drive, runnerOf } from "../support/harness/drive.ts";
import { FINAL_REPLY, scriptedAgent, createHarness } from "../support/harness/harness.ts";

const agent = scriptedAgent({ reply: () => FINAL_REPLY });

async function startedBy(by: string | null, world = createHarness().world): Promise<string | null> {
  const asked = { agent, input: {}, tenant: "local", idempotencyKey: "one", ...(by === null ? {} : { by }) };
  const started = await startRun(world, asked);
  if (started.kind !== "started" && started.kind !== "exists") throw new Error(started.kind);
  return (await show(world, started.row.run))?.startedBy ?? null;
}

describe("the starter of a run", () => {
  test.each([
    [null, null],
    ["ann@loom", "ann@loom"],
    ["", "unknown"],
    ["x".repeat(9_000), `${"x".repeat(SIZES.nameCharactersMax)}…`],
    ["AKIAIOSFODNN7EXAMPLE@loom", "[redacted aws-access-key]@loom"],
  ])("%j is recorded as %j", async (by, recorded) => {
    expect(await startedBy(by)).toBe(recorded);
  });

  test("is recorded without declared secrets", async () => {
    const world = { ...createHarness().world, secrets: memorySecrets({ TOKEN: "tell-no-tales" }) };
    expect(await startedBy("ann-tell-no-tales@loom", world)).toBe("ann-[secret TOKEN]@loom");
  });

  test("is the first of several under one key", async () => {
    const { world } = createHarness();
    expect(await startedBy("ann@loom", world)).toBe("ann@loom");
    expect(await startedBy("bob@loom", world)).toBe("ann@loom");
  });

  test("is the identity that signed over HTTP, and stays until the end and in the archive", async () => {
    const harness = createApiHarness({ reply: () => FINAL_REPLY });
    const { body } = await harness.ask({ path: "/runs", json: { agent: "actor" } });
    const run = String(body["run"]);
    const { born, chain, epoch, agent } = harness.row(run);
    await drive(runnerOf(harness.world, harness.agent), { run, born, chain, epoch, agent });
    expect((await harness.ask({ path: `/runs/${run}` })).body).toMatchObject({ status: "completed", startedBy: "ann" });
    expect(factsOf(harness.row(run), await stateOf(harness.world, run))).toMatchObject({ startedBy: "ann" });
  });

  test("is the schedule for a firing", async () => {
    const harness = createScheduleHarness(scheduledAgent() as Agent);
    const at = lastFullHour(harness);
    await harness.fire(at);
    expect(await show(harness.world, harness.runOf(at))).toMatchObject({ startedBy: "schedule:actor" });
  });
});
