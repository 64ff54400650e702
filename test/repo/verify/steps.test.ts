/** What the gate samples, the night plays whole (docs/adr/0143-what-the-gate-samples.md). */
import { expect, test } from "vitest";
import { OPTIONAL_STEPS } from "../../../scripts/verify/paths.ts";
import type { Step } from "../../../scripts/verify/play.ts";
import { type Stage, gate, night } from "../../../scripts/verify/steps.ts";

const stepsOf = (stages: readonly Stage[]): readonly Step[] =>
  // Lanes share a list of steps; whoever asks first gets them.
  stages.flatMap((lanes) => lanes.flatMap((lane) => [...lane]));

const playsTests = ({ work }: Step): boolean => work.kind === "tests";
const strideOf = ({ name, env = {} }: Step) => [name, env["CAIRN_STRIDE"] ?? "all"];

test("the gate plays a sample in each step that plays tests, and the fast ones whole", () => {
  const [fast, ...steps] = stepsOf(gate(new Set(OPTIONAL_STEPS), null)).filter(playsTests);
  expect(fast && strideOf(fast)).toEqual(["fast tests", "all"]);
  expect(steps.length).toBeGreaterThan(7);
  expect(steps.map(strideOf)).toEqual(steps.map(({ name }) => [name, "9"]));
});

test("all steps give way but those of the two lanes that end last", () => {
  const played = stepsOf(gate(new Set(OPTIONAL_STEPS), null).slice(1));
  expect(played.filter(({ givesWay }) => givesWay !== true).map(({ name }) => name)).toEqual([
    "fast tests",
    "long tests",
    "process tests",
    "tests on LocalStack",
    "deployments on LocalStack",
  ]);
});

test("beside downloads run checks that need none of them, and those that are left run later", () => {
  const [[downloads, early] = [], ...stages] = gate(new Set(OPTIONAL_STEPS), null);
  const [lane, beside] = [downloads?.[Symbol.iterator](), early?.[Symbol.iterator]()];
  const begun = [beside?.next().value?.name, beside?.next().value?.name];
  while (lane?.next().done === false);
  expect(begun).toEqual(["format", "diagram"]);
  expect(beside?.next()).toEqual({ done: true, value: undefined });
  const later = stepsOf(stages).map(({ name }) => name);
  expect(later).toEqual(expect.arrayContaining(["types", "picture", "lint"]));
  expect(later.filter((name) => begun.includes(name))).toEqual([]);
});

test("the processes of tests without emulator run the package in the gate, built before, and the sources at night", () => {
  const programOf = ({ env = {} }: Step): string => env["CAIRN_PROGRAM"] ?? "sources";
  const [first, ...stages] = gate(new Set(OPTIONAL_STEPS), null);
  expect(stepsOf(first === undefined ? [] : [first]).map(({ name }) => name)).toContain("packages built");
  const configOf = ({ work }: Step): string => (work.kind === "tests" ? work.config : "");
  const played = stepsOf(stages).filter((step) => /^vitest\.(browser\.)?config\.ts$/.test(configOf(step)));
  expect(new Set(played.map(programOf))).toEqual(new Set(["built"]));
  const atNight = stepsOf(night(true, "2026-11-28")).filter(playsTests);
  expect(new Set(atNight.map(programOf))).toEqual(new Set(["sources"]));
});

test("the night plays each step of the gate, and samples nothing", () => {
  const steps = stepsOf(night(true, "2026-11-28"));
  expect(steps.map(strideOf)).toEqual(steps.map(({ name }) => [name, "all"]));
  const ofGate = stepsOf(gate(new Set(OPTIONAL_STEPS), null)).filter(playsTests);
  expect(steps.map(({ name }) => name)).toEqual(expect.arrayContaining(ofGate.map(({ name }) => name)));
});
