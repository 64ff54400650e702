/** What the gate samples, the night plays whole (docs/adr/0143-what-the-gate-samples.md). */
import { expect, test } from "vitest";
import { OPTIONAL_STEPS } from "../../../scripts/verify/paths.ts";
import type { Step } from "../../../scripts/verify/play.ts";
import { type Stage, gate, night } from "../../../scripts/verify/steps.ts";

const stepsOf = (stages: readonly Stage[]): readonly Step[] =>
  // Two lanes of the night share one list of steps.
  stages.flatMap((lanes) => lanes.flatMap((lane) => [...lane]));

const playsTests = ({ work }: Step): boolean => work.kind === "tests";
const strideOf = ({ name, env = {} }: Step) => [name, env["CAIRN_STRIDE"] ?? "all"];

test("the gate plays a sample in each step that plays tests, and the fast ones whole", () => {
  const [fast, ...steps] = stepsOf(gate(new Set(OPTIONAL_STEPS), null)).filter(playsTests);
  expect(fast && strideOf(fast)).toEqual(["fast tests", "all"]);
  expect(steps.length).toBeGreaterThan(7);
  expect(steps.map(strideOf)).toEqual(steps.map(({ name }) => [name, "5"]));
});

test("the night plays each step of the gate, and samples nothing", () => {
  const steps = stepsOf(night(true, "2026-11-28"));
  expect(steps.map(strideOf)).toEqual(steps.map(({ name }) => [name, "all"]));
  const ofGate = stepsOf(gate(new Set(OPTIONAL_STEPS), null)).filter(playsTests);
  expect(steps.map(({ name }) => name)).toEqual(expect.arrayContaining(ofGate.map(({ name }) => name)));
});
