/** Who started a run is recorded with it: bounded, without secrets, and as long as the run and its archive last. */
import { describe, expect, test } from "vitest";
import type { Agent } from "../../src/ports/agent.ts";
import { SIZES } from "../../src/codec/limits.ts";
import { memorySecrets } from "../../src/adapters/memory/secrets.ts";
import { factsOf } from "../../src/history/archive.ts";
import { show } from "../../src/operations/views.ts";
import { startRun } from "../../src/operations/start.ts";
import { hourOf, plot, scheduled } from "../support/firing.ts";
import { stateOf } from "../support/asking.ts";
import { desk } from "../support/api.ts";
import { drive, runnerOf } from "../support/drive.ts";
import { OVER, actor, rowOf, stage } from "../support/stage.ts";

const agent = actor({ reply: () => OVER });

async function startedBy(by: string | null, world = stage().world): Promise<string | null> {
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

  test("is recorded without what is declared as a secret", async () => {
    const world = { ...stage().world, secrets: memorySecrets({ TOKEN: "tell-no-tales" }) };
    expect(await startedBy("ann-tell-no-tales@loom", world)).toBe("ann-[secret TOKEN]@loom");
  });

  test("is the first of several under one key", async () => {
    const { world } = stage();
    expect(await startedBy("ann@loom", world)).toBe("ann@loom");
    expect(await startedBy("bob@loom", world)).toBe("ann@loom");
  });

  test("is the identity that signed, over HTTP, and stays until the run has ended and in its archive", async () => {
    const on = desk({ reply: () => OVER });
    const { body } = await on.ask({ path: "/runs", json: { agent: "actor" } });
    const run = String(body["run"]);
    const { born, chain, epoch, agent } = rowOf(on, run);
    await drive(runnerOf(on.world, on.agent), { run, born, chain, epoch, agent });
    expect((await on.ask({ path: `/runs/${run}` })).body).toMatchObject({ status: "completed", startedBy: "ann" });
    expect(factsOf(rowOf(on, run), await stateOf(on.world, run))).toMatchObject({ startedBy: "ann" });
  });

  test("is the schedule, for a firing", async () => {
    const on = plot(scheduled() as Agent);
    const at = hourOf(on);
    await on.fire(at);
    expect(await show(on.world, on.runOf(at))).toMatchObject({ startedBy: "schedule:actor" });
  });
});
