/** Power losses of the embedded store between any two frames of its log, and in the middle of a long invocation. */
import { expect, test } from "vitest";
import { playRun, type PlayedRun } from "../../support/faults/power-loss.ts";
import { agentWith, breaksOf, endsOf } from "../../support/faults/power-loss-judge.ts";

/** The ends of all frames of the log, from the start of the run on: places where a power loss can cut it. */
function frameEndsOf({ log, begun }: PlayedRun): readonly number[] {
  const frameBytes = 24 + log.readUInt32BE(8);
  const ends: number[] = [];
  for (let end = 32; end <= log.byteLength; end += frameBytes) if (end >= begun) ends.push(end);
  return ends;
}

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
