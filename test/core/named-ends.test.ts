/** Ends with a name of their own: no retry comes back to them, and no progress takes them back. */
import { expect, test } from "vitest";
import { SIZES } from "../../src/codec/limits.ts";
import { show, timeline } from "../../src/operations/views.ts";
import { begin, mortal } from "../support/drive.ts";
import { actor, callsThenOver, chainedStage, never, rowOf } from "../support/stage.ts";
import { hear, leave, lose, playOut, step, takeUp, withTakeovers } from "../support/steps.ts";

test("a state that outgrew its bound ends its run by that name at once: nothing is tried again", async () => {
  const on = chainedStage();
  let asked = 0;
  const agent = actor({
    reply: (conversation) => {
      asked += 1;
      return callsThenOver(9)(conversation);
    },
  });
  const payload = await begin(on.world, agent, {});
  const { run } = payload;
  const out = leave(on);
  const going = await takeUp(on, { payload, retry: 0, attempt: 1 });
  going.record({ kind: "RunStarted", at: on.clock.now(), agentVersion: "1" });
  // All of one name: they fit into the journal, and not into the state that is stored next.
  const child = `local-${"a".repeat(26)}`;
  const count = Math.ceil(SIZES.stateBytesMax / child.length);
  for (let each = 0; each < count; each += 1) going.record({ kind: "ChildStarted", at: on.clock.now(), child });
  await going.commit({ release: false });
  hear(on, out, null);
  await playOut(on, agent);
  expect(await show(on.world, run)).toMatchObject({ status: "failed", failure: { code: "StateTooLarge" } });
  const decided = ((await timeline(on.world, { run, after: 0 })) ?? []).filter(
    (event) => event.kind === "RecoveryDecided" && event.action.kind === "abort",
  );
  expect(decided).toMatchObject([{ rule: "no other rule applies", why: expect.stringContaining("StateTooLarge") }]);
  expect(asked).toBe(1);
});

test("deaths in a row end in a crash loop, and none is counted from before the last progress", async () => {
  const on = chainedStage();
  const agent = withTakeovers(actor({ reply: callsThenOver(9) }), 2);
  const { run } = await begin(on.world, agent, {});
  const die = async (): Promise<void> => {
    const { world, kill } = mortal(on.world);
    await lose(on, { ...agent, model: actor({ reply: never }).model }, world);
    kill();
  };
  for (let death = 1; death <= 5; death += 1) {
    await die();
    await step(on, agent);
    expect(rowOf(on, run)).toMatchObject({ takeovers: death, deaths: 0, status: "running" });
  }
  for (let death = 0; death <= 2; death += 1) await die();
  await playOut(on, agent);
  const failure = { code: "CrashLoop", message: expect.stringContaining("3 processes died one after the other") };
  expect(await show(on.world, run)).toMatchObject({ status: "failed", failure });
});
