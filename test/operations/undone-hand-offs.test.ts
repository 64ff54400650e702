/** A hand-off that a human is to undo by hand, as the operator sees it. */
import { expect, test } from "vitest";
import { playRun } from "../support/runs/topology-run.ts";
import { refusedOnce } from "../support/runs/refused-hand-off.ts";

test("a roll-back asks a human to undo what a child run did, and names each of its calls with its key", async () => {
  const { agent, others, acted } = refusedOnce();
  const { shown } = await playRun(agent, { others });
  expect(acted).toHaveLength(1);
  expect(shown).toMatchObject({
    status: "blocked",
    unknown: [
      { call: "undo-c1", undoes: "c1", byHand: true, did: [expect.stringContaining(`of run ${acted[0]}, key act-`)] },
    ],
  });
  expect(shown?.unknown[0]?.did).toEqual([expect.stringMatching(/^act \(c1, .+\) happened$/)]);
});
