/** Power losses of the embedded store between any two frames of its log, and in the middle of a long invocation. */
import { expect, test } from "vitest";
import { frameEndsOf, playRun } from "../../support/faults/power-loss.ts";
import { agentWith, breaksOf, endsOf } from "../../support/faults/power-loss-judge.ts";

test("several beats in one invocation: each model call is accounted for after a power loss", async () => {
  const agentOver = agentWith("look", "look", "write");
  const played = await playRun(agentOver, { beatsPerInvocation: 3, isShared: false });
  expect(await breaksOf(played, endsOf(played), { agentOver, beatsPerInvocation: 3 })).toEqual([]);
});

test("a log that is cut inside a transaction, at a frame or in the middle of one, is the store before it", async () => {
  const agentOver = agentWith("mail");
  const played = await playRun(agentOver);
  const frames = frameEndsOf(played).filter((_, index) => index % 5 === 0);
  const cuts = frames.flatMap((end) => [end, end + 7, end + 500]);
  expect(cuts.length).toBeGreaterThan(30);
  expect(await breaksOf(played, cuts, { agentOver })).toEqual([]);
});
