/**
 * The scenario of waits, once for every fault at every call and frozen at every point: each wait ends once, with what was
 * given to it, and calls beside it are done once.
 */
import { expect, test } from "vitest";
import { timeline } from "../../../src/operations/views.ts";
import { isAsleep } from "../../../src/protocol/row-park.ts";
import { assertNoViolations } from "../../support/gate/safety.ts";
import { everyFault, everyZombie, inWords, wrongWith } from "./enumerate.ts";
import { playScene } from "./play.ts";
import { FROZEN_POINTS, STRIDE } from "../../support/gate/stride.ts";
import { ENUMERATION_TIMEOUT } from "../../support/harness/timeouts.ts";

const RESULT = [
  { name: "ask", outcome: "succeeded", result: { yes: true } },
  { name: "gone", outcome: "failed", result: null },
  { name: "keyed", outcome: "succeeded", result: "a" },
  { name: "keyed", outcome: "succeeded", result: "b" },
  { name: "paid", outcome: "succeeded", result: null },
  { name: "paid", outcome: "succeeded", result: null },
  { name: "rest", outcome: "succeeded", result: null },
];

test("the scenario reaches its intended situations", ENUMERATION_TIMEOUT, async () => {
  const calm = await playScene({ waits: true });
  assertNoViolations(wrongWith(calm, calm));
  expect(calm.result).toEqual(RESULT);
  const events = (await timeline(calm.world, { run: calm.run, after: 0 })) ?? [];
  expect(events.filter(({ kind }) => kind === "WaitBegun")).toHaveLength(5);
  expect(await playScene({ waits: true })).toMatchObject({ rows: calm.rows, points: calm.points });
});

test("no single fault at any call ends a wait twice, never, or with something else", ENUMERATION_TIMEOUT, async () => {
  const { found, reached, histories } = await everyFault({ waits: true, stride: STRIDE });
  assertNoViolations(inWords(found));
  expect(histories).toBeGreaterThan(150 / STRIDE);
  for (const operation of ["claim", "commit", "park", "deliver"]) {
    for (const kind of ["crash before", "crash after"]) expect(reached).toContain(`table.${operation} ${kind}`);
  }
});

test("no zombie that returns at any moment does so either", ENUMERATION_TIMEOUT, async () => {
  const { found, histories } = await everyZombie({ waits: true, stride: 13 * STRIDE, points: FROZEN_POINTS });
  assertNoViolations(inWords(found));
  expect(histories).toBeGreaterThan(30 / FROZEN_POINTS);
});

/** A stride of 1 takes a minute. */
const FAULTS_STRIDE = 7 * STRIDE;

test("neither does so where a waiting run has no execution", ENUMERATION_TIMEOUT, async () => {
  const scene = { waits: true, sleeps: true } as const;
  const calm = await playScene(scene);
  expect(calm.result).toEqual(RESULT);
  expect(calm.rows.filter(isAsleep).length).toBeGreaterThan(1);
  const { found, reached } = await everyFault({ ...scene, stride: FAULTS_STRIDE });
  assertNoViolations(inWords(found));
  expect([...reached].some((each) => /table\.(park|handOver) crash/.test(each))).toBe(true);
  assertNoViolations(inWords((await everyZombie({ ...scene, stride: 97 * STRIDE, points: FROZEN_POINTS })).found));
});
