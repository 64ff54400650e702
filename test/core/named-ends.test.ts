/** Ends with a name of their own: no retry comes back to them, and no progress takes them back. */
import { expect, test } from "vitest";
import { SIZES } from "../../src/codec/limits.ts";
import { show, timeline } from "../../src/operations/views.ts";
import { beginRun, killableWorld } from "../support/harness/drive.ts";
import { scriptedAgent, callsThenFinal, createChainHarness, neverSettles } from "../support/harness/harness.ts";
import { claimAndLoad, withTakeovers } from "../support/harness/chain-steps.ts";

test("a state beyond its size limit ends its run with that code at once, without a retry", async () => {
  const harness = createChainHarness();
  let asked = 0;
  const agent = scriptedAgent({
    reply: (conversation) => {
      asked += 1;
      return callsThenFinal(9)(conversation);
    },
  });
  const payload = await beginRun(harness.world, agent, {});
  const { run } = payload;
  const out = harness.startAttempt();
  const going = await claimAndLoad(harness, { payload, retry: 0, restart: 1 });
  going.record({ kind: "RunStarted", at: harness.clock.now(), agentVersion: "1" });
  // It fits into the journal, which is compressed, and not into the state that is stored next.
  const why = "a".repeat(SIZES.stateBytesMax);
  going.record({ kind: "DecisionIgnored", at: harness.clock.now(), gate: "c1-gate", as: "deny", by: "ada", why });
  await going.commit({ release: false });
  out.end(null);
  await harness.runUntilIdle(agent);
  expect(await show(harness.world, run)).toMatchObject({ status: "failed", failure: { code: "StateTooLarge" } });
  const decided = ((await timeline(harness.world, { run, after: 0 })) ?? []).filter(
    (event) => event.kind === "RecoveryDecided" && event.action.kind === "abort",
  );
  expect(decided).toMatchObject([{ rule: "no other rule applies", why: expect.stringContaining("StateTooLarge") }]);
  expect(asked).toBe(1);
});

test("consecutive deaths end in a crash loop, and deaths before the last progress do not count", async () => {
  const harness = createChainHarness();
  const agent = withTakeovers(scriptedAgent({ reply: callsThenFinal(9) }), 2);
  const { run } = await beginRun(harness.world, agent, {});
  const die = async (): Promise<void> => {
    const { world, kill } = killableWorld(harness.world);
    await harness.loseAttempt({ ...agent, model: scriptedAgent({ reply: neverSettles }).model }, world);
    kill();
  };
  for (let death = 1; death <= 5; death += 1) {
    await die();
    await harness.runAttempt(agent);
    expect(harness.row(run)).toMatchObject({ takeovers: death, deaths: 0, status: "running" });
  }
  for (let death = 0; death <= 2; death += 1) await die();
  await harness.runUntilIdle(agent);
  const failure = { code: "CrashLoop", message: expect.stringContaining("3 processes died one after the other") };
  expect(await show(harness.world, run)).toMatchObject({ status: "failed", failure });
});
