/**
 * Crash enumeration: the scene of `scene.ts`, once for every fault at every call that anybody makes in it. Each history
 * keeps every guarantee, and ends with the same result and the same effects as one that met no fault. Pairs of faults are
 * played by `npm run crash -- --pairs`, a sample of them by `npm run verify`.
 */
import { expect, test } from "vitest";
import { FAULTS } from "./actor.ts";
import { timeline } from "../../../src/operations/views.ts";
import * as bends from "./bends.ts";
import { everyFault, wrongWith } from "./enumerate.ts";
import { play } from "./play.ts";
import { ENUMERATION } from "../../support/patience.ts";

test("the scene meets what it is meant to meet", ENUMERATION, async () => {
  const calm = await play();
  expect(wrongWith(calm, calm)).toEqual([]);
  expect(calm.result).toMatch(/^over; .*words one.*words two/);
  expect(calm.deeds.map(({ tool }) => tool)).toEqual(["keyed", "probed", "unsafe", "unsafe", "keyed"]);
  expect(calm).toMatchObject({ told: ["completed"], decisions: ["accepted", "accepted"] });
  expect([...calm.world.chain.executions.keys()].length).toBeGreaterThan(2);
  const events = (await timeline(calm.world, { run: calm.run, after: 0 })) ?? [];
  expect(events.filter(({ kind }) => kind === "AgentChanged")).toMatchObject([{ from: "1", to: "2", by: "person" }]);
  expect(
    events.filter(({ kind }) => kind === "ApprovalRequested").map((event) => "call" in event && event.call),
  ).toEqual(["c6", "budget"]);
  expect(calm.answers).toMatchObject([{ as: "succeeded", outcome: "accepted" }]);
  expect(await play()).toMatchObject({ rows: calm.rows, points: calm.points });
});

test("no single fault at any call breaks a guarantee or changes what comes of the run", ENUMERATION, async () => {
  const { found, reached, histories } = await everyFault();
  expect(found).toEqual([]);
  expect(histories).toBeGreaterThan(200);
  for (const operation of ["create", "claim", "commit", "park", "deliver", "keepKey", "recordEndNotified"]) {
    for (const kind of FAULTS) expect(reached).toContain(`table.${operation} ${kind}`);
  }
  for (const name of ["look", "keyed", "probed", "unsafe"]) {
    expect(reached).toContain(`tool.${name} crash before`);
    expect(reached).toContain(`tool.${name} crash after`);
  }
});

test(
  "a process that dies while a call runs leaves no question about another one that has returned",
  ENUMERATION,
  async () => {
    const calm = await play();
    const names = calm.points.map(({ name }) => name);
    const at = names.indexOf("answer.keyed");
    // The result of the probed call is committed in between.
    expect(names.slice(names.indexOf("tool.probed"), at + 1)).toEqual(["tool.probed", "table.commit", "answer.keyed"]);
    for (const kind of ["crash before", "crash after"] as const) {
      const history = await play({ faults: [{ at, kind }] });
      expect([wrongWith(history, calm), history.points.filter(({ name }) => name === "probe")]).toEqual([[], []]);
    }
  },
);

test.each([
  { rule: "a keyed service remembers keys", bent: { forgetsKeys: true }, violation: /^keyedOnce/ },
  { rule: "a retry takes over", bent: { bend: bends.claimWithoutRetry }, violation: /^(ends|noMistakes)/ },
  { rule: "what was absorbed stays seen", bent: { bend: bends.inboxWithoutSeen }, violation: /^messagesOnce/ },
  { rule: "a key is kept before its row may go", bent: { bend: bends.endWithoutKey }, violation: /^keyKept/ },
  { rule: "an end asks whether somebody spoke", bent: { bend: bends.endWithoutStirs }, violation: /^messagesOnce/ },
])("without its rule it finds a violation: $rule", ENUMERATION, async ({ bent, violation }) => {
  const { found } = await everyFault({ ...bent, stopAtFirst: true });
  expect(found[0]?.again).toMatch(/^npm run crash -- --fault "\d+ [a-z ]+"$/);
  expect(found[0]?.violations.some((each) => violation.test(each))).toBe(true);
});
