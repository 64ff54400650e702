/**
 * Crash enumeration: the scenario of `scenario.ts`, once for every fault at every call that anybody makes in it. Each history
 * keeps every guarantee, and ends with the same result and the same effects as one that met no fault. Pairs of faults are
 * played by `npm run crash -- --pairs`, a sample of them by `npm run verify`.
 */
import { expect, test } from "vitest";
import { assertNoViolations } from "../../support/gate/safety.ts";
import { FAULTS } from "./actor.ts";
import { timeline } from "../../../src/operations/views.ts";
import * as bends from "./broken-worlds.ts";
import { everyFault, inWords, wrongWith } from "./enumerate.ts";
import { playScene } from "./play.ts";
import { STRIDE } from "../../support/gate/stride.ts";
import { ENUMERATION_TIMEOUT } from "../../support/harness/timeouts.ts";

test("the scenario reaches its intended situations", ENUMERATION_TIMEOUT, async () => {
  const calm = await playScene();
  assertNoViolations(wrongWith(calm, calm));
  expect(calm.result).toMatch(/^over; .*words one.*words two/);
  expect(calm.effects.map(({ tool }) => tool)).toEqual(["keyed", "probed", "unsafe", "unsafe", "keyed"]);
  expect(calm).toMatchObject({ told: ["completed"], decisions: ["accepted", "accepted"] });
  expect([...calm.world.chain.executions.keys()].length).toBeGreaterThan(2);
  const events = (await timeline(calm.world, { run: calm.run, after: 0 })) ?? [];
  expect(events.filter(({ kind }) => kind === "AgentChanged")).toMatchObject([{ from: "1", to: "2", by: "person" }]);
  expect(
    events.filter(({ kind }) => kind === "ApprovalRequested").map((event) => "call" in event && event.call),
  ).toEqual(["c6", "budget"]);
  expect(calm.answers).toMatchObject([{ as: "succeeded", outcome: "accepted" }]);
  expect(await playScene()).toMatchObject({ rows: calm.rows, points: calm.points });
});

test(
  "no single fault at any call breaks a guarantee or changes the outcome of the run",
  ENUMERATION_TIMEOUT,
  async () => {
    const { found, reached, histories } = await everyFault({ stride: STRIDE });
    assertNoViolations(inWords(found));
    expect(histories).toBeGreaterThan(200 / STRIDE);
    for (const operation of ["create", "claim", "commit", "park", "deliver", "keepKey", "recordEndNotified"]) {
      for (const kind of FAULTS) expect(reached).toContain(`table.${operation} ${kind}`);
    }
    for (const name of ["look", "keyed", "probed", "unsafe"]) {
      expect(reached).toContain(`tool.${name} crash before`);
      expect(reached).toContain(`tool.${name} crash after`);
    }
  },
);

test(
  "a process that dies while a call runs leaves no question about another one that has returned",
  ENUMERATION_TIMEOUT,
  async () => {
    const calm = await playScene();
    const names = calm.points.map(({ name }) => name);
    const at = names.indexOf("answer.keyed");
    // The result of the probed call is committed in between.
    expect(names.slice(names.indexOf("tool.probed"), at + 1)).toEqual(["tool.probed", "table.commit", "answer.keyed"]);
    for (const kind of ["crash before", "crash after"] as const) {
      const history = await playScene({ faults: [{ at, kind }] });
      assertNoViolations(wrongWith(history, calm));
      expect(history.points.filter(({ name }) => name === "probe")).toEqual([]);
    }
  },
);

test.each([
  { rule: "a keyed service remembers keys", bent: { forgetsKeys: true }, violation: /^keyedOnce/ },
  { rule: "a retry takes over", bent: { bend: bends.claimWithoutRetry }, violation: /^(ends|noMistakes)/ },
  { rule: "what was absorbed stays seen", bent: { bend: bends.inboxWithoutSeen }, violation: /^messagesOnce/ },
  { rule: "a key is kept before its row may go", bent: { bend: bends.endWithoutKey }, violation: /^keyKept/ },
  { rule: "an end checks the wake counter", bent: { bend: bends.endWithoutWakeCount }, violation: /^messagesOnce/ },
])("without its rule it finds a violation: $rule", ENUMERATION_TIMEOUT, async ({ bent, violation }) => {
  const { found } = await everyFault({ ...bent, stopAtFirst: true });
  expect(found[0]?.again).toMatch(/^npm run crash -- --fault "\d+ [a-z ]+"$/);
  expect(found[0]?.violations.some((each) => violation.test(each))).toBe(true);
});
