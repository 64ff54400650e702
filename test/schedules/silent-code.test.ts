/** Code of users and servers that never answers, in the runs that wait for it. */
import { expect, test } from "vitest";
import { assertSafety } from "../support/gate/safety.ts";
import { createHarness, neverSettles, scriptedAgent } from "../support/harness/harness.ts";
import { playAttempts, silentAt, sourceOf, waitsForCode } from "../support/harness/silent-code.ts";

test("schedule 243: a server that never lists its tools makes the run wait, and no process dies", async () => {
  const harness = createHarness();
  const played = await playAttempts(harness, { ...scriptedAgent({}), sources: [sourceOf(neverSettles)] });
  const { beatMs, drainMs } = harness.world.limits;
  assertSafety("each beat ends in its time, and none is a death", () => {
    expect(Math.max(...played.took)).toBeLessThanOrEqual(beatMs - drainMs / 2);
    expect({ deaths: played.row.deaths, status: played.row.status }).toEqual({ deaths: 0, status: "blocked" });
  });
  expect(waitsForCode(played)).toBe(1);
});

test("schedule 244: a server that is silent after a reply gets a whole beat, and the run waits for no code", async () => {
  const harness = createHarness();
  const { clock } = harness.world;
  const run = (): Promise<string> => new Promise((resolve) => void clock.after(1_500, () => resolve("acted")));
  // It answers before the reply, before the call is prepared and before it runs, and not before the next reply.
  const agent = silentAt({ agent: scriptedAgent({ run, timeoutMs: 2_000 }), silent: (n) => n === 5 });
  const played = await playAttempts(harness, agent);
  expect({ status: played.row.status, waitsForCode: waitsForCode(played), deaths: played.row.deaths }).toEqual({
    status: "completed",
    waitsForCode: 0,
    deaths: 0,
  });
});
