/**
 * Power losses: the embedded store goes back to an earlier moment, and what left the machine since stays. Nothing may
 * have left since that moment but what is free to repeat.
 */
import { expect, test } from "vitest";
import { playRun } from "../support/faults/power-loss.ts";
import { agentWith, breaksOf, endsOf } from "../support/faults/power-loss-judge.ts";

test("schedule 139: the power goes after any transaction of the bookkeeping, also of a process that goes on with its run; the attempt that is found is repeated as after a death", async () => {
  const agentOver = agentWith("look", "write", "look", "write");
  for (const goesOn of [false, true]) {
    const played = await playRun(agentOver, { goesOn });
    expect(await breaksOf(played, endsOf(played), { agentOver })).toEqual([]);
  }
});

test("schedule 140: the power goes after any transaction; no effect that nobody may repeat happens twice, and no news is taken back", async () => {
  const agentOver = agentWith("mail", "look", "pay");
  const played = await playRun(agentOver);
  expect(played.left.filter(({ kind }) => kind === "effect")).toHaveLength(2);
  expect(await breaksOf(played, endsOf(played), { agentOver })).toEqual([]);
});
