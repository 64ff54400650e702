/**
 * The scenarios of recoveries: a gate sends a pipeline back, a plan is replaced, a round of a debate completes, ReAct
 * nears its cap. Once for every fault at every call, and frozen at every point, the run takes the same way, acts once,
 * and gets no fresh retry, plan, round or beat.
 */
import { expect, test } from "vitest";
import { eventsOfKind } from "../../simulation/replay.ts";
import { FROZEN_POINTS, STRIDE } from "../../support/gate/stride.ts";
import { ENUMERATION_TIMEOUT } from "../../support/harness/timeouts.ts";
import { assertNoViolations } from "../../support/gate/safety.ts";
import { everyFault, everyZombie, inWords, wrongWith } from "./enumerate.ts";
import { playScene } from "./play.ts";
import { CAP, RECOVERIES, wayOf } from "./topology-scenario.ts";

test("the scenarios reach their intended situations", ENUMERATION_TIMEOUT, async () => {
  const [rollback, replan, round, cap, undone] = await Promise.all(
    RECOVERIES.map((recovers) => playScene({ recovers })),
  );
  for (const calm of [rollback, replan, round, cap, undone]) {
    if (calm === undefined) throw new Error("a scene is missing");
    assertNoViolations(wrongWith(calm, calm));
    expect(calm.steps).toBeLessThan(300);
    expect(calm.effects).toHaveLength(calm === undone ? 6 : 1);
  }
  expect(rollback?.result).toBe("told");
  const order = undone?.effects.map(({ what, undoes }) => (undoes === undefined ? what : `undo ${what}`));
  expect({ result: undone?.result, order }).toEqual({
    result: "told",
    order: ["b", "c", "undo c", "undo b", "b", "c"],
  });
  const notes = rollback === undefined ? [] : eventsOfKind(rollback, "TopologyMoved").map(({ note }) => note);
  expect(notes.filter((note) => note.includes("back to")).map((note) => note.slice(-4))).toEqual(["read", " act"]);
  expect(replan).toMatchObject({ result: "all is done: act-free" });
  expect(replan && wayOf(replan).at(-1)).toBe('stalePlan 1: "act-taken" cannot begin: it is taken');
  expect(round?.result).toMatch(/^draft 2/);
  expect(
    round &&
      wayOf(round)
        .slice(-2)
        .map((line) => line.split(" ")[0]),
  ).toEqual(["capitulation", "deadlock"]);
  expect(cap).toMatchObject({ code: "BudgetExhausted", closings: 1 });
  expect(cap && wayOf(cap)).toEqual([`runaway 1: 5 of ${CAP} beats are used`]);
});

test.each(RECOVERIES)(
  "no single fault at any call changes the way or the outcome of the run: %s",
  ENUMERATION_TIMEOUT,
  async (recovers) => {
    const { found, reached, histories } = await everyFault({ recovers, stride: STRIDE });
    assertNoViolations(inWords(found));
    expect(histories).toBeGreaterThan(100 / STRIDE);
    const points = recovers === "rollback" || recovers === "replan" ? ["verify", "tool.keyed"] : ["tool.keyed"];
    for (const point of points) {
      expect(reached).toContain(`${point} crash before`);
      expect(reached).toContain(`${point} crash after`);
    }
  },
);

test.each(RECOVERIES)(
  "no zombie that returns at any moment does so either: %s",
  ENUMERATION_TIMEOUT,
  async (recovers) => {
    const { found, histories } = await everyZombie({ recovers, stride: 13 * STRIDE, points: FROZEN_POINTS });
    assertNoViolations(inWords(found));
    expect(histories).toBeGreaterThan(30 / FROZEN_POINTS);
  },
);

test.each([
  ["rollback", /^fresh: runs of stage 1 2 became 1$/],
  ["replan", /^fresh: (plans|replans|plannedAt) /],
  ["round", /^fresh: (round|judged drafts) /],
] as const)(
  "without its rule it finds a violation: the progress of %s is in the state",
  ENUMERATION_TIMEOUT,
  async (recovers, violation) => {
    const calm = await playScene({ recovers, forgets: true });
    assertNoViolations(wrongWith(calm, await playScene({ recovers })));
    const at = calm.points.findLastIndex(({ name }) => name === "model.reply");
    const history = await playScene({ recovers, forgets: true, faults: [{ at, kind: "crash before" }] });
    expect(wrongWith(history, calm).filter((each) => violation.test(each))).not.toEqual([]);
  },
);
