/** What an invocation has seen after its steps: one value, folded from what each of them returns. */
import { expect, test } from "vitest";
import {
  type Next,
  NOTHING_SEEN,
  type SeenSoFar,
  seenAfter,
  beatsIn,
  goesOn,
  unlessOutlived,
} from "../../../src/engine/context/next.ts";

const seenIn = (...steps: readonly Next[]): SeenSoFar => steps.reduce(seenAfter, NOTHING_SEEN);

test.each<[string, readonly Next[], Partial<SeenSoFar>]>([
  ["nothing by a step that says only whether it goes on", ["continue", "release"], {}],
  ["a reply", [goesOn("reply")], { replies: 1, hasWorked: true }],
  ["replies, which it counts", [goesOn("reply"), "continue", goesOn("reply")], { replies: 2, hasWorked: true }],
  ["calls that another invocation released", [goesOn("toolsRan")], { ranToolsFirst: true, hasWorked: true }],
  ["calls of its own reply", [goesOn("reply"), goesOn("toolsRan")], { replies: 1, hasWorked: true }],
  [
    "calls of another invocation before a reply and its own after it",
    [goesOn("toolsRan"), goesOn("reply"), goesOn("toolsRan")],
    { replies: 1, ranToolsFirst: true, hasWorked: true },
  ],
  ["a probe", [goesOn("probe")], { hasWorked: true }],
  ["the deployment", [goesOn("deployment")], { looked: true }],
  ["the job that is out", [goesOn("job")], { hasSeenDetached: true }],
  ["a new job after it", [goesOn("job"), goesOn("newJob")], {}],
  ["a child that cannot be made", [goesOn("childLacking")], { lacksChild: true }],
  ["a child that cannot be read", [goesOn("childUnreadable")], { cannotAskChild: true }],
  ["its reply to be judged", [goesOn("judged")], { hasJudged: true }],
  ["another reply, which is not judged", [goesOn("judged"), goesOn("reply")], { replies: 1, hasWorked: true }],
  [
    "both of a step, in their order",
    [goesOn("judged", "reply", "deployment")],
    { replies: 1, hasWorked: true, looked: true },
  ],
  ["what a step saw that releases the run", [{ next: "release", saw: ["reply"] }], { replies: 1, hasWorked: true }],
])("an invocation sees %s", (_, steps, seen) => {
  expect(seenIn(...steps)).toEqual({ ...NOTHING_SEEN, ...seen });
});

test.each<[number, readonly Next[]]>([
  [0, [goesOn("probe")]],
  [1, [goesOn("toolsRan")]],
  [1, [goesOn("toolsRan"), goesOn("reply")]],
  [2, [goesOn("reply"), goesOn("toolsRan"), goesOn("reply")]],
])("there are %d rounds after %j", (beats, steps) => {
  expect(beatsIn(seenIn(...steps))).toBe(beats);
});

test.each([
  ["no", "continue"],
  ["code", "release"],
  ["tool", "release"],
] as const)("if what outlived its timeout is %s, the step is followed by %s", (outlived, next) => {
  expect(unlessOutlived({ outlived }, "job")).toEqual({ next, saw: ["job"] });
});
